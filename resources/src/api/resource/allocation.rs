//! The status of claims: the devices that were allocated, who uses them, and how they are.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use serde_json::{Value, json};

use super::{names as device_names, requests, taints};
use crate::api::core::{address, node_selector};
use crate::support::conditions;
use crate::support::field::{Field, ShownAsGo as _};

/// Maximum number of users of a claim.
const MAX_USERS: usize = 256;
/// Maximum number of devices of an allocation.
const MAX_RESULTS: usize = 32;
/// Maximum number of conditions of a device.
const MAX_CONDITIONS: usize = 8;
/// Maximum size of the data of a device, in bytes.
const MAX_DATA_BYTES: usize = 10 << 10;
/// Maximum number of addresses of a device.
const MAX_ADDRESSES: usize = 16;
/// Maximum length of the name of a network interface, in bytes.
const MAX_INTERFACE_BYTES: usize = 256;
/// Maximum length of a hardware address, in bytes.
const MAX_HARDWARE_ADDRESS_BYTES: usize = 128;

/// The identifier of a device, or of a share of a device.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct DeviceId<'v> {
    pub(super) driver: &'v str,
    pool: &'v str,
    device: &'v str,
    share: &'v str,
}

impl<'v> DeviceId<'v> {
    /// Returns the identifier of an allocated device, or of its status.
    pub(super) fn from_field(device: &Field<'v, '_>) -> Self {
        let text = |name: &str| device.get(name).text();
        Self { driver: text("driver"), pool: text("pool"), device: text("device"), share: text("shareID") }
    }

    fn from_value(device: &'v Value) -> Self {
        let text = |name: &str| device.get(name).and_then(Value::as_str).unwrap_or_default();
        Self { driver: text("driver"), pool: text("pool"), device: text("device"), share: text("shareID") }
    }

    /// Returns the identifier as messages show it.
    fn shown(&self) -> String {
        let parts =
            [("Driver", self.driver), ("Pool", self.pool), ("Device", self.device), ("ShareID", self.share)];
        let parts = parts.map(|(name, value)| format!("\"{name}\":{}", json!(value)));
        format!("{{{}}}", parts.join(","))
    }
}

/// Removes the status of devices that were allocated and are not any more.
pub(super) fn drop_deallocated_devices(new: &mut Object, old: &Object) {
    let results = |object: &'_ Object| -> Vec<Value> {
        let path = ["status", "allocation", "devices", "results"];
        object.get(&path).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (before, after) = (results(old), results(new));
    let kept: HashSet<_> = after.iter().map(DeviceId::from_value).collect();
    let gone: HashSet<_> = before.iter().map(DeviceId::from_value).filter(|id| !kept.contains(id)).collect();
    let Some(status) = new.0.get_mut("status").and_then(Value::as_object_mut) else { return };
    let Some(devices) = status.get_mut("devices").and_then(Value::as_array_mut) else { return };
    devices.retain(|device| !gone.contains(&DeviceId::from_value(device)));
    if devices.is_empty() {
        status.remove("devices");
    }
}

/// Checks a change of a claim's status.
pub(super) fn check_status(new: &Object, old: &Object, errors: &mut ErrorList) {
    let status = Field::top_level(new, "status");
    let before = Field::top_level(old, "status");
    let spec = Field::top_level(new, "spec");
    let allocation = status.get("allocation");
    let users = status.get("reservedFor");
    if users.check_count(MAX_USERS, errors) {
        for user in users.elements() {
            for field in ["resource", "name", "uid"] {
                user.get(field).check_present(errors);
            }
        }
        users.check_unique(
            |user| user.get("uid").text(),
            |user| FieldError::duplicate(user.path(), user.get("uid").text()),
            errors,
        );
    }
    check_devices(&status, errors);
    if !users.is_empty() {
        if !allocation.exists() {
            errors.push(users.forbidden("may not be specified when `allocated` is not set"));
        } else if new.deletion_timestamp().is_some() && has_new_user(&users, &before.get("reservedFor")) {
            errors.push(users.forbidden(
                "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
            ));
        }
    }
    let allocated_before = before.get("allocation");
    match (allocated_before.exists(), allocation.exists()) {
        (true, true) => {
            allocation.check_immutable_as("<resource.AllocationResult>", &allocated_before, errors);
        }
        (false, true) => {
            let names = requests::RequestNames::from_devices(&spec.get("devices"));
            check_allocation(&allocation, &names, errors);
        }
        _ => {}
    }
}

