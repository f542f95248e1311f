//! Create, read, update, patch, delete and list, in every form.

use http::Method;
use serde_json::{Value, json};

use crate::fixture::{Server, config_map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";

#[tokio::test]
async fn objects_live_and_die() {
    let server = Server::start().await;
    let created = server.post(MAPS, &config_map("a")).await.expect(201).json();
    assert_eq!(created["metadata"]["namespace"], "default");
    let object_url = format!("{MAPS}/a");
    let read = server.get(&object_url).await.expect(200);
    assert_eq!(read.json(), created);
    assert_eq!(read.headers["content-type"], "application/json");

    let mut changed = created.clone();
    changed["data"]["k"] = "2".into();
    let updated = server
        .write(Method::PUT, &object_url, "application/json", changed.to_string())
        .await
        .expect(200)
        .json();
    assert_eq!(updated["data"]["k"], "2");
    let stale = server.write(Method::PUT, &object_url, "application/json", changed.to_string()).await;
    assert_eq!(stale.failure().0, 409);
    let renamed =
        server.write(Method::PUT, &format!("{MAPS}/b"), "application/json", changed.to_string()).await;
    assert_eq!(
        renamed.failure(),
        (400, "the name of the object (a) does not match the name on the URL (b)".to_owned())
    );

    let deleted = server.write(Method::DELETE, &object_url, "application/json", "").await.expect(200).json();
    assert_eq!(deleted["status"], "Success");
    assert_eq!(deleted["details"]["name"], "a");
    assert_eq!(deleted["details"]["kind"], "configmaps");
    assert_eq!(server.get(&object_url).await.failure(), (404, "configmaps \"a\" not found".to_owned()));
}

#[tokio::test]
async fn a_deletion_that_waits_is_accepted_if_the_client_asks_for_its_dependents_in_the_old_form() {
    let server = Server::start().await;
    let mut held = config_map("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.post(MAPS, &held).await.expect(201);
    server.post(MAPS, &config_map("free")).await.expect(201);
    let delete = async |path: &str, body: &str| {
        server.write(Method::DELETE, &format!("{MAPS}/{path}"), "application/json", body.to_owned()).await
    };
    let options = r#"{"kind":"DeleteOptions","apiVersion":"v1","orphanDependents":false}"#;
    delete("held", r#"{"propagationPolicy":"Background"}"#).await.expect(200);
    delete("held", r#"{"orphanDependents":true}"#).await.expect(200);
    delete("held", options).await.expect(202);
    delete("held?orphanDependents=false", "").await.expect(202);
    delete("free?orphanDependents=false&dryRun=All", "").await.expect(200);
    delete("free", options).await.expect(200);
}

#[tokio::test]
async fn patches_of_every_kind() {
    let server = Server::start().await;
    server.post(MAPS, &config_map("a")).await.expect(201);
    let object_url = format!("{MAPS}/a");
    let data = |answer: crate::fixture::Answer| answer.expect(200).json()["data"].clone();

    let merge = json!({"data": {"m": "1", "k": null}});
    assert_eq!(data(server.patch(&object_url, "merge-patch+json", &merge).await), json!({"m": "1"}));
    let operations = json!([{"op": "add", "path": "/data/j", "value": "2"}, {"op": "test", "path": "/data/m", "value": "1"}]);
    assert_eq!(
        data(server.patch(&object_url, "json-patch+json", &operations).await),
        json!({"j": "2", "m": "1"})
    );
    let strategic = json!({"data": {"s": "3"}});
    assert_eq!(
        data(server.patch(&object_url, "strategic-merge-patch+json", &strategic).await),
        json!({"j": "2", "m": "1", "s": "3"})
    );

    let missing = json!([{"op": "remove", "path": "/data/zork"}]);
    assert_eq!(
        server.patch(&object_url, "json-patch+json", &missing).await.failure(),
        (422, "the server rejected our request due to an error in our request".to_owned())
    );
    assert_eq!(
        server.patch(&object_url, "json-patch+json", &json!({"op": "add"})).await.failure(),
        (
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
                .to_owned()
        )
    );
    let rename = json!({"metadata": {"name": "b"}});
    assert_eq!(server.patch(&object_url, "merge-patch+json", &rename).await.failure().0, 400);
    assert_eq!(
        server.patch(&object_url, "merge-patch+json", &json!({"kind": "Secret"})).await.failure().0,
        422
    );
    let wrong_type = server.patch(&object_url, "merge-patch+json", &json!({"data": {"k": 5}})).await;
    assert_eq!(wrong_type.json()["details"]["causes"][0]["field"], "patch");
    let stale = json!({"metadata": {"resourceVersion": "1"}, "data": {"k": "9"}});
    assert_eq!(server.patch(&object_url, "merge-patch+json", &stale).await.failure().0, 409);
    assert_eq!(server.patch(&format!("{MAPS}/none"), "merge-patch+json", &merge).await.failure().0, 404);
    assert_eq!(
        server.patch(&object_url, "json", &merge).await.failure(),
        (415, "415: Unsupported Media Type".to_owned())
    );
    let unknown = server.patch(&object_url, "merge-patch+json", &json!({"zork": 1})).await.expect(200);
    assert_eq!(unknown.warnings(), ["299 - \"unknown field \\\"zork\\\"\""]);
}

#[tokio::test]
async fn own_kinds_have_their_subresources() {
    let server = Server::start().await;
    let enclosure = json!({"metadata": {"name": "north"}, "spec": {"keeper": "ada", "replicas": 2}});
    server.post(ENCLOSURES, &enclosure).await.expect(201);
    let scale = format!("{ENCLOSURES}/north/scale");
    let read = server.get(&scale).await.expect(200).json();
    assert_eq!((&read["kind"], &read["apiVersion"]), (&json!("Scale"), &json!("autoscaling/v1")));
    let scaled =
        server.patch(&scale, "merge-patch+json", &json!({"spec": {"replicas": 5}})).await.expect(200).json();
    assert_eq!(scaled["spec"]["replicas"], 5);
    let status = json!({"status": {"replicas": 4}, "spec": {"replicas": 1}});
    let changed = server
        .patch(&format!("{ENCLOSURES}/north/status"), "merge-patch+json", &status)
        .await
        .expect(200)
        .json();
    assert_eq!((&changed["status"]["replicas"], &changed["spec"]["replicas"]), (&json!(4), &json!(5)));

    // Items in lists of custom kinds have `apiVersion` and `kind`.
    let list = server.get(&format!("{ENCLOSURES}?fieldSelector=spec.keeper%3Dada")).await.expect(200).json();
    assert_eq!(list["items"][0]["kind"], "Enclosure");
    assert_eq!(list["kind"], "EnclosureList");
    let strategic =
        server.patch(&format!("{ENCLOSURES}/north"), "strategic-merge-patch+json", &json!({})).await;
    assert_eq!(strategic.failure().0, 415);
    assert_eq!(
        server.write(Method::DELETE, &scale, "application/json", "").await.failure(),
        (405, "the server does not allow this method on the requested resource".to_owned())
    );
}

#[tokio::test]
async fn lists_come_in_pages_and_forms() {
    let server = Server::start().await;
    for name in ["a", "b", "c"] {
        server.post(MAPS, &config_map(name)).await.expect(201);
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = server.get("/api/v1/configmaps").await.expect(200).json();
    assert_eq!(names(&all), ["a", "b", "c"]);
    assert!(all["items"][0].get("kind").is_none());
    assert_eq!((&all["kind"], &all["apiVersion"]), (&json!("ConfigMapList"), &json!("v1")));

    let first = server.get(&format!("{MAPS}?limit=2")).await.expect(200).json();
    assert_eq!((names(&first).len(), &first["metadata"]["remainingItemCount"]), (2, &json!(1)));
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = server.get(&format!("{MAPS}?limit=2&continue={token}")).await.expect(200).json();
    assert_eq!(names(&rest), ["c"]);

    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = server.get_as(MAPS, table).await.expect(200).json();
    assert_eq!(table["columnDefinitions"][1]["name"], "Age");
    assert_eq!(table["rows"][2]["cells"][0], "c");
    assert_eq!(table["rows"][2]["object"]["kind"], "PartialObjectMetadata");
    let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    assert_eq!(
        server.get_as(MAPS, partial).await.failure(),
        (
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
                .to_owned()
        )
    );
    let object = server.get_as(&format!("{MAPS}/a"), partial).await.expect(200).json();
    assert!(object["metadata"]["uid"].is_string() && object.get("data").is_none());
    let yaml = server.get_as(&format!("{MAPS}/a"), "application/yaml").await.expect(200);
    assert!(yaml.text().contains("\ndata:\n  k: v\nkind: ConfigMap\n"), "{}", yaml.text());
    let pretty = server.get(&format!("{MAPS}?pretty=true")).await.expect(200);
    assert!(pretty.text().contains("\n  \"items\": [\n    {\n"), "{}", pretty.text());

    let deleted = server.write(Method::DELETE, MAPS, "application/json", "").await.expect(200).json();
    assert_eq!(names(&deleted), ["a", "b", "c"]);
    assert!(names(&server.get(MAPS).await.json()).is_empty());
}

#[tokio::test]
async fn dry_runs_change_nothing() {
    let server = Server::start().await;
    server.post(&format!("{MAPS}?dryRun=All"), &config_map("a")).await.expect(201);
    server.get(&format!("{MAPS}/a")).await.expect(404);
    server.post(MAPS, &config_map("a")).await.expect(201);
    let dry_run_url = format!("{MAPS}/a?dryRun=All");
    server.patch(&dry_run_url, "merge-patch+json", &json!({"data": {"k": "2"}})).await.expect(200);
    server.write(Method::DELETE, &dry_run_url, "application/json", "").await.expect(200);
    assert_eq!(server.get(&format!("{MAPS}/a")).await.expect(200).json()["data"]["k"], "v");
}

#[tokio::test]
async fn large_answers_are_compressed_when_asked() {
    let server = Server::start().await;
    let large = json!({"metadata": {"name": "c1"}, "data": {"x": "y".repeat(200_000)}});
    server.post(MAPS, &large).await.expect(201);
    for url in [MAPS.to_owned(), format!("{MAPS}/c1")] {
        let request = http::Request::get(&url).header("accept-encoding", "gzip");
        let answer = server.send(request.body(axum::body::Body::empty()).unwrap()).await.expect(200);
        assert_eq!(answer.headers["content-encoding"], "gzip");
        assert!(answer.body.len() < 10_000);
        assert!(!server.get(&url).await.headers.contains_key("content-encoding"));
    }
}
