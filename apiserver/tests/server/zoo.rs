//! A custom resource, served by a whole server over its storage.

use std::time::Duration;

use apiserver::testing::TestServer;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use registry_core::registry::StorageMap;
use registry_core::registry::storage_map::{Main, Status};
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[resource(group = "zoo.example.dev", version = "v1", selectable(spec.keeper), index(spec.keeper))]
pub struct Enclosure {
    pub metadata: ObjectMeta,
    pub spec: EnclosureSpec,
    #[resource(status)]
    pub status: Option<EnclosureStatus>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
pub struct EnclosureSpec {
    pub keeper: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
pub struct EnclosureStatus {
    pub phase: String,
}

registry_core::storage_map! {
    pub static ZOO = {
        "zoo.example.dev" => {
            "v1" => {
                "enclosures" => Main<Enclosure>,
                "enclosures/status" => Status<Enclosure>,
            },
        },
    };
}

const MAP: &StorageMap = &ZOO;

fn enclosure(name: &str, keeper: &str) -> Enclosure {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    Enclosure { metadata, spec: EnclosureSpec { keeper: keeper.to_owned() }, status: None }
}

async fn enclosures(server: &TestServer) -> Api<Enclosure> {
    Api::namespaced(super::kube_client(server).await, "default")
}

#[tokio::test]
async fn objects_outlive_the_server_and_watches_end_with_it() {
    let builder = TestServer::builder().without_builtin_resources().storage_map(MAP);
    let server = builder.start().await.unwrap();
    let api = enclosures(&server).await;
    let created = api.create(&PostParams::default(), &enclosure("aviary", "rosa")).await.unwrap();
    api.create(&PostParams::default(), &enclosure("terrarium", "tom")).await.unwrap();
    let rosas = ListParams::default().fields("spec.keeper=rosa");
    let listed = api.list(&rosas).await.unwrap();
    assert_eq!(listed.items.len(), 1);

    let version = listed.metadata.resource_version.unwrap();
    let mut watch = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    api.delete("terrarium", &DeleteParams::default()).await.unwrap();
    let event = watch.try_next().await.unwrap().unwrap();
    assert!(
        matches!(&event, WatchEvent::Deleted(gone) if gone.metadata.name.as_deref() == Some("terrarium"))
    );

    let directory = server.directory().clone();
    let (stopped, rest) =
        tokio::join!(tokio::time::timeout(Duration::from_secs(10), server.stop()), watch.collect::<Vec<_>>());
    stopped.expect("a watch does not hold the server up");
    assert!(rest.iter().all(Result::is_ok), "the watch ends, it does not break: {rest:?}");

    let builder = TestServer::builder().without_builtin_resources().storage_map(MAP).directory(&directory);
    let again = builder.start().await.unwrap();
    let kept = enclosures(&again).await.get("aviary").await.unwrap();
    assert_eq!(kept.metadata, created.metadata);
    again.stop().await;
}

#[tokio::test]
async fn resources_can_be_switched_off() {
    let builder = TestServer::builder().memory().without_builtin_resources().storage_map(MAP);
    let server = builder.flag("--runtime-config=zoo.example.dev/v1/enclosures=false").start().await.unwrap();
    let missing = enclosures(&server).await.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(missing, kube::Error::Api(status) if status.code == 404));
}

#[tokio::test]
async fn a_fresh_server_has_the_system_namespaces_and_serves_its_maps_together() {
    let server = TestServer::builder().memory().storage_map(MAP).start().await.unwrap();
    let client = super::kube_client(&server).await;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client);
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = namespaces.get(name).await.expect(name);
        assert_eq!(namespace.status.unwrap().phase.as_deref(), Some("Active"));
        assert_eq!(namespace.metadata.labels.unwrap()["kubernetes.io/metadata.name"], name);
    }
    enclosures(&server).await.create(&PostParams::default(), &enclosure("aviary", "rosa")).await.unwrap();
    server.stop().await;
}
