//! Devices of a slice.

use std::collections::HashMap;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::resource::v1::{
    Counter, CounterSet, Device, DeviceAttribute, DeviceCounterConsumption, ResourceSliceSpec,
};
use resource_views::{List, Map};
use serde_json::Value;

use super::{capacity, names as device_names, taints};
use crate::api::core::node_selector;
use crate::support::field::ShownAsGo as _;
use crate::support::semantic;

/// Maximum number of devices in a slice.
const MAX_DEVICES: usize = 128;
/// Maximum number of devices in a slice if one has taints, or consumes counters.
const MAX_ADVANCED_DEVICES: usize = 64;
/// Maximum number of attributes and capacities of a device.
const MAX_PROPERTIES: usize = 32;
/// Maximum number of values of attributes of a device.
const MAX_ATTRIBUTE_VALUES: usize = 48;
/// Maximum length of the value of an attribute, in bytes.
const MAX_VALUE_BYTES: usize = 64;
/// Maximum number of sets of counters of a slice.
const MAX_COUNTER_SETS: usize = 8;
/// Maximum number of counters of a set, and of counters of a set that a device consumes.
const MAX_COUNTERS: usize = 32;
/// Maximum number of sets of counters that a device consumes.
const MAX_CONSUMPTIONS: usize = 2;

const ONE_PLACE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
const NO_PLACE: &str = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
const ONE_VALUE: &str = "exactly one value must be specified";

/// Checks the devices of a slice. Taints that a device had before are not checked again.
pub(super) fn check(
    spec: &ResourceSliceSpec<'_, '_>,
    old: Option<&ResourceSliceSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    let devices = spec.devices();
    let is_advanced = devices
        .elements()
        .any(|device| !device.taints().is_empty() || !device.consumes_counters().is_empty());
    if !devices.check_count(if is_advanced { MAX_ADVANCED_DEVICES } else { MAX_DEVICES }, errors) {
        return;
    }
    let known = old.map(taints_by_device).unwrap_or_default();
    let per_device = spec.per_device_node_selection().is_true();
    for device in devices.elements() {
        let before = known.get(device.name().text());
        let keeps_taints = before.is_some_and(|known| semantic::equal(*known, device.taints().value()));
        check_device(&device, per_device, keeps_taints, errors);
    }
    devices.check_unique(
        |device| device.name().text(),
        |device| FieldError::duplicate(device.path(), device.name().text()),
        errors,
    );
}

/// Returns the taints of the first device of each name.
fn taints_by_device<'v>(spec: &ResourceSliceSpec<'v, '_>) -> HashMap<&'v str, Option<&'v Value>> {
    let mut known = HashMap::new();
    for device in spec.devices().elements() {
        known.entry(device.name().text()).or_insert(device.taints().value());
    }
    known
}

fn check_device(device: &Device<'_, '_>, per_device: bool, keeps_taints: bool, errors: &mut ErrorList) {
    device.name().check(names::dns_label, errors);
    let attributes = device.attributes();
    let capacities = device.capacity();
    let count = attributes.len() + capacities.len();
    if count > MAX_PROPERTIES {
        let detail =
            format!("the total number of attributes and capacities must not exceed {MAX_PROPERTIES}");
        errors.push(FieldError::invalid(device.path(), count, detail));
    }
    if attributes.len() > MAX_ATTRIBUTE_VALUES {
        let detail = format!("the total number of attribute values must not exceed {MAX_ATTRIBUTE_VALUES}");
        errors.push(FieldError::invalid(device.path(), attributes.len(), detail));
    }
    for (name, _) in attributes.entries() {
        let shown = device_names::shown_key(name, device_names::MAX_SHOWN_NAME_BYTES);
        device_names::check_qualified(&attributes.path(), name, errors);
        check_attribute(&attributes.entry_named(name, &shown), errors);
    }
    let is_shared = device.allow_multiple_allocations().is_true();
    for (name, _) in capacities.entries() {
        let shown = device_names::shown_key(name, device_names::MAX_SHOWN_NAME_BYTES);
        device_names::check_qualified(&capacities.path(), name, errors);
        capacity::check(&capacities.entry_named(name, &shown), is_shared, errors);
    }
    if !keeps_taints {
        taints::check_taints(&device.taints(), errors);
    }
    check_consumptions(&device.consumes_counters(), errors);
    check_place(device, per_device, errors);
    taints::check_binding_conditions(
        &device.binding_conditions(),
        &device.binding_failure_conditions(),
        errors,
    );
}

