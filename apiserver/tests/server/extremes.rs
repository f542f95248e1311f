//! Limit values in requests, and the forms of responses.

use apiserver::testing::TestServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{ADMIN, Answer, Connection, Protocol, post, request, tls};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const POD: &str = "/api/v1/namespaces/default/pods/web";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn ask(connection: &mut Connection, method: &str, path: &str, accept: &str, body: &Value) -> Answer {
    connection.send(request(method, path, &[ADMIN, ("accept", accept)], body)).await
}

/// Returns a server with a pod that is scheduled to a node.
async fn server_with_pod() -> (TestServer, Connection) {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let meta = |name: &str| json!({"name": name});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    ask(&mut connection, "POST", accounts, "*/*", &json!({"metadata": meta("default")})).await;
    let pod = json!({"metadata": meta("web"), "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "x"}]}});
    let made = ask(&mut connection, "POST", "/api/v1/namespaces/default/pods", "*/*", &pod).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = ask(&mut connection, "POST", CONFIG_MAPS, "*/*", &json!({"metadata": meta("a")})).await;
    assert_eq!(made.status, 201, "{}", made.text());
    (server, connection)
}

#[tokio::test]
async fn numbers_at_their_bounds_have_defined_answers() {
    const MAX: &str = "9223372036854775807";
    const OVER: &str = "9223372036854775808";
    const MIN: &str = "-9223372036854775808";
    const U64_OVER: &str = "18446744073709551616";
    let (server, mut connection) = server_with_pod().await;
    let a = format!("{CONFIG_MAPS}/a");
    let resource_version = |value: &str, why: &str| {
        format!(
            "invalid resource version: resourceVersion: Invalid value: {value:?}: strconv.ParseUint: parsing {value:?}: {why}"
        )
    };
    let integer = |value: &str, why: &str| format!("strconv.ParseInt: parsing {value:?}: {why}");
    for (method, path, status, message) in [
        ("GET", format!("{CONFIG_MAPS}?limit={MAX}"), 200, String::new()),
        ("GET", format!("{CONFIG_MAPS}?limit={MIN}"), 200, String::new()),
        ("GET", format!("{CONFIG_MAPS}?limit={OVER}"), 400, integer(OVER, "value out of range")),
        ("GET", format!("{CONFIG_MAPS}?timeoutSeconds={MAX}"), 200, String::new()),
        ("GET", format!("{CONFIG_MAPS}?timeoutSeconds={MIN}"), 200, String::new()),
        ("GET", format!("{CONFIG_MAPS}?timeoutSeconds={OVER}"), 400, integer(OVER, "value out of range")),
        (
            "GET",
            format!("{CONFIG_MAPS}?resourceVersion={U64_OVER}"),
            400,
            resource_version(U64_OVER, "value out of range"),
        ),
        (
            "GET",
            format!("{CONFIG_MAPS}?resourceVersion=zork"),
            400,
            resource_version("zork", "invalid syntax"),
        ),
        ("GET", format!("{CONFIG_MAPS}?resourceVersion=-1"), 400, resource_version("-1", "invalid syntax")),
        ("GET", format!("{a}?resourceVersion=zork"), 400, resource_version("zork", "invalid syntax")),
        (
            "GET",
            format!("{a}?resourceVersion={U64_OVER}"),
            400,
            resource_version(U64_OVER, "value out of range"),
        ),
        ("GET", format!("{a}?timeout=9999999999999h"), 400, String::new()),
        ("GET", format!("{a}?timeout=2562047h"), 200, String::new()),
        ("DELETE", format!("{POD}?gracePeriodSeconds={OVER}"), 400, integer(OVER, "value out of range")),
        ("DELETE", format!("{POD}?gracePeriodSeconds={MAX}"), 200, String::new()),
        ("DELETE", format!("{POD}?gracePeriodSeconds={MIN}"), 200, String::new()),
        ("GET", format!("{POD}/log?tailLines={OVER}"), 400, String::new()),
        ("GET", format!("{POD}/log?limitBytes={MIN}"), 422, String::new()),
    ] {
        let answer = ask(&mut connection, method, &path, "*/*", &Value::Null).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        let found = answer.json();
        assert!(message.is_empty() || found["message"] == message, "{path}: {}", found["message"]);
    }
    for version in ["9223372036854775807", "9223372036854775808", "18446744073709551615"] {
        let path = format!("{CONFIG_MAPS}?resourceVersion={version}");
        let answer = ask(&mut connection, "GET", &path, "*/*", &Value::Null).await;
        assert_eq!(answer.status, 504, "{path}: {}", answer.text());
        let path = format!("{path}&resourceVersionMatch=Exact");
        let answer = ask(&mut connection, "GET", &path, "*/*", &Value::Null).await;
        assert!(matches!(answer.status, 400 | 410 | 504), "{path}: {}", answer.text());
    }
    let token = json!({"spec": {"expirationSeconds": i64::MAX}});
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    assert_eq!(ask(&mut connection, "POST", path, "*/*", &token).await.status, 422);
    server.stop().await;
}

#[tokio::test]
async fn no_time_of_one_object_makes_a_list_fail() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let (server, mut connection) = server_with_pod().await;
    let events = "/api/v1/namespaces/default/events";
    for (name, time, status) in [
        ("never", "9999-12-31T23:59:59Z", 201),
        ("first", "0000-01-01T00:00:00Z", 201),
        ("before", "0000-01-01T00:00:00+02:00", 400),
        ("after", "9999-12-31T23:59:59-00:01", 400),
    ] {
        let event = json!({
            "metadata": {"name": name}, "involvedObject": {"namespace": "default"}, "firstTimestamp": time,
        });
        let answer = ask(&mut connection, "POST", events, "*/*", &event).await;
        assert_eq!(answer.status, status, "{time}: {}", answer.text());
        let found = answer.json();
        if status == 201 {
            assert_eq!(found["firstTimestamp"], time);
        } else {
            let reason = format!("parsing time {time:?}: year out of range");
            assert!(found["message"].as_str().unwrap().ends_with(&reason), "{}", found["message"]);
        }
    }
    for seconds in ["9223372036854775807", "250000000000", "5"] {
        let path = format!("{POD}?gracePeriodSeconds={seconds}");
        let answer = ask(&mut connection, "DELETE", &path, "*/*", &Value::Null).await;
        assert_eq!(answer.status, 200, "{seconds}: {}", answer.text());
        for list in ["/api/v1/pods", "/api/v1/pods?fieldSelector=spec.nodeName=n", POD, events] {
            let answer = ask(&mut connection, "GET", list, PROTOBUF, &Value::Null).await;
            assert_eq!(answer.status, 200, "{list} after {seconds}: {}", answer.text());
            assert!(answer.body.starts_with(b"k8s\0"), "{list} after {seconds}");
        }
    }
    let labels = json!({"metadata": {"labels": {"still": "updated"}}});
    let patched = ask(&mut connection, "PATCH", POD, "*/*", &labels).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    server.stop().await;
}

#[tokio::test]
async fn the_zero_time_of_go_is_no_time() {
    let (server, mut connection) = server_with_pod().await;
    let event = json!({
        "metadata": {"name": "zero"}, "involvedObject": {"namespace": "default"},
        "firstTimestamp": "0001-01-01T02:00:00+02:00", "lastTimestamp": "0001-01-01T00:00:00Z",
        "eventTime": "0001-01-01T00:00:00.000000Z",
    });
    let made = ask(&mut connection, "POST", "/api/v1/namespaces/default/events", "*/*", &event).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let found = made.json();
    for field in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        assert_eq!(found.get(field), Some(&Value::Null), "{field}");
    }
    let spec =
        json!({"renewTime": "0001-01-01T00:00:00.000000Z", "acquireTime": "0001-01-01T00:00:00.000001Z"});
    let lease = json!({"metadata": {"name": "zero"}, "spec": spec});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let made = ask(&mut connection, "POST", leases, "*/*", &lease).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["spec"], json!({"acquireTime": "0001-01-01T00:00:00.000001Z"}));
    server.stop().await;
}

