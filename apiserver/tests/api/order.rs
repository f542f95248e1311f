//! The order of fields, which is kube-apiserver's at the top level, and the newline after compact JSON.

use http::Method;
use http_body::Body as _;
use http_body_util::BodyExt;
use serde_json::json;

use crate::fixture::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// Returns the keys of the object in the body, or of that at the end of a path in it, in order.
fn keys(answer: &Answer, path: &[&str]) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = answer.text().trim_end();
    for step in path {
        let key = format!("\"{step}\":");
        rest = &rest[rest.find(&key).unwrap_or_else(|| panic!("no {step} in {rest}")) + key.len()..];
        rest = rest.trim_start_matches('[');
    }
    let mut depth = 0;
    let mut is_key = true;
    for (at, part) in rest.split('"').enumerate() {
        if at % 2 == 1 {
            if depth == 1 && is_key {
                keys.push(part.to_owned());
            }
            continue;
        }
        for byte in part.bytes() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            is_key = matches!(byte, b'{' | b',');
            if depth == 0 {
                return keys;
            }
        }
    }
    keys
}

#[tokio::test]
async fn objects_have_their_fields_in_the_order_of_kubernetes() {
    let server = Server::start().await;
    let map = json!({
        "metadata": {"name": "a"}, "data": {"k": "v"}, "immutable": false, "binaryData": {"b": "AA=="},
    });
    let expected = ["kind", "apiVersion", "metadata", "immutable", "data", "binaryData"];
    // A dry run's result is encoded for its response, the others are the stored bytes.
    let dry_run = server.post(&format!("{MAPS}?dryRun=All"), &map).await.expect(201);
    assert_eq!(keys(&dry_run, &[]), expected);
    assert!(dry_run.text().ends_with("}\n"));
    let created = server.post(MAPS, &map).await.expect(201);
    assert_eq!(keys(&created, &[]), expected);
    let read = server.get(&format!("{MAPS}/a")).await.expect(200);
    assert_eq!(read.body, created.body);
    assert!(read.text().ends_with("}\n") && !read.text().ends_with("\n\n"));
    let pretty = server.get(&format!("{MAPS}/a?pretty=true")).await.expect(200);
    assert!(
        pretty
            .text()
            .starts_with("{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\n")
    );
    assert!(pretty.text().ends_with("\n}"));

    let enclosure = json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {"name": "e"},
        "spec": {"replicas": 1},
    });
    server.post(ENCLOSURES, &enclosure).await.expect(201);
    let status = json!({"status": {"replicas": 1}});
    let url = format!("{ENCLOSURES}/e/status");
    let patched = server.patch(&url, "merge-patch+json", &status).await.expect(200);
    assert_eq!(keys(&patched, &[]), ["kind", "apiVersion", "metadata", "spec", "status"]);
    let scale = server.get(&format!("{ENCLOSURES}/e/scale")).await.expect(200);
    assert_eq!(keys(&scale, &[]), ["kind", "apiVersion", "metadata", "spec", "status"]);
}

#[tokio::test]
async fn lists_tables_and_statuses_have_the_order_of_kubernetes() {
    let server = Server::start().await;
    server.post(MAPS, &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await.expect(201);
    let object_url = format!("{MAPS}/a");

    let list = server.get(MAPS).await.expect(200);
    assert_eq!(keys(&list, &[]), ["kind", "apiVersion", "metadata", "items"]);
    assert_eq!(keys(&list, &["items"]), ["metadata", "data"]);
    for (url, accept) in [(&object_url, PARTIAL), (&MAPS.to_owned(), PARTIAL_LIST)] {
        let partial = server.get_as(url, accept).await.expect(200);
        assert_eq!(keys(&partial, &[])[..3], ["kind", "apiVersion", "metadata"]);
        assert!(partial.text().ends_with("}\n"));
    }
    for url in [&object_url, MAPS] {
        let table = server.get_as(url, TABLE).await.expect(200);
        assert_eq!(keys(&table, &[]), ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]);
        let column = ["name", "type", "format", "description", "priority"];
        assert_eq!(keys(&table, &["columnDefinitions"]), column);
        assert_eq!(keys(&table, &["rows"]), ["cells", "object"]);
        assert!(table.text().ends_with("}\n"));
    }

    let missing = server.get(&format!("{MAPS}/zork")).await;
    let status = ["kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"];
    assert_eq!(keys(&missing, &[]), status);
    assert_eq!(keys(&missing, &["details"]), ["name", "kind"]);
    assert!(missing.text().ends_with("}\n"));
    let deleted = server.write(Method::DELETE, &object_url, "application/json", "").await.expect(200);
    assert_eq!(keys(&deleted, &[]), ["kind", "apiVersion", "metadata", "status", "details"]);
    assert_eq!(keys(&deleted, &["details"]), ["name", "kind", "uid"]);
    let groups =
        server.get_as("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").await;
    if groups.status == 200 {
        assert_eq!(keys(&groups, &[]), ["kind", "apiVersion", "metadata", "items"]);
    }
}

#[tokio::test]
async fn yaml_is_sorted_by_name() {
    let server = Server::start().await;
    server.post(MAPS, &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await.expect(201);
    let read = server.get_as(&format!("{MAPS}/a"), "application/yaml").await.expect(200);
    let top = read.text().lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>();
    assert_eq!(top, ["apiVersion: v1", "data:", "kind: ConfigMap", "metadata:"]);
}

#[tokio::test]
async fn an_object_is_sent_as_one_piece() {
    let server = Server::start().await;
    server.post(MAPS, &json!({"metadata": {"name": "a"}})).await.expect(201);
    let request = http::Request::get(format!("{MAPS}/a")).body(axum::body::Body::empty()).unwrap();
    let mut body = server.open(request).await.into_body();
    let announced = body.size_hint().exact().unwrap();
    let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(piece.len() as u64, announced);
    assert!(piece.ends_with(b"}\n"));
    assert!(body.frame().await.is_none());
}
