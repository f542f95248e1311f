//! The status of claims: the devices that were allocated, who uses them, and how they are.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use resource_views::alike::AnyAllocatedDevice;
use resource_views::resource::v1::{
    AllocatedDeviceStatus, AllocationResult, NetworkDeviceData, ResourceClaim,
    ResourceClaimConsumerReference, ResourceClaimMut, ResourceClaimStatus,
};
use resource_views::{List, Text, Typed as _};
use serde_json::json;

use super::{names as device_names, requests, taints};
use crate::api::core::node_selector;
use crate::support::address;
use crate::support::conditions;
use crate::support::field::ShownAsGo as _;

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
    pub(super) fn new<'p>(device: impl Into<AnyAllocatedDevice<'v, 'p>>) -> Self
    where
        'v: 'p,
    {
        let device = device.into();
        Self {
            driver: device.driver().text(),
            pool: device.pool().text(),
            device: device.device().text(),
            share: device.share_id().text(),
        }
    }

    /// Returns the identifier as messages show it.
    fn shown(&self) -> String {
        let parts =
            [("Driver", self.driver), ("Pool", self.pool), ("Device", self.device), ("ShareID", self.share)];
        let parts = parts.map(|(name, value)| format!("\"{name}\":{}", json!(value)));
        format!("{{{}}}", parts.join(","))
    }
}

/// Returns the allocated devices of a claim.
fn allocated<'v>(status: &ResourceClaimStatus<'v, '_>) -> HashSet<DeviceId<'v>> {
    let allocation = status.allocation();
    allocation.devices().results().elements().map(DeviceId::new).collect()
}

/// Removes the status of devices that were allocated and are not any more.
pub(super) fn drop_deallocated_devices(new: &mut Object, old: &Object) {
    let mut gone = allocated(&ResourceClaim(old).status());
    let kept = allocated(&ResourceClaim(new).status());
    gone.retain(|device| !kept.contains(device));
    let Some(mut status) = ResourceClaimMut(new).status().present() else { return };
    status.devices().retain(|device| !gone.contains(&DeviceId::new(AllocatedDeviceStatus::typed(*device))));
    if status.devices().is_empty() {
        status.devices().remove();
    }
}

/// Checks a change of a claim's status.
pub(super) fn check_status(new: &Object, old: &Object, errors: &mut ErrorList) {
    let status = ResourceClaim(new).status();
    let before = ResourceClaim(old).status();
    let spec = ResourceClaim(new).spec();
    let allocation = status.allocation();
    let users = status.reserved_for();
    if users.check_count(MAX_USERS, errors) {
        for user in users.elements() {
            for field in [user.resource(), user.name(), user.uid()] {
                field.check_present(errors);
            }
        }
        users.check_unique(
            |user| user.uid().text(),
            |user| FieldError::duplicate(user.path(), user.uid().text()),
            errors,
        );
    }
    check_devices(&status, errors);
    if !users.is_empty() {
        if !allocation.exists() {
            errors.push(users.forbidden("may not be specified when `allocated` is not set"));
        } else if new.deletion_timestamp().is_some() && has_new_user(&users, &before.reserved_for()) {
            errors.push(users.forbidden(
                "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
            ));
        }
    }
    let allocated_before = before.allocation();
    match (allocated_before.exists(), allocation.exists()) {
        (true, true) => {
            allocation.check_immutable_as("<resource.AllocationResult>", &allocated_before, errors);
        }
        (false, true) => {
            let names = requests::RequestNames::from_devices(&spec.devices());
            check_allocation(&allocation, &names, errors);
        }
        _ => {}
    }
}

fn has_new_user(
    users: &List<ResourceClaimConsumerReference<'_, '_>>,
    before: &List<ResourceClaimConsumerReference<'_, '_>>,
) -> bool {
    let key = |user: &ResourceClaimConsumerReference<'_, '_>| {
        let fields = [user.api_group(), user.resource(), user.name(), user.uid()];
        fields.map(|field| field.text().to_owned())
    };
    let known: HashSet<_> = before.elements().map(|user| key(&user)).collect();
    users.elements().any(|user| !known.contains(&key(&user)))
}

// === allocations ===

fn check_allocation(
    allocation: &AllocationResult<'_, '_>,
    names: &requests::RequestNames<'_>,
    errors: &mut ErrorList,
) {
    let devices = allocation.devices();
    let results = devices.results();
    if results.check_count(MAX_RESULTS, errors) {
        for result in results.elements() {
            names.check_reference(&result.request(), errors);
            check_identity(&result.into(), errors);
            taints::check_binding_conditions(
                &result.binding_conditions(),
                &result.binding_failure_conditions(),
                errors,
            );
            check_share(&result.share_id(), errors);
        }
    }
    let configurations = devices.config();
    if configurations.check_count(2 * requests::MAX_CONFIGURATIONS, errors) {
        for configuration in configurations.elements() {
            configuration.source().check_word(&["FromClaim", "FromClass"], errors);
            names.check_references(&configuration.requests(), errors);
            requests::check_configuration(&configuration.into(), false, errors);
        }
    }
    let selector = allocation.node_selector();
    if selector.exists() {
        node_selector::check(&selector, errors);
    }
}

fn check_identity(device: &AnyAllocatedDevice<'_, '_>, errors: &mut ErrorList) {
    device_names::check_driver(&device.driver(), errors);
    device_names::check_pool(&device.pool(), errors);
    device.device().check(names::dns_label, errors);
}

fn check_share(share: &Text<'_, '_>, errors: &mut ErrorList) {
    if share.exists() {
        device_names::check_uid(share, errors);
    }
}

// === devices ===

fn check_devices(status: &ResourceClaimStatus<'_, '_>, errors: &mut ErrorList) {
    let allocated = allocated(status);
    let devices = status.devices();
    for device in devices.elements() {
        check_identity(&device.into(), errors);
        check_share(&device.share_id(), errors);
        let id = DeviceId::new(device);
        if !allocated.contains(&id) {
            errors.push(device.invalid("must be an allocated device in the claim").shown_as(id.shown()));
        }
        let its_conditions = device.conditions();
        its_conditions.check_count(MAX_CONDITIONS, errors);
        conditions::check(&its_conditions, errors);
        let data = device.data();
        if data.exists() {
            requests::check_raw_object(&data, MAX_DATA_BYTES, errors);
        }
        check_network(&device.network_data(), errors);
    }
    devices.check_unique(
        |device| DeviceId::new(*device),
        |device| device.duplicate().shown_as(DeviceId::new(*device).shown()),
        errors,
    );
}

fn check_network(network: &NetworkDeviceData<'_, '_>, errors: &mut ErrorList) {
    network.interface_name().check_length(MAX_INTERFACE_BYTES, errors);
    network.hardware_address().check_length(MAX_HARDWARE_ADDRESS_BYTES, errors);
    let addresses = network.ips();
    if addresses.check_count(MAX_ADDRESSES, errors) {
        for element in addresses.elements() {
            address::check_interface_address(&element, errors);
        }
        addresses.check_unique_texts(errors);
    }
}
