//! A store that a kube-apiserver filled with protobuf, read and watched by this server.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says what went wrong by panicking")]

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use registry_core::api::{Object, Preconditions, StatusError};
use registry_core::codec::{protobuf, stored};
use registry_core::registry::MapEntry;
use registry_core::resource::{Resource, ResourceDescription, StorageEncoding, Versions};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::interface::{UpdateAction, UpdateOutcome};
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{
    Attributes, CorruptObject, Interface, ListRequest, NewValue, StorageError, StoredObject, TryUpdate,
    WatchEvent, WatchRequest,
};
use resources::api::core::configmaps::ConfigMaps;
use resources::api::core::pods::Pods;
use serde_json::{Value, json};

struct Fixture {
    engine: Arc<Embedded>,
}

impl Fixture {
    fn new() -> Self {
        Self { engine: Embedded::in_memory() }
    }

    fn store(&self, resource: &'static ResourceDescription) -> VersionedStore {
        self.store_as(resource, StorageEncoding::Json)
    }

    fn store_as(&self, resource: &'static ResourceDescription, encoding: StorageEncoding) -> VersionedStore {
        let versions = Versions::only(resource.instantiate()).encoded_as(encoding);
        VersionedStore::new(self.engine.clone(), Arc::new(Identity), Arc::new(versions))
    }

    async fn at_rest(&self, key: &str) -> Option<Bytes> {
        self.engine.get(key).await.unwrap().key_value.map(|found| found.value)
    }

    async fn put(&self, key: &str, value: Bytes) {
        self.engine.put_if(key, 0, value, None).await.unwrap();
    }
}

/// A pod with all defaults, as every server stores it.
fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}, "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {
            "nodeName": node, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
            "enableServiceLinks": true, "securityContext": {}, "terminationGracePeriodSeconds": 30,
            "containers": [{
                "name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "resources": {"limits": {"cpu": "500m"}, "requests": {"cpu": "500m"}},
            }],
        },
        "status": {"phase": "Running"},
    })
}

fn as_protobuf(object: &Value) -> Bytes {
    protobuf::encode(object, &(Pods::TYPE.schema)(), "v1", "Pod").unwrap()
}

fn read(object: &StoredObject) -> Value {
    serde_json::from_slice(object.json()).unwrap()
}

/// Writes what is there already.
struct Same;

#[async_trait]
impl TryUpdate for Same {
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        let current = current.unwrap();
        let schema = (Pods::TYPE.schema)();
        let bytes = stored::encode(&stored::decode(current.json()).unwrap(), schema.field_order());
        let value = NewValue { bytes, shown: None, attributes: current.attributes.clone() };
        Ok(UpdateAction::Write { value, ttl: None })
    }
}

#[tokio::test]
async fn objects_are_read_selected_watched_and_rewritten_as_json() {
    let fixture = Fixture::new();
    let store = fixture.store(Pods::TYPE);
    let prefix = "/registry/pods/";
    let key = "/registry/pods/default/a";
    fixture.put(key, as_protobuf(&pod("a", "node-1"))).await;
    fixture.put("/registry/pods/default/b", as_protobuf(&pod("b", "node-2"))).await;

    let got = store.get(key, None).await.unwrap().unwrap();
    let mut expected = pod("a", "node-1");
    expected["metadata"]["resourceVersion"] = got.revision.to_string().into();
    assert_eq!(read(&got), expected);
    assert!(got.tail().starts_with(b"\"metadata\":{\"resourceVersion\""));

    let everything = store.list(prefix, &ListRequest::default()).await.unwrap();
    assert_eq!(everything.items.len(), 2);
    let selected = ListRequest { with_attributes: true, ..ListRequest::default() };
    let nodes = store.list(prefix, &selected).await.unwrap().items;
    let nodes: Vec<_> = nodes.iter().map(|it| it.attributes.field("spec.nodeName").to_owned()).collect();
    assert_eq!(nodes, ["node-1", "node-2"]);

    let watching = WatchRequest { send_initial_events: Some(true), ..WatchRequest::default() };
    let mut events = store.watch(prefix, &watching).await.unwrap();
    fixture.put("/registry/pods/default/c", as_protobuf(&pod("c", "node-1"))).await;
    let mut names = Vec::new();
    while names.len() < 3 {
        let event = tokio::time::timeout(Duration::from_secs(10), events.next()).await.unwrap().unwrap();
        if let WatchEvent::Added(object) = event.unwrap() {
            assert_eq!(object.attributes.label("app"), Some("web"));
            names.push(read(&object)["metadata"]["name"].clone());
        }
    }
    assert_eq!(names, ["a", "b", "c"]);

    // A write that changes nothing still leaves JSON; the next one then changes nothing.
    let none = Preconditions::default();
    let updated = store.guaranteed_update(key, &none, &mut Same, None).await.unwrap();
    assert_eq!(updated.outcome, UpdateOutcome::Changed);
    let at_rest = fixture.engine.get(key).await.unwrap().key_value.unwrap().value;
    assert_eq!(serde_json::from_slice::<Value>(&at_rest).unwrap(), pod("a", "node-1"));
    let again = store.guaranteed_update(key, &none, &mut Same, None).await.unwrap();
    assert_eq!(again.outcome, UpdateOutcome::Unchanged);
}