#[tokio::test]
async fn a_proxy_may_name_hundreds_of_groups() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http1).await;
    let groups: Vec<String> = (0..500).map(|number| format!("group-{number}")).collect();
    let mut headers = vec![ADMIN, ("impersonate-user", "somebody")];
    headers.extend(groups.iter().map(|group| ("impersonate-group", group.as_str())));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = connection.send(request("POST", path, &headers, &review)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let found = answer.json()["status"]["userInfo"]["groups"].as_array().map(Vec::len);
    assert_eq!(found, Some(groups.len() + 1), "they and system:authenticated");
    server.stop().await;
}

#[tokio::test]
async fn text_that_is_cut_in_the_middle_of_a_character_is_stored() {
    let (server, mut connection) = server_with_pod().await;
    for (at, text) in [&br"cut \ud83d"[..], b"cut \xf0", br"cut \udcff"].into_iter().enumerate() {
        let name = format!("{{\"metadata\":{{\"name\":\"cut-{at}\"}},\"data\":{{\"message\":\"");
        let body = [name.as_bytes(), text, b"\"}}"].concat();
        let made = connection.send(post(CONFIG_MAPS, body)).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let path = format!("{CONFIG_MAPS}/cut-{at}");
        let found = ask(&mut connection, "GET", &path, "*/*", &Value::Null).await.json();
        assert_eq!(found["data"]["message"], "cut \u{fffd}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_watch_may_be_asked_to_last_for_ever() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    for seconds in ["9223372036854775807", "1000000000000", "-1", "0"] {
        let mut stream = tls(&server, "http/1.1").await;
        let request = format!(
            "GET {CONFIG_MAPS}?watch=1&timeoutSeconds={seconds} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer admin-token\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(head, *b"HTTP/1.1 200", "{seconds}");
    }
    server.stop().await;
}

#[tokio::test]
async fn json_ends_its_line_unless_it_is_indented() {
    let (server, mut connection) = server_with_pod().await;
    let review = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let nothing = Value::Null;
    let a = format!("{CONFIG_MAPS}/a");
    for (method, path, accept, body) in [
        ("GET", a.as_str(), "*/*", &nothing),
        ("GET", &a, TABLE, &nothing),
        ("GET", CONFIG_MAPS, "*/*", &nothing),
        ("GET", CONFIG_MAPS, TABLE, &nothing),
        ("GET", "/api/v1/namespaces/default/configmaps/zork", "*/*", &nothing),
        ("GET", "/api/v1", "*/*", &nothing),
        ("POST", reviews, "*/*", &review),
    ] {
        let answer = ask(&mut connection, method, path, accept, body).await;
        assert!(answer.body.ends_with(b"}\n"), "{path} as {accept}: {}", answer.text());
        assert!(!answer.body.ends_with(b"\n\n"), "{path} as {accept}");
        if let Some(length) = answer.headers.get("content-length") {
            assert_eq!(length.to_str().unwrap(), answer.body.len().to_string(), "{path} as {accept}");
        }
        let pretty = ask(&mut connection, method, &format!("{path}?pretty=1"), accept, body).await;
        assert!(pretty.body.ends_with(b"\n}"), "{path} as {accept}: {}", pretty.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn reviews_that_are_only_created_have_no_table() {
    let (server, mut connection) = server_with_pod().await;
    let review = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let refused = ask(&mut connection, "POST", reviews, TABLE, &review).await;
    assert_eq!(refused.status, 406, "{}", refused.text());
    assert_eq!(refused.json()["reason"], "NotAcceptable");
    let fallen_back = format!("{TABLE},application/json");
    let answered = ask(&mut connection, "POST", reviews, &fallen_back, &review).await;
    assert_eq!((answered.status, &answered.json()["status"]["allowed"]), (201, &json!(true)));
    server.stop().await;
}

#[tokio::test]
async fn ip_addresses_are_named_in_their_canonical_form() {
    let (server, mut connection) = server_with_pod().await;
    let path = "/apis/networking.k8s.io/v1/ipaddresses";
    for (name, status, detail) in [
        ("2001:db8::1", 201, ""),
        ("192.168.5.1", 201, ""),
        ("2001:DB8::1", 422, "must be in canonical form (\"2001:db8::1\")"),
        ("2001:db8:0::1", 422, "must be in canonical form (\"2001:db8::1\")"),
        ("::ffff:10.0.0.9", 422, "must not be an IPv4-mapped IPv6 address"),
        ("zork", 422, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ] {
        let parent = json!({"resource": "services", "namespace": "default", "name": "zork"});
        let object = json!({"metadata": {"name": name}, "spec": {"parentRef": parent}});
        let answer = ask(&mut connection, "POST", path, "*/*", &object).await;
        assert_eq!(answer.status, status, "{name}: {}", answer.text());
        if status == 201 {
            let read = ask(&mut connection, "GET", &format!("{path}/{name}"), "*/*", &Value::Null).await;
            assert_eq!(read.json()["metadata"]["name"], name);
        } else {
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(detail), "{name}: {message}");
        }
    }
    server.stop().await;
}
