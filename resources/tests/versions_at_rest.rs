//! Values that kube-apiserver keeps in another version than this server does: they are read as what is stored here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use std::sync::Arc;

use bytes::Bytes;
use registry_core::codec::protobuf;
use registry_core::resource::{Resource, Versions};
use registry_core::storage::Interface;
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use resources::api::autoscaling::horizontalpodautoscalers_v1::HorizontalPodAutoscalersV1;
use resources::api::autoscaling::horizontalpodautoscalers_v2::HorizontalPodAutoscalers;
use resources::api::core::events::Events;
use resources::api::events::events_v1::EventsV1;
use serde_json::{Value, json};

/// Reads a value through the storage of a kind.
async fn read<Hub: Resource, Spoke: Resource>(value: Bytes) -> (Value, registry_core::storage::Attributes) {
    let engine = Embedded::in_memory();
    engine.put_if("/registry/kind/default/a", 0, value, None).await.unwrap();
    let versions = Versions::new(Hub::TYPE.instantiate(), [Spoke::TYPE.instantiate()]);
    let store = VersionedStore::new(engine, Arc::new(Identity), Arc::new(versions));
    let request = registry_core::storage::ListRequest { with_attributes: true, ..Default::default() };
    let page = store.list("/registry/kind/", &request).await.unwrap();
    (serde_json::from_slice(page.items[0].json()).unwrap(), page.items[0].attributes.clone())
}

#[tokio::test]
async fn values_of_a_spoke_are_read_as_the_hubs() {
    let hpa = json!({
        "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "namespace": "default", "creationTimestamp": null},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70},
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    });
    let as_protobuf = protobuf::encode(
        &hpa,
        &(HorizontalPodAutoscalersV1::TYPE.schema)(),
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
    )
    .unwrap();
    for stored in [Bytes::from(hpa.to_string()), as_protobuf] {
        let (object, _) = read::<HorizontalPodAutoscalers, HorizontalPodAutoscalersV1>(stored).await;
        assert_eq!(object["apiVersion"], "autoscaling/v2");
        assert_eq!(object["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 70);
    }
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a", "namespace": "default"},
        "eventTime": "2026-01-02T03:04:05.000006Z", "regarding": {"kind": "Pod", "name": "p"}, "note": "hello",
    });
    let as_protobuf =
        protobuf::encode(&event, &(EventsV1::TYPE.schema)(), "events.k8s.io/v1", "Event").unwrap();
    for stored in [Bytes::from(event.to_string()), as_protobuf] {
        let (object, attributes) = read::<Events, EventsV1>(stored).await;
        assert_eq!((&object["apiVersion"], &object["message"]), (&json!("v1"), &json!("hello")));
        assert_eq!(attributes.field("involvedObject.kind"), "Pod");
    }
}
