//! The start of servers, and their end.

use futures::StreamExt as _;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{CustomResource, CustomResourceExt as _};
use orlop_test::{StartError, TestServer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{config_map, create, maps, object, pairs, present, until};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Engine", namespaced)]
struct EngineSpec {
    cylinders: u32,
}

#[tokio::test]
async fn two_servers_of_a_test_know_nothing_of_each_other() {
    let (first, second) = tokio::try_join!(TestServer::start(), TestServer::start()).unwrap();
    assert_ne!(first.url(), second.url());
    create(&first, "a", "1").await;
    assert_eq!(present(&first).await, pairs(&[("a", "1")]));
    assert_eq!(present(&second).await, []);
    first.stop().await;
    create(&second, "b", "2").await;
}

#[tokio::test]
async fn custom_resources_come_from_structs_values_and_files() {
    let crds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/test_server/crds");
    let mut value = serde_json::to_value(Engine::crd()).unwrap();
    value["metadata"]["name"] = "wheels.example.com".into();
    value["spec"]["names"] = json!({"plural": "wheels", "singular": "wheel", "kind": "Wheel"});
    let builder = TestServer::builder().crd::<Engine>().crd_object(value).crds(crds);
    let server = builder.start().await.unwrap();
    let engines: Api<Engine> = Api::default_namespaced(server.client());
    let engine =
        engines.create(&PostParams::default(), &Engine::new("v8", EngineSpec { cylinders: 8 })).await;
    assert_eq!(engine.unwrap().spec.cylinders, 8);
    for kind in ["Wheel", "Gear"] {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", kind));
        let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &resource);
        let made = DynamicObject::new("x", &resource).data(json!({"spec": {"cylinders": 1}}));
        api.create(&PostParams::default(), &made).await.unwrap();
    }
    let namespaces: Api<Namespace> = Api::all(server.client());
    assert!(namespaces.get_opt("skipped").await.unwrap().is_none(), "only definitions are created");
}

#[tokio::test]
async fn a_wrong_start_says_why() {
    let failed =
        async |builder: orlop_test::TestServerBuilder| Box::pin(builder.start()).await.err().unwrap();
    let missing = failed(TestServer::builder().crds("/nowhere.yaml")).await;
    assert!(matches!(&missing, StartError::File { .. }), "{missing}");
    let flag = failed(TestServer::builder().flag("--no-such-flag")).await;
    assert!(flag.to_string().contains("--no-such-flag"), "{flag}");
    let mut invalid = serde_json::to_value(Engine::crd()).unwrap();
    invalid["spec"]["scope"] = "Everywhere".into();
    let refused = failed(TestServer::builder().crd_object(invalid)).await;
    assert!(refused.to_string().contains("Everywhere"), "{refused}");
}

#[tokio::test]
async fn a_namespace_ends_with_its_objects_unless_no_controllers_run() {
    for (builder, ends) in
        [(TestServer::builder(), true), (TestServer::builder().without_controllers(), false)]
    {
        let server = builder.start().await.unwrap();
        let namespaces: Api<Namespace> = Api::all(server.client());
        let namespace = object(json!({"metadata": {"name": "short"}}));
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let inside = Api::namespaced(server.client(), "short");
        inside.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        namespaces.delete("short", &DeleteParams::default()).await.unwrap();
        if ends {
            until("it ends", async || namespaces.get_opt("short").await.unwrap().is_none()).await;
            assert!(inside.get_opt("a").await.unwrap().is_none());
        } else {
            let phase = namespaces.get("short").await.unwrap().status.unwrap().phase;
            assert_eq!(phase.as_deref(), Some("Terminating"));
        }
    }
}

#[tokio::test]
async fn dropping_a_server_ends_a_hundred_watches() {
    let server = TestServer::start().await.unwrap();
    let directory = server.kubeconfig_path().parent().unwrap().to_owned();
    let parameters = WatchParams::default();
    let maps = maps(&server);
    let watches = join_all((0..100).map(|_| maps.watch(&parameters, "0"))).await;
    let mut watches: Vec<_> = watches.into_iter().map(|watch| watch.unwrap().boxed()).collect();
    create(&server, "a", "1").await;
    for watch in &mut watches {
        while !matches!(watch.next().await, Some(Ok(WatchEvent::Added(map))) if map.metadata.name.as_deref() == Some("a"))
        {
        }
    }
    drop(server);
    for watch in &mut watches {
        while watch.next().await.is_some() {}
    }
    assert!(!directory.exists());
}

#[test]
fn a_panic_in_a_test_leaves_nothing() {
    let (send, directory) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = TestServer::start().await.unwrap();
            let directory = server.kubeconfig_path().parent().unwrap().to_owned();
            assert!(directory.exists());
            send.send(directory).unwrap();
            create(&server, "a", "1").await;
            panic!("as a test that fails");
        });
    });
    assert!(test.join().is_err());
    assert!(!directory.recv().unwrap().exists());
}