fn has_new_user(users: &Field<'_, '_>, before: &Field<'_, '_>) -> bool {
    let key = |user: &Field<'_, '_>| {
        let text = |name: &str| user.get(name).text().to_owned();
        (text("apiGroup"), text("resource"), text("name"), text("uid"))
    };
    let known: HashSet<_> = before.elements().map(|user| key(&user)).collect();
    users.elements().any(|user| !known.contains(&key(&user)))
}

// === allocations ===

fn check_allocation(allocation: &Field<'_, '_>, names: &requests::RequestNames<'_>, errors: &mut ErrorList) {
    let devices = allocation.get("devices");
    let results = devices.get("results");
    if results.check_count(MAX_RESULTS, errors) {
        for result in results.elements() {
            names.check_reference(&result.get("request"), errors);
            check_identity(&result, errors);
            taints::check_binding_conditions(&result, errors);
            check_share(&result.get("shareID"), errors);
        }
    }
    let configurations = devices.get("config");
    if configurations.check_count(2 * requests::MAX_CONFIGURATIONS, errors) {
        for configuration in configurations.elements() {
            configuration.get("source").check_word(&["FromClaim", "FromClass"], errors);
            names.check_references(&configuration.get("requests"), errors);
            requests::check_configuration(&configuration, false, errors);
        }
    }
    let selector = allocation.get("nodeSelector");
    if selector.exists() {
        node_selector::check(&selector.view(), errors);
    }
}

fn check_identity(device: &Field<'_, '_>, errors: &mut ErrorList) {
    device_names::check_driver(&device.get("driver"), errors);
    device_names::check_pool(&device.get("pool"), errors);
    device.get("device").check(names::dns_label, errors);
}

fn check_share(share: &Field<'_, '_>, errors: &mut ErrorList) {
    if share.exists() {
        device_names::check_uid(share, errors);
    }
}

// === devices ===

fn check_devices(status: &Field<'_, '_>, errors: &mut ErrorList) {
    let allocation = status.get("allocation");
    let results = allocation.get("devices");
    let results = results.get("results");
    let allocated: HashSet<_> = results.elements().map(|result| DeviceId::from_field(&result)).collect();
    let devices = status.get("devices");
    for device in devices.elements() {
        check_identity(&device, errors);
        check_share(&device.get("shareID"), errors);
        let id = DeviceId::from_field(&device);
        if !allocated.contains(&id) {
            errors.push(device.invalid("must be an allocated device in the claim").shown_as(id.shown()));
        }
        let its_conditions = device.get("conditions");
        its_conditions.check_count(MAX_CONDITIONS, errors);
        conditions::check(&its_conditions, errors);
        let data = device.get("data");
        if data.exists() {
            requests::check_raw_object(&data, MAX_DATA_BYTES, errors);
        }
        check_network(&device.get("networkData"), errors);
    }
    devices.check_unique(
        DeviceId::from_field,
        |device| device.duplicate().shown_as(DeviceId::from_field(device).shown()),
        errors,
    );
}

fn check_network(network: &Field<'_, '_>, errors: &mut ErrorList) {
    network.get("interfaceName").check_length(MAX_INTERFACE_BYTES, errors);
    network.get("hardwareAddress").check_length(MAX_HARDWARE_ADDRESS_BYTES, errors);
    let addresses = network.get("ips");
    if addresses.check_count(MAX_ADDRESSES, errors) {
        for element in addresses.elements() {
            address::check_interface_address(&element, errors);
        }
        addresses.check_unique_texts(errors);
    }
}
