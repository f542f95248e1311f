//! Rules of ResourceSlices.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object, time};
use registry_core::resource::ObjectStrategy;
use resource_views::resource::v1::{Device, ResourceSlice, ResourceSliceMut, ResourceSliceSpec};

use crate::api::core::node_selector;
use crate::api::resource::{devices, names as device_names};
use crate::support::defaulting;
use crate::support::field::ShownAsGo as _;

const ONE_PLACE: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/// Validation of the pool and the devices; driver, pool and node are immutable.
pub(super) struct ResourceSliceStrategy;

impl ObjectStrategy for ResourceSliceStrategy {
    fn unknown_field_label(&self, label: &str) -> String {
        format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}")
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec"], |spec| {
            defaulting::each(spec, &["devices"], |device| {
                defaulting::each(device, &["taints"], |taint| {
                    defaulting::fill(taint, "timeAdded", time::now());
                });
            });
        });
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        drop_disabled_fields(object, None);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        drop_disabled_fields(new, Some(old));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&ResourceSlice(object).spec(), None, &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&ResourceSlice(new).spec(), Some(&ResourceSlice(old).spec()), &mut errors);
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let driver = ResourceSlice(object).spec().driver().text();
        if driver.to_lowercase() == driver {
            return Vec::new();
        }
        let warning = "driver names should be lowercase";
        vec![format!("spec.driver: {warning}; {driver:?} contains uppercase characters")]
    }
}

// === fields of features that are off ===

fn drop_disabled_fields(object: &mut Object, old: Option<&Object>) {
    let before = old.map(|old| ResourceSlice(old).spec());
    let devices = before.as_ref().map(ResourceSliceSpec::devices);
    let has_lists = |device: Device<'_, '_>| {
        device.attributes().entries().any(|(_, attribute)| {
            attribute.bools().exists()
                || attribute.ints().exists()
                || attribute.strings().exists()
                || attribute.versions().exists()
        })
    };
    let has_mappings = |device: Device<'_, '_>| device.node_allocatable_resource_mappings().exists();
    let keeps_lists = devices.is_some_and(|devices| devices.elements().any(has_lists));
    let keeps_mappings = devices.is_some_and(|devices| devices.elements().any(has_mappings));
    let Some(mut spec) = ResourceSliceMut(object).spec().present() else { return };
    for mut device in spec.devices().elements() {
        if !keeps_mappings {
            device.node_allocatable_resource_mappings().remove();
        }
        for mut attribute in device.attributes().values().filter(|_| !keeps_lists) {
            attribute.bools().remove();
            attribute.ints().remove();
            attribute.strings().remove();
            attribute.versions().remove();
        }
    }
}

// === validation ===

fn check_spec(
    spec: &ResourceSliceSpec<'_, '_>,
    old: Option<&ResourceSliceSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    let driver = spec.driver();
    device_names::check_driver(&driver, errors);
    let pool = spec.pool();
    device_names::check_pool(&pool.name(), errors);
    pool.resource_slice_count().check_positive(errors);
    let generation = pool.generation();
    if generation.number() < 0 {
        errors.push(generation.invalid("must be greater than or equal to zero"));
    }
    if let Some(old) = old {
        pool.name().check_immutable(&old.pool().name(), errors);
        driver.check_immutable(&old.driver(), errors);
        spec.node_name().check_immutable(&old.node_name(), errors);
    }
    check_place(spec, errors);
    if spec.shared_counters().exists() && spec.devices().exists() {
        let detail = "only one of `sharedCounters` or `devices` is allowed";
        errors.push(FieldError::invalid(spec.path(), "", detail));
    }
    devices::check(spec, old, errors);
    devices::check_shared_counters(&spec.shared_counters(), errors);
}

/// Checks which nodes have the devices.
fn check_place(spec: &ResourceSliceSpec<'_, '_>, errors: &mut ErrorList) {
    let mut set = Vec::new();
    let name = spec.node_name();
    if name.exists() {
        if name.text().is_empty() {
            errors.push(name.invalid("must be either unset or set to a non-empty string"));
        } else {
            set.push("`nodeName`");
            name.check(names::dns_subdomain, errors);
        }
    }
    let selector = spec.node_selector();
    if selector.exists() {
        set.push("`nodeSelector`");
        node_selector::check(&selector, errors);
        let terms = selector.node_selector_terms();
        if terms.len() != 1 {
            errors.push(
                terms.invalid_as("[<core.NodeSelectorTerm>", "must have exactly one node selector term"),
            );
        }
    }
    for (field, shown) in
        [(spec.all_nodes(), "`allNodes`"), (spec.per_device_node_selection(), "`perDeviceNodeSelection`")]
    {
        if field.is_true() {
            set.push(shown);
        } else if field.exists() {
            errors.push(field.invalid("must be either unset or set to true"));
        }
    }
    match set.len() {
        0 => errors.push(spec.required(ONE_PLACE)),
        1 => {}
        _ => errors.push(FieldError::invalid(
            spec.path(),
            format!("{{{}}}", set.join(", ")),
            format!("{ONE_PLACE}, but multiple fields are set"),
        )),
    }
}
