//! A kind of an author that has lost fields since objects of it were stored.

use super::{
    Client, Deserialize, JsonSchema, Main, ObjectMeta, Resource, Serialize, Strategy, TestServer, Value, json,
};

const DEPOTS: &str = "/apis/depots.example.dev/v1/namespaces/default/depots";

/// A kind with this field beside its size.
macro_rules! depot {
    ($module:ident, $strategy:ident, $map:ident $(, $field:ident)?) => {
        mod $module {
            use super::{Deserialize, JsonSchema, Main, ObjectMeta, Resource, Serialize, Strategy};

            #[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
            #[resource(group = "depots.example.dev", version = "v1", strategy = $strategy)]
            struct Depot {
                metadata: ObjectMeta,
                size: Option<i32>,
                $($field: Option<String>,)?
            }

            struct $strategy;

            impl Strategy for $strategy {
                type Object = Depot;
            }

            registry_core::storage_map! {
                pub(super) static $map = {
                    "depots.example.dev" => { "v1" => { "depots" => Main<Depot> } },
                };
            }
        }
    };
}

depot!(before, FormerDepot, FORMER, town);
depot!(after, PresentDepot, PRESENT);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_patch_drops_the_fields_that_the_kind_has_lost() {
    let server = TestServer::builder().storage_map(&before::FORMER).start().await.unwrap();
    let directory = server.directory().clone();
    let mut client = Client::connect(&server).await;
    for name in ["named", "unnamed"] {
        let depot = json!({"metadata": {"name": name}, "size": 1, "town": "x"});
        assert_eq!(client.expect(201, "POST", DEPOTS, depot).await["town"], "x");
    }
    server.stop().await;
    let builder = TestServer::builder().directory(&directory).storage_map(&after::PRESENT);
    let server = builder.start().await.unwrap();
    let mut client = Client::connect(&server).await;
    for (name, patch) in
        [("unnamed", json!({"metadata": {"labels": {"a": "b"}}})), ("named", json!({"size": 2, "town": "y"}))]
    {
        let path = format!("{DEPOTS}/{name}");
        let patched = client.expect(200, "PATCH", &path, patch).await;
        assert_eq!(patched.get("town"), None, "{patched}");
        assert_eq!(client.get(&path).await, patched);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_patch_of_a_built_in_kind_keeps_the_fields_that_it_does_not_name() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "m"}, "data": {"a": "1"}, "binaryData": {"b": "AA=="}, "immutable": false});
    client.expect(201, "POST", maps, map.clone()).await;
    let path = format!("{maps}/m");
    let fields = |object: &Value| ["data", "binaryData", "immutable"].map(|name| object[name].clone());
    let patched = client.expect(200, "PATCH", &path, json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(fields(&patched), fields(&map));
    let patched = client.expect(200, "PATCH", &path, json!({"data": {"a": null, "c": "3"}})).await;
    assert_eq!(fields(&patched), [json!({"c": "3"}), map["binaryData"].clone(), json!(false)]);
    // A field that is named has to conform, and one that does not exist is dropped.
    client.expect(422, "PATCH", &path, json!({"data": {"a": 1}})).await;
    let patched = client.expect(200, "PATCH", &path, json!({"town": "x"})).await;
    assert_eq!((patched.get("town"), fields(&patched)[0].clone()), (None, json!({"c": "3"})));
    server.stop().await;
}
