use registry_core::api::Object;
use registry_core::resource::Resource;
use registry_core::rest::Storage as _;
use serde_json::{Value, json};

use super::limitranges::LimitRanges;
use super::nodes::Nodes;
use super::persistentvolumeclaims::PersistentVolumeClaims;
use super::persistentvolumes::PersistentVolumes;
use super::pods::Pods;
use super::resourcequotas::ResourceQuotas;
use crate::testing::installed;

/// Returns an object with the defaults of its kind.
fn with_defaults<R: Resource>(object: Value) -> Value {
    let store = installed(&[R::TYPE.plural]).store(R::TYPE).unwrap();
    let mut object = Object::from_value(object).unwrap();
    store.apply_defaults(&mut object);
    object.into_value()
}

#[tokio::test]
async fn amounts_of_resources_are_rounded_up_to_thousandths() {
    let fine = || json!({ "storage": "100u", "cpu": "1500u" });
    let claim = || json!({ "resources": { "limits": fine(), "requests": fine() } });
    let all = [
        with_defaults::<PersistentVolumeClaims>(
            json!({ "spec": claim(), "status": { "capacity": fine(), "allocatedResources": fine() } }),
        ),
        with_defaults::<PersistentVolumes>(json!({ "spec": { "capacity": fine() } })),
        with_defaults::<ResourceQuotas>(
            json!({ "spec": { "hard": fine() }, "status": { "hard": fine(), "used": fine() } }),
        ),
        with_defaults::<Nodes>(json!({ "status": { "capacity": fine(), "allocatable": fine() } })),
        with_defaults::<LimitRanges>(json!({ "spec": { "limits": [{
            "type": "Container", "max": fine(), "min": fine(), "default": fine(), "defaultRequest": fine(),
            "maxLimitRequestRatio": fine(),
        }] } })),
        with_defaults::<Pods>(json!({ "spec": { "volumes": [
            { "name": "a", "ephemeral": { "volumeClaimTemplate": { "spec": claim() } } },
        ] } })),
    ];
    for object in all {
        let text = object.to_string();
        assert!(text.contains(r#""2m""#) && text.contains(r#""1m""#) && !text.contains(r#"0u""#), "{text}");
    }
}
