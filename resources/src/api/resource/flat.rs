//! Conversion of `resource.k8s.io/v1beta1`, whose requests are flat where `v1` has `exactly`, and whose devices have `basic`
//! where those of `v1` are flat.

use registry_core::api::Object;
use serde_json::Value;

use crate::support::defaulting::{self, Fields};

/// The fields of a request that are below `exactly` in `v1`.
const OF_EXACTLY: [&str; 7] =
    ["deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"];

/// The field of a device that `v1` does not have.
const BASIC: &str = "basic";

/// Converts a ResourceClaim to `v1`.
pub(super) fn claim_to_v1(claim: &mut Object) {
    each_request(claim, &["spec", "devices"], nest_request);
}

/// Converts a ResourceClaim of `v1`.
pub(super) fn claim_of_v1(claim: &mut Object) {
    each_request(claim, &["spec", "devices"], flatten_request);
}

/// Converts a ResourceClaimTemplate to `v1`.
pub(super) fn template_to_v1(template: &mut Object) {
    each_request(template, &["spec", "spec", "devices"], nest_request);
}

/// Converts a ResourceClaimTemplate of `v1`.
pub(super) fn template_of_v1(template: &mut Object) {
    each_request(template, &["spec", "spec", "devices"], flatten_request);
}

/// Converts a ResourceSlice to `v1`.
pub(super) fn slice_to_v1(slice: &mut Object) {
    each_device(slice, |device| {
        if let Some(Value::Object(basic)) = device.remove(BASIC) {
            device.extend(basic);
        }
    });
}

/// Converts a ResourceSlice of `v1`.
pub(super) fn slice_of_v1(slice: &mut Object) {
    each_device(slice, |device| {
        let name = device.remove("name");
        let basic = std::mem::take(device);
        device.extend(name.map(|name| ("name".to_owned(), name)));
        device.insert(BASIC.to_owned(), Value::Object(basic));
    });
}

/// Moves the fields of a request below `exactly`, if one of them is set.
fn nest_request(request: &mut Fields) {
    let of_exactly = OF_EXACTLY.into_iter().filter_map(|name| request.remove_entry(name));
    let exactly: Fields = of_exactly.filter(|(_, value)| is_set(value)).collect();
    if !exactly.is_empty() {
        request.insert("exactly".to_owned(), Value::Object(exactly));
    }
}

fn flatten_request(request: &mut Fields) {
    if let Some(Value::Object(exactly)) = request.remove("exactly") {
        request.extend(exactly);
    }
}

/// Whether Go holds more than the zero value of the field's type.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

fn each_request(object: &mut Object, devices: &[&str], change: fn(&mut Fields)) {
    defaulting::with_at(object, devices, |devices| defaulting::each(devices, &["requests"], change));
}

fn each_device(slice: &mut Object, change: fn(&mut Fields)) {
    defaulting::with_at(slice, &["spec"], |spec| defaulting::each(spec, &["devices"], change));
}

#[cfg(test)]
mod tests {
    use registry_core::resource::testing::{assert_lossless, assert_round_trips};
    use serde_json::json;

    use super::*;
    use crate::api::resource::resourceclaims::v1beta1::ResourceClaimsV1beta1;
    use crate::api::resource::resourceclaimtemplates::v1beta1::ResourceClaimTemplatesV1beta1;
    use crate::api::resource::resourceslices::v1beta1::ResourceSlicesV1beta1;

    #[test]
    fn requests_and_devices_lose_nothing() {
        assert_lossless::<ResourceClaimsV1beta1>();
        assert_lossless::<ResourceClaimTemplatesV1beta1>();
        assert_lossless::<ResourceSlicesV1beta1>();
        let request = json!({"name": "r", "deviceClassName": "c", "count": 2, "adminAccess": false});
        let devices = json!({"requests": [request, {"name": "s", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}]});
        let claim = json!({"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "spec": {"devices": devices}});
        let mut claim = Object::from_value(claim).unwrap();
        assert_round_trips::<ResourceClaimsV1beta1>(&claim);
        claim_to_v1(&mut claim);
        let requests = &claim.get(&["spec", "devices", "requests"]).unwrap();
        assert_eq!(
            requests[0],
            json!({"name": "r", "exactly": {"deviceClassName": "c", "count": 2, "adminAccess": false}})
        );
        assert!(requests[1].get("exactly").is_none());

        let device = json!({"name": "d", "basic": {"attributes": {"a": {"bool": true}}, "nodeName": "n"}});
        let slice =
            json!({"apiVersion": "resource.k8s.io/v1beta1", "spec": {"driver": "d", "devices": [device]}});
        let mut slice = Object::from_value(slice).unwrap();
        assert_round_trips::<ResourceSlicesV1beta1>(&slice);
        slice_to_v1(&mut slice);
        let device = &slice.get(&["spec", "devices"]).unwrap()[0];
        assert_eq!(*device, json!({"name": "d", "attributes": {"a": {"bool": true}}, "nodeName": "n"}));
    }
}
