//! Rules of ResourceSlices.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object, time};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::resource::v1::{ResourceSlice, ResourceSliceSpec};

use crate::api::core::node_selector;
use crate::api::resource::{devices, names as device_names};
use crate::support::defaulting;
use crate::support::field::ShownAsGo as _;

const ONE_PLACE: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/// The fields of `DRANodeAllocatableResources` and `DRAListTypeAttributes`.
const UNSUPPORTED: [&str; 5] = [
    "spec.devices.*.nodeAllocatableResourceMappings",
    "spec.devices.*.attributes.*.bools",
    "spec.devices.*.attributes.*.ints",
    "spec.devices.*.attributes.*.strings",
    "spec.devices.*.attributes.*.versions",
];

/// Validation of the pool and the devices; driver, pool and node are immutable.
pub(super) struct ResourceSliceStrategy;

impl ObjectStrategy for ResourceSliceStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        UNSUPPORTED.map(GatedField::unsupported).into()
    }

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