// === attributes ===

fn check_attribute(attribute: &DeviceAttribute<'_, '_>, errors: &mut ErrorList) {
    let text = attribute.string();
    let version = attribute.version();
    text.check_length(MAX_VALUE_BYTES, errors);
    if version.exists() {
        if !is_semantic_version(version.text()) {
            errors.push(version.invalid("must be a string compatible with semver.org spec 2.0.0"));
        }
        version.check_length(MAX_VALUE_BYTES, errors);
    }
    let fields = [*attribute.bool(), *attribute.int(), *text, *version];
    match fields.iter().filter(|field| field.exists()).count() {
        0 => errors.push(FieldError::invalid(attribute.path(), "", ONE_VALUE)),
        1 => {}
        _ => errors.push(attribute.invalid_as("<resource.DeviceAttribute>", ONE_VALUE)),
    }
}

/// Whether a text is a version as semver.org defines it.
fn is_semantic_version(text: &str) -> bool {
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_release_part = |part: &str| {
        is_identifier(part) && (is_number(part) || !part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
    let (numbers, release) = rest.split_once('-').map_or((rest, None), |(rest, part)| (rest, Some(part)));
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && release.is_none_or(|release| release.split('.').all(is_release_part))
        && build.is_none_or(|build| build.split('.').all(is_identifier))
}

// === counters ===

/// Checks the sets of counters that devices of the pool share.
pub(super) fn check_shared_counters(sets: &List<CounterSet<'_, '_>>, errors: &mut ErrorList) {
    if !sets.check_count(MAX_COUNTER_SETS, errors) {
        return;
    }
    for set in sets.elements() {
        set.name().check_named(names::dns_label, errors);
        check_counters(&set.counters(), errors);
    }
    sets.check_unique(
        |set| set.name().text(),
        |set| FieldError::duplicate(set.path(), set.name().text()),
        errors,
    );
}

fn check_consumptions(consumptions: &List<DeviceCounterConsumption<'_, '_>>, errors: &mut ErrorList) {
    if !consumptions.check_count(MAX_CONSUMPTIONS, errors) {
        return;
    }
    for consumption in consumptions.elements() {
        consumption.counter_set().check_named(names::dns_label, errors);
        check_counters(&consumption.counters(), errors);
    }
    consumptions.check_unique(
        |consumption| consumption.counter_set().text(),
        |consumption| FieldError::duplicate(consumption.path(), consumption.counter_set().text()),
        errors,
    );
}

fn check_counters(counters: &Map<Counter<'_, '_>>, errors: &mut ErrorList) {
    if counters.is_empty() {
        errors.push(counters.required(""));
    } else if counters.check_count(MAX_COUNTERS, errors) {
        for (name, _) in counters.entries() {
            for complaint in names::dns_label(name) {
                errors.push(FieldError::invalid(counters.path(), name, complaint));
            }
        }
    }
}

// === places ===

/// Checks which nodes have a device, if the slice says it for each.
fn check_place(device: &Device<'_, '_>, per_device: bool, errors: &mut ErrorList) {
    let name = device.node_name();
    let selector = device.node_selector();
    let all = device.all_nodes();
    if !per_device {
        if name.exists() || selector.exists() || all.exists() {
            errors.push(FieldError::invalid(device.path(), Value::Null, NO_PLACE));
        }
        return;
    }
    let mut set = Vec::new();
    if name.exists() {
        if name.text().is_empty() {
            errors.push(name.invalid("must not be empty"));
        } else {
            set.push("`nodeName`");
            name.check(names::dns_subdomain, errors);
        }
    }
    if selector.exists() {
        set.push("`nodeSelector`");
        node_selector::check(&selector, errors);
    }
    if all.exists() {
        if all.is_true() {
            set.push("`allNodes`");
        } else {
            errors.push(all.invalid("must be either unset or set to true"));
        }
    }
    match set.len() {
        0 => errors.push(device.required(ONE_PLACE)),
        1 => {}
        _ => errors.push(FieldError::invalid(device.path(), format!("{{{}}}", set.join(", ")), ONE_PLACE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_follow_their_specification() {
        for good in ["0.0.0", "1.2.3", "1.2.3-alpha.1", "1.2.3-0a", "1.2.3+build.01", "1.2.3-a-b+c-d"] {
            assert!(is_semantic_version(good), "{good}");
        }
        for bad in
            ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.3-a..b", "1.2.3 "]
        {
            assert!(!is_semantic_version(bad), "{bad}");
        }
    }
}