fn new_value(object: &Value) -> NewValue {
    let object = Object::from_value(object.clone()).unwrap();
    let bytes = stored::encode(&object, (Pods::TYPE.schema)().field_order());
    NewValue { bytes, shown: None, attributes: Attributes::default() }
}

#[tokio::test]
async fn objects_are_written_as_protobuf_and_shown_as_json() {
    let fixture = Fixture::new();
    let store = fixture.store_as(Pods::TYPE, StorageEncoding::Protobuf);
    let key = "/registry/pods/default/a";
    let created = store.create(key, new_value(&pod("a", "node-1")), None).await.unwrap();
    assert_eq!(fixture.at_rest(key).await, Some(as_protobuf(&pod("a", "node-1"))));
    let got = store.get(key, None).await.unwrap().unwrap();
    assert_eq!((got.json(), got.tail()), (created.json(), created.tail()), "the answer is what is stored");

    let none = Preconditions::default();
    let again = store.guaranteed_update(key, &none, &mut Same, Some(got)).await.unwrap();
    assert_eq!((again.outcome, again.object.revision), (UpdateOutcome::Unchanged, created.revision));

    // An object stored as JSON can be read, and becomes protobuf when it is written again.
    let former = "/registry/pods/default/b";
    fixture.put(former, new_value(&pod("b", "node-2")).bytes).await;
    let got = store.get(former, None).await.unwrap();
    for (outcome, hint) in [(UpdateOutcome::Changed, got), (UpdateOutcome::Unchanged, None)] {
        let updated = store.guaranteed_update(former, &none, &mut Same, hint).await.unwrap();
        assert_eq!(updated.outcome, outcome);
        assert_eq!(fixture.at_rest(former).await, Some(as_protobuf(&pod("b", "node-2"))));
    }
    assert_eq!(store.list("/registry/pods/", &ListRequest::default()).await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn an_object_that_no_message_can_hold_is_not_stored() {
    let fixture = Fixture::new();
    let store = fixture.store_as(Pods::TYPE, StorageEncoding::Protobuf);
    let key = "/registry/pods/default/a";
    let mut wrong = pod("a", "node-1");
    wrong["spec"]["nodeName"] = json!(["no", "text"]);
    let refused = store.create(key, new_value(&wrong), None).await.unwrap_err().to_string();
    assert!(refused.contains("it cannot be converted into the stored version"), "{refused}");
    assert_eq!(fixture.at_rest(key).await, None);
}

#[tokio::test]
async fn values_that_are_no_such_object_are_told() {
    let fixture = Fixture::new();
    let store = fixture.store(ConfigMaps::TYPE);
    let values = [
        ("cut", as_protobuf(&pod("a", "n")).slice(..40), "unexpected EOF"),
        (
            "kind",
            protobuf::envelope("v1", "Nothing", b""),
            "no kind \"Nothing\" is registered for version \"v1\"",
        ),
        (
            "version",
            protobuf::envelope("v9", "ConfigMap", b""),
            "no kind \"ConfigMap\" is registered for version \"v9\"",
        ),
        ("table", protobuf::envelope("meta.k8s.io/v1", "Table", b""), "for version \"meta.k8s.io/v1\""),
    ];
    for (name, value, why) in values {
        let key = format!("/registry/configmaps/default/{name}");
        fixture.put(&key, value).await;
        let Err(StorageError::Corrupt(CorruptObject { reason, .. })) = store.get(&key, None).await else {
            panic!("{name} is read")
        };
        assert!(reason.to_string().contains(why), "{reason}");
    }
}

/// Upstream's full objects are read alike from protobuf and JSON; their data is in the directory `ORLOP_UPSTREAM` names.
#[tokio::test]
async fn full_objects_of_upstream_are_read() {
    let Some(directory) = std::env::var_os("ORLOP_UPSTREAM").map(PathBuf::from) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = "ORLOP_UPSTREAM names no directory with upstream's data";
        io::stderr()
            .write_all(format!("SKIPPED full_objects_of_upstream_are_read: {text}\n").as_bytes())
            .unwrap();
        return;
    };
    let fixture = Fixture::new();
    let mut checked = 0;
    for version in resources::STORAGE_MAP.versions {
        let stored = |entry: &&MapEntry| entry.subresource.is_none() && entry.resource.hub.is_none();
        for entry in version.entries.iter().filter(stored) {
            let kind = entry.resource.kind;
            let group = if kind.group.is_empty() { "core" } else { kind.group };
            let path = directory.join(format!("testdata/{group}.{}.{}.pb", kind.version, kind.kind));
            let Ok(value) = std::fs::read(&path) else { continue };
            let json: Value =
                serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
            let store = fixture.store(entry.resource);
            let mut read_as = Vec::new();
            for stored in [value.into(), Bytes::from(format!("{json}\n"))] {
                let key = format!("/registry/{}/{}", entry.resource.storage_prefix, read_as.len());
                fixture.put(&key, stored).await;
                let mut object = read(&store.get(&key, None).await.unwrap().unwrap());
                object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
                read_as.push(object);
            }
            assert_eq!(read_as[0], read_as[1], "{}", path.display());
            checked += 1;
        }
    }
    println!("{checked} full objects are read alike");
    assert!(checked >= 15, "only {checked} kinds were checked");
}
