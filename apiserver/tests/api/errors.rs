//! Errors, with Kubernetes' messages.

use http::Method;
use serde_json::json;

use crate::fixture::{Server, config_map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn bodies_that_are_no_such_object() {
    let server = Server::start().await;
    let post =
        async |body: &'static str| server.write(Method::POST, MAPS, "application/json", body).await.failure();
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
    assert_eq!(post("").await, (400, format!("{unrecognized}unexpected end of JSON input (<empty>)")));
    assert_eq!(
        post("{\"apiVersion\": \"v1\", ").await,
        (400, format!("{unrecognized}unexpected end of JSON input ({{\"apiVersion\": \"v1\", )"))
    );
    assert!(post("[1,2]").await.1.ends_with("(5b312c325d)"));
    let cannot = |kind: &str, version: &str, why: &str| {
        (400, format!("{kind} in version \"{version}\" cannot be handled as a ConfigMap: {why}"))
    };
    assert_eq!(
        post(r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#).await,
        cannot("Namespace", "v1", "converting (v1.Namespace) to (core.ConfigMap): unknown conversion")
    );
    assert_eq!(
        post(r#"{"apiVersion":"zork/v1","kind":"ConfigMap","metadata":{"name":"a"}}"#).await,
        cannot(
            "ConfigMap",
            "v1",
            "no kind \"ConfigMap\" is registered for version \"zork/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        )
    );
    assert_eq!(
        post(r#"{"metadata":{"name":"a","namespace":"other"}}"#).await.1,
        "the namespace of the provided object does not match the namespace sent on the request"
    );
    assert_eq!(post(r#"{"metadata":{"name":"a"},"data":{"k":5}}"#).await.0, 400);
    let unread = server.write(Method::POST, MAPS, "text/plain", "zork").await.failure();
    assert_eq!(unread.0, 415);
    assert!(unread.1.starts_with("the body of the request was in an unknown format"));
    let huge = vec![b' '; 3 * 1024 * 1024 + 1];
    assert_eq!(server.write(Method::POST, MAPS, "application/json", huge).await.failure().0, 413);
}

#[tokio::test]
async fn watches_with_endless_selectors() {
    let server = Server::start().await;
    let selector =
        |count: usize| (0..count).map(|number| format!("!a{number}")).collect::<Vec<_>>().join(",");
    let watch = async |count: usize| {
        let path = format!("{MAPS}?watch=true&timeoutSeconds=1&labelSelector={}", selector(count));
        server.get(&path).await
    };
    watch(1_000).await.expect(200);
    let message = "the selectors of a watch have at most 1000 requirements, not 1001";
    assert_eq!(watch(1_001).await.failure(), (400, message.to_owned()));
}

#[tokio::test]
async fn options_of_a_deletion_that_are_none() {
    let server = Server::start().await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    let path = format!("{MAPS}/a");
    let delete = async |body: &'static str| {
        server.write(Method::DELETE, &path, "application/json", body).await.failure()
    };
    for (body, why) in [
        (
            "zork",
            "couldn't get version/kind; json parse error: invalid character 'z' looking for beginning of value",
        ),
        (
            "\u{1}",
            r"couldn't get version/kind; json parse error: invalid character '\x01' looking for beginning of value",
        ),
        (
            "{\0}",
            r"couldn't get version/kind; json parse error: invalid character '\x00' looking for beginning of object key string",
        ),
        (
            "{} \u{b}",
            r"couldn't get version/kind; json parse error: invalid character '\v' after top-level value",
        ),
        (
            "é",
            "couldn't get version/kind; json parse error: invalid character 'Ã' looking for beginning of value",
        ),
        (
            r#"{"gracePeriodSeconds":"x"}"#,
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            r#"{"gracePeriodSeconds":1.0}"#,
            "json: cannot unmarshal number 1.0 into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            r#"{"kind":"Pod"}"#,
            r#"no kind "Pod" is registered for version "meta.k8s.io/v1" in scheme "pkg/apis/meta/internalversion/scheme/register.go:27""#,
        ),
        (
            r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#,
            r#"no kind "Deployment" is registered for version "apps/v1" in scheme "pkg/apis/meta/internalversion/scheme/register.go:27""#,
        ),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap"}"#,
            r#"no kind "ConfigMap" is registered for version "v1" in scheme "pkg/apis/meta/internalversion/scheme/register.go:27""#,
        ),
        (r#"{"kind":"ListOptions"}"#, "decoded object cannot be converted to DeleteOptions"),
    ] {
        assert_eq!(delete(body).await, (400, why.to_owned()));
    }
    server.get(&path).await.expect(200);
}

#[tokio::test]
async fn names_are_quoted_as_in_go() {
    let server = Server::start().await;
    let missing = server.get(&format!("{MAPS}/a%22b%5C%01%C2%AD%C3%A9'")).await.failure();
    assert_eq!(missing, (404, r#"configmaps "a\"b\\\x01\u00adé'" not found"#.to_owned()));
    let body = "{\"metadata\":{\"name\":\"a\\u0001\"}}";
    let invalid = server.write(Method::POST, MAPS, "application/json", body).await.failure().1;
    let start = r#"ConfigMap "a\x01" is invalid: metadata.name: Invalid value: "a\x01": "#;
    assert!(invalid.starts_with(start), "{invalid}");
    let body = r#"{"apiVersion":"v1","kind":"a\"\u0001"}"#;
    let unknown = server.write(Method::POST, MAPS, "application/json", body).await.failure().1;
    assert!(unknown.contains(r#"no kind "a\"\x01" is registered for version "v1" in scheme"#), "{unknown}");
    let body = r#"{"metadata":{"name":"a"},"a\"\u0001":1}"#;
    let strict = format!("{MAPS}?dryRun=All&fieldValidation=Strict");
    let strict = server.write(Method::POST, &strict, "application/json", body).await.failure().1;
    assert!(strict.ends_with(r#"unknown field "a\"\x01""#), "{strict}");
}

#[tokio::test]
async fn odd_fields_are_told_or_refused() {
    let server = Server::start().await;
    let body = r#"{"metadata":{"name":"a","zork2":2},"data":{"a":"1","a":"2"},"zork":1}"#;
    let post = async |query: &str| {
        server.write(Method::POST, &format!("{MAPS}?dryRun=All{query}"), "application/json", body).await
    };
    assert_eq!(
        post("").await.expect(201).warnings(),
        [
            "299 - \"unknown field \\\"metadata.zork2\\\"\"",
            "299 - \"duplicate field \\\"data.a\\\"\"",
            "299 - \"unknown field \\\"zork\\\"\"",
        ]
    );
    assert!(post("&fieldValidation=Ignore").await.expect(201).warnings().is_empty());
    let strict = post("&fieldValidation=Strict").await.failure();
    assert_eq!(
        strict.1,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"metadata.zork2\", duplicate field \"data.a\", unknown field \"zork\""
    );
    // The value of an unknown field is passed over, with its own duplicates.
    let body = r#"{"metadata":{"name":"a"},"zork":1,"zork":{"b":1,"b":2},"data":{"a":"1","a":"2"}}"#;
    let strict = format!("{MAPS}?dryRun=All&fieldValidation=Strict");
    let strict = server.write(Method::POST, &strict, "application/json", body).await.failure();
    let why = "strict decoding error: unknown field \"zork\", duplicate field \"data.a\"";
    assert!(strict.1.ends_with(why), "{}", strict.1);
    let yaml = "metadata:\n  name: a\ndata:\n  k: v\n";
    let read = server.write(Method::POST, MAPS, "application/yaml", yaml).await.expect(201);
    assert_eq!(read.json()["data"]["k"], "v");
}

#[tokio::test]
async fn paths_and_methods_that_are_not_served() {
    let server = Server::start().await;
    let not_found = (404, "the server could not find the requested resource".to_owned());
    for path in [
        "/api/v1/zorks",
        "/api/v1/namespaces/default/namespaces",
        "/api/v1/configmaps/x",
        "/apis/zoo.example.dev/v9",
        "/apis/zoo.example.dev/v9/enclosures",
        "/apis/zoo.example.dev/v1/namespaces/default/enclosures/x/zork",
        "/api/v1/namespaces/default/configmaps/x/status",
        "/api/v1/namespaces/default/configmaps/x/y/z",
    ] {
        assert_eq!(server.get(path).await.failure(), not_found, "{path}");
    }
    for path in [
        "/zork",
        "/apis/zork.example.com",
        "/apis/zork.example.com/v1",
        "/apis/zork.example.com/v1/zorks",
        "/openapi/v4",
    ] {
        let answer = server.get(path).await.expect(404);
        assert_eq!(answer.text(), "404 page not found\n", "{path}");
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    }
    let not_allowed = (405, "the server does not allow this method on the requested resource".to_owned());
    let body = config_map("x").to_string();
    for (method, path) in [
        (Method::POST, format!("{MAPS}/x")),
        (Method::PUT, MAPS.to_owned()),
        (Method::PATCH, MAPS.to_owned()),
        (Method::POST, "/api/v1/configmaps".to_owned()),
        (Method::POST, "/apis".to_owned()),
    ] {
        let answer = server.write(method.clone(), &path, "application/json", body.clone()).await;
        assert_eq!(answer.failure(), not_allowed, "{method} {path}");
        assert_eq!(answer.json()["details"], json!({}));
    }
}

#[tokio::test]
async fn selectors_options_and_namespaces_are_checked() {
    let server = Server::start().await;
    let get = async |query: &str| server.get(&format!("{MAPS}?{query}")).await.failure();
    assert_eq!(
        get("fieldSelector=data.k%3Dv").await,
        (
            400,
            "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                .to_owned()
        )
    );
    assert_eq!(get("limit=zork").await.0, 400);
    assert_eq!(get("resourceVersionMatch=Exact").await.0, 422);
    assert_eq!(get("continue=zork").await.0, 400);
    // The token is read before it is found to contradict the version.
    for version in ["5", "zork"] {
        let why = get(&format!("continue=zork&resourceVersion={version}")).await.1;
        assert!(why.contains("continue key is not valid"), "{why}");
    }
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJkZWZhdWx0L2FcdTAwMDAifQ";
    let why = "specifying resource version is not allowed when using continue".to_owned();
    for version in ["5", "zork"] {
        assert_eq!(get(&format!("continue={token}&resourceVersion={version}")).await, (400, why.clone()));
    }
    assert_eq!(get("resourceVersion=99999999&timeoutSeconds=1").await.0, 504);

    let missing = server.post("/api/v1/namespaces/none/configmaps", &config_map("a")).await;
    assert_eq!(missing.failure(), (404, "namespaces \"none\" not found".to_owned()));
    let immortal = server.write(Method::DELETE, "/api/v1/namespaces/default", "application/json", "").await;
    assert_eq!(
        immortal.failure(),
        (403, "namespaces \"default\" is forbidden: this namespace may not be deleted".to_owned())
    );
    let in_yaml = server.get_as(&format!("{MAPS}/none"), "application/yaml").await.expect(404);
    assert_eq!(in_yaml.headers["content-type"], "application/yaml");
    assert!(in_yaml.text().contains("reason: NotFound\n"));
}

#[tokio::test]
async fn integers_of_built_in_kinds_are_written_without_a_point() {
    let server = Server::start().await;
    let field = |number: &str| {
        format!(
            "json: cannot unmarshal number {number} into Go struct field ObjectMeta.metadata.generation of type int64"
        )
    };
    let map = |number: &str| format!(r#"{{"metadata":{{"name":"a","generation":{number}}}}}"#);
    let post = async |kind: &str, body: String| {
        server.write(Method::POST, MAPS, &format!("application/{kind}"), body).await
    };
    for number in ["3.0", "1.5"] {
        let expected =
            format!("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: {}", field(number));
        assert_eq!(post("json", map(number)).await.failure(), (400, expected));
    }
    assert_eq!(post("json", map("1e1")).await.failure().0, 400);
    // YAML is converted to JSON, which shortens numbers.
    post("yaml", map("3.0")).await.expect(201);
    let path = format!("{MAPS}/a");
    for (kind, patch, code) in [
        ("merge-patch", r#"{"metadata":{"generation":4.0}}"#, 422),
        ("json-patch", r#"[{"op":"add","path":"/metadata/generation","value":4.0}]"#, 422),
        ("strategic-merge-patch", r#"{"metadata":{"generation":4.0}}"#, 200),
    ] {
        let patched = server.write(Method::PATCH, &path, &format!("application/{kind}+json"), patch).await;
        assert_eq!(patched.status, code, "{kind}");
    }
    let enclosure = r#"{"metadata":{"name":"a"},"spec":{"replicas":3.0}}"#;
    let enclosures = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
    let created = server.write(Method::POST, enclosures, "application/json", enclosure).await.expect(201);
    assert_eq!(created.json()["spec"]["replicas"].to_string(), "3");
}
