//! Objects with the maximum nesting depth of requests.

use serde_json::{Value, json};

use crate::fixture::Server;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Maximum nesting depth of a request's body.
const MAX_DEPTH: usize = 128;
/// Depth of a manager's fields in an object.
const FIELDS_DEPTH: usize = 4;

/// Returns a config map whose manager has fields at the maximum depth.
fn deepest() -> Value {
    let mut fields = json!({});
    for _ in 0..MAX_DEPTH - FIELDS_DEPTH - 1 {
        fields = json!({"f:a": fields});
    }
    let manager = json!({"manager": "m", "operation": "Apply", "apiVersion": "v1",
                         "fieldsType": "FieldsV1", "fieldsV1": fields});
    json!({"metadata": {"name": "deep", "managedFields": [manager]}, "data": {"k": "v"}})
}

#[tokio::test]
async fn the_deepest_objects_are_whole_in_every_form() {
    let server = Server::start().await;
    let created = server.post(CONFIG_MAPS, &deepest()).await.expect(201);
    assert!(created.text().contains(&"{\"f:a\":".repeat(MAX_DEPTH - FIELDS_DEPTH - 1)));

    let object_url = format!("{CONFIG_MAPS}/deep");
    for url in [CONFIG_MAPS, object_url.as_str()] {
        let table = server.get_as(url, TABLE).await.expect(200);
        let text = table.text();
        assert!(text.contains(r#""cells":["deep","#), "{url}: {text}");
        let yaml = server.get_as(url, "application/yaml").await.expect(200);
        assert!(yaml.text().contains("name: deep\n"), "{url}: {}", yaml.text());
    }
    let watched = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=1");
    let events = server.get_as(&watched, TABLE).await.expect(200);
    assert!(events.text().contains(r#""cells":["deep","#), "{}", events.text());
}
