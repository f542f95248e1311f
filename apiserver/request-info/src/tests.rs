use super::*;

/// Verb, group, version, namespace, resource, subresource, name.
type Expected = [&'static str; 7];

fn parse(method: &str, uri: &str) -> RequestInfo {
    RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap())
}

fn fields(info: &RequestInfo) -> [&str; 7] {
    let resource = info.resource.as_ref().expect("a resource request");
    [
        info.verb.as_str(),
        &resource.group,
        &resource.version,
        &resource.namespace,
        &resource.resource,
        &resource.subresource,
        &resource.name,
    ]
}

#[test]
fn resource_paths_are_read_as_kubernetes_reads_them() {
    let table: &[(&str, &str, Expected)] = &[
        // Collections and objects, in and outside namespaces.
        ("GET", "/api/v1/namespaces", ["list", "", "v1", "", "namespaces", "", ""]),
        ("GET", "/api/v1/namespaces/other", ["get", "", "v1", "other", "namespaces", "", "other"]),
        ("GET", "/api/v1/namespaces/other/pods", ["list", "", "v1", "other", "pods", "", ""]),
        ("GET", "/api/v1/namespaces/other/pods/foo", ["get", "", "v1", "other", "pods", "", "foo"]),
        ("HEAD", "/api/v1/namespaces/other/pods/foo", ["get", "", "v1", "other", "pods", "", "foo"]),
        ("GET", "/api/v1/pods", ["list", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/nodes/n/", ["get", "", "v1", "", "nodes", "", "n"]),
        ("HEAD", "/api/v1/pods", ["list", "", "v1", "", "pods", "", ""]),
        ("POST", "/api/v1/pods", ["create", "", "v1", "", "pods", "", ""]),
        ("PUT", "/api/v1/namespaces/o/pods/f", ["update", "", "v1", "o", "pods", "", "f"]),
        ("PATCH", "/api/v1/namespaces/o/pods/f", ["patch", "", "v1", "o", "pods", "", "f"]),
        ("DELETE", "/api/v1/namespaces/o/pods/f", ["delete", "", "v1", "o", "pods", "", "f"]),
        ("DELETE", "/api/v1/namespaces/o/pods", ["deletecollection", "", "v1", "o", "pods", "", ""]),
        ("DELETE", "/api/v1/nodes", ["deletecollection", "", "v1", "", "nodes", "", ""]),
        ("OPTIONS", "/api/v1/pods", ["", "", "v1", "", "pods", "", ""]),
        // Groups.
        ("GET", "/apis/apps/v1/deployments", ["list", "apps", "v1", "", "deployments", "", ""]),
        ("POST", "/apis/a.b/v3/namespaces/o/z", ["create", "a.b", "v3", "o", "z", "", ""]),
        // Subresources, and what follows them.
        ("GET", "/api/v1/namespaces/o/pods/f/status", ["get", "", "v1", "o", "pods", "status", "f"]),
        ("POST", "/api/v1/namespaces/o/pods/f/proxy/a/b", ["create", "", "v1", "o", "pods", "proxy", "f"]),
        ("PUT", "/api/v1/namespaces/o/finalize", ["update", "", "v1", "o", "namespaces", "finalize", "o"]),
        ("PUT", "/api/v1/namespaces/o/status", ["update", "", "v1", "o", "namespaces", "status", "o"]),
        // Watches: by query, and by the old prefix.
        ("GET", "/api/v1/pods?watch=1", ["watch", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/pods?watch", ["watch", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/pods?watch=zork", ["watch", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/pods?watch=False", ["list", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/pods?watch=0&watch=1", ["list", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/namespaces/o/pods/f?watch=true", ["get", "", "v1", "o", "pods", "", "f"]),
        ("DELETE", "/api/v1/pods?watch=true", ["deletecollection", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/watch/pods", ["watch", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/watch/namespaces", ["watch", "", "v1", "", "namespaces", "", ""]),
        ("GET", "/api/v1/watch/namespaces/o/pods/f", ["watch", "", "v1", "o", "pods", "", "f"]),
        ("GET", "/api/v1/proxy/namespaces/o/pods/f/x", ["proxy", "", "v1", "o", "pods", "", "f"]),
        // A selector for one name.
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Df", ["list", "", "v1", "", "pods", "", "f"]),
        (
            "GET",
            "/api/v1/pods?watch=1&fieldSelector=spec.x%3D1,metadata.name%3D%3Df",
            ["watch", "", "v1", "", "pods", "", "f"],
        ),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name!%3Df", ["list", "", "v1", "", "pods", "", ""]),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Da/b", ["list", "", "v1", "", "pods", "", ""]),
        (
            "DELETE",
            "/api/v1/pods?fieldSelector=metadata.name%3Df",
            ["deletecollection", "", "v1", "", "pods", "", ""],
        ),
        // Percent-encoded.
        (
            "GET",
            "/apis/rbac/v1/clusterroles/system%3Anode",
            ["get", "rbac", "v1", "", "clusterroles", "", "system:node"],
        ),
    ];
    for (method, uri, expected) in table {
        let info = parse(method, uri);
        assert_eq!(&fields(&info), expected, "{method} {uri}");
    }
}

#[test]
fn everything_else_is_no_resource() {
    for path in [
        "/",
        "/api",
        "/apis",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/apps/v1/",
        "/healthz",
        "/healthz/etcd",
        "/version",
        "/openapi/v3/apis/apps/v1",
        "/other/v1/pods",
        "/api/v1/watch",
    ] {
        let info = parse("GET", path);
        assert_eq!(info.resource, None, "{path}");
        assert_eq!((info.verb, info.path.as_str()), (Verb::Get, path));
    }
    assert_eq!(parse("POST", "/version").verb, Verb::Post);
    assert_eq!(parse("HEAD", "/version").verb, Verb::Head);
    assert_eq!(parse("BREW", "/version").verb.as_str(), "");
}

#[test]
fn long_running_requests_are_known_by_verb_and_subresource() {
    assert!(parse("GET", "/api/v1/pods?watch=1").is_long_running());
    assert!(parse("GET", "/api/v1/namespaces/o/pods/f/log").is_long_running());
    assert!(parse("POST", "/api/v1/namespaces/o/pods/f/exec").is_long_running());
    assert!(!parse("GET", "/api/v1/pods").is_long_running());
    assert!(!parse("GET", "/api/v1/namespaces/o/pods/f/status").is_long_running());
    assert!(!parse("GET", "/version?watch=1").is_long_running());
}

#[test]
fn broken_percent_encoding_stays_as_it_is() {
    assert_eq!(decode_component("/a%2"), "/a%2");
    assert_eq!(decode_component("/a%zz%41"), "/a%zzA");
    assert_eq!(decode_component("%C3%A4%ff"), "ä\u{fffd}");
    let pairs: Vec<_> = query_pairs("a=1+2&&b&c=%26").collect();
    assert_eq!(pairs, [("a".into(), "1 2".into()), ("b".into(), "".into()), ("c".into(), "&".into())]);
}

#[test]
fn pairs_with_a_semicolon_or_a_broken_encoding_are_left_out() {
    for (query, kept) in [
        ("a=1;b=2&c=3", "c=3"),
        ("a;=1&c=3", "c=3"),
        ("c=3&a=%zz", "c=3"),
        ("c=3&a=1%2", "c=3"),
        ("c=3&a=%", "c=3"),
        ("c=3&%4x=1", "c=3"),
        ("c=3&a=%é", "c=3"),
        ("a=1;b=2", ""),
        ("%3b=%3B&a=%25", "%3b=%3B&a=%25"),
    ] {
        assert_eq!(read_query(query), kept, "{query}");
        assert!(query_pairs(query).eq(query_pairs(kept)), "{query}");
    }
    assert_eq!(query_pairs("%3b=%3B").next(), Some((";".into(), ";".into())));
}

#[test]
fn pairs_that_are_left_out_do_not_decide() {
    for (url, verb, name) in [
        ("/api/v1/pods?watch=1;", "list", ""),
        ("/api/v1/pods?watch=%zz&watch=1", "watch", ""),
        ("/api/v1/pods?fieldSelector=metadata.name%3Da;b", "list", ""),
        ("/api/v1/pods?fieldSelector=metadata.name%3D%a&fieldSelector=metadata.name%3Db", "list", "b"),
    ] {
        let info = parse("GET", url);
        let found = info.resource.map(|resource| resource.name);
        assert_eq!((info.verb.as_str(), found.as_deref()), (verb, Some(name)), "{url}");
    }
    let selecting = parse("DELETE", "/api/v1/namespaces/n/pods?labelSelector=a%3Db;&labelSelector=c%3Dd");
    assert_eq!(selecting.selectors.labels.len(), 1);
    assert!(parse("DELETE", "/api/v1/namespaces/n/pods?labelSelector=a%3Db;").selectors.labels.is_empty());
}

#[test]
fn paths_begin_where_the_group_does() {
    let root = |group, version| root_of(GroupVersion { group, version });
    assert_eq!((root("", "v1"), root("apps", "v1")), ("/api/v1".to_owned(), "/apis/apps/v1".to_owned()));
}
