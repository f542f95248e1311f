//! Values that kube-apiserver keeps in another version than this server does, or without defaults of this version: they are
//! read as what is stored here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use std::sync::Arc;

use bytes::Bytes;
use registry_core::codec::protobuf;
use registry_core::resource::{Resource, Versions};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{AttributesOf as _, CanonicalForm, Interface};
use resources::api::autoscaling::horizontalpodautoscalers_v1::HorizontalPodAutoscalersV1;
use resources::api::autoscaling::horizontalpodautoscalers_v2::HorizontalPodAutoscalers;
use resources::api::core::events::Events;
use resources::api::core::pods::Pods;
use resources::api::core::services::Services;
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

/// The encoding of an object as this server writes it, and as Go does.
const OWN: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[]}}"#;

#[test]
fn own_values_are_not_parsed_and_those_of_other_servers_get_defaults() {
    let versions = Versions::only(Pods::TYPE.instantiate());
    let canonical = |value: &str| versions.canonical(value.as_bytes()).unwrap();
    let cut = OWN.trim_end_matches("]}}");
    let of_later_release = format!("{OWN} ");
    for own in [OWN, cut, &of_later_release] {
        assert!(matches!(canonical(own), CanonicalForm::Same), "{own}");
    }
    assert!(versions.canonical(format!("{cut}\n").as_bytes()).is_err());
    let CanonicalForm::Other(whole) = canonical(&format!("{OWN}\n")) else { panic!("it lacks defaults") };
    assert!(matches!(canonical(str::from_utf8(&whole).unwrap()), CanonicalForm::Same));
    let whole: Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(whole["spec"]["restartPolicy"], "Always");
    // It does not have the types of a pod, but can be read, and deleted.
    let unlike = OWN.replace("[]", "7") + "\n";
    assert!(matches!(canonical(&unlike), CanonicalForm::Same));
}

#[test]
fn fields_of_features_that_are_off_here_are_read() {
    let container = json!({"name": "c", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}});
    let pod = json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [container], "os": {"name": "linux"}},
    });
    let versions = Versions::only(Pods::TYPE.instantiate());
    let as_protobuf = protobuf::encode(&pod, &(Pods::TYPE.schema)(), "v1", "Pod").unwrap();
    for stored in [Bytes::from(format!("{pod}\n")), as_protobuf] {
        let Ok(CanonicalForm::Other(whole)) = versions.canonical(&stored) else {
            panic!("it lacks defaults")
        };
        let whole: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(whole["spec"]["containers"][0]["lifecycle"], json!({"stopSignal": "SIGUSR1"}));
    }
}

#[test]
fn services_without_families_get_them() {
    let service = json!({
        "kind": "Service", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]},
    });
    let versions = Versions::only(Services::TYPE.instantiate());
    let as_protobuf = protobuf::encode(&service, &(Services::TYPE.schema)(), "v1", "Service").unwrap();
    for stored in [Bytes::from(format!("{service}\n")), as_protobuf] {
        let Ok(CanonicalForm::Other(whole)) = versions.canonical(&stored) else {
            panic!("it lacks families")
        };
        let whole: Value = serde_json::from_slice(&whole).unwrap();
        let spec = &whole["spec"];
        assert_eq!((&spec["clusterIPs"], &spec["ipFamilies"]), (&json!(["10.0.0.9"]), &json!(["IPv4"])));
        assert_eq!((&spec["type"], &spec["internalTrafficPolicy"]), (&json!("ClusterIP"), &json!("Cluster")));
    }
}
