//! Rules of ResourceSlices.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object, time};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::api::core::node_selector;
use crate::api::resource::{devices, names as device_names};
use crate::support::defaulting::{self, Fields};
use crate::support::field::{Field, ShownAsGo as _};

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
        check_spec(&Field::top_level(object, "spec"), None, &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&Field::top_level(new, "spec"), Some(&Field::top_level(old, "spec")), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let driver = object.get_str(&["spec", "driver"]).unwrap_or_default();
        if driver.to_lowercase() == driver {
            return Vec::new();
        }
        let warning = "driver names should be lowercase";
        vec![format!("spec.driver: {warning}; {driver:?} contains uppercase characters")]
    }

    fn warnings_on_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        self.warnings_on_create(context, new)
    }
}

// === fields of features that are off ===

/// The attributes of several values, which are an alpha feature.
const LISTS: [&str; 4] = ["bools", "ints", "strings", "versions"];
/// The node's own resources that a device stands for, which are an alpha feature.
const MAPPINGS: &str = "nodeAllocatableResourceMappings";

fn drop_disabled_fields(object: &mut Object, old: Option<&Object>) {
    let uses = |test: &dyn Fn(&Value) -> bool| {
        let devices = old.and_then(|old| old.get(&["spec", "devices"])).and_then(Value::as_array);
        devices.into_iter().flatten().any(test)
    };
    let keeps_lists = uses(&|device| {
        let attributes = device.get("attributes").and_then(Value::as_object).into_iter().flatten();
        attributes.into_iter().any(|(_, attribute)| LISTS.iter().any(|list| attribute.get(list).is_some()))
    });
    let keeps_mappings = uses(&|device| device.get(MAPPINGS).is_some());
    let drop = |device: &mut Fields| {
        if !keeps_mappings {
            device.remove(MAPPINGS);
        }
        let attributes = device.get_mut("attributes").and_then(Value::as_object_mut);
        for attribute in attributes.into_iter().flat_map(Fields::values_mut).filter(|_| !keeps_lists) {
            if let Some(attribute) = attribute.as_object_mut() {
                attribute.retain(|name, _| !LISTS.contains(&name.as_str()));
            }
        }
    };
    defaulting::with_at(object, &["spec"], |spec| defaulting::each(spec, &["devices"], drop));
}

// === validation ===

fn check_spec(spec: &Field<'_, '_>, old: Option<&Field<'_, '_>>, errors: &mut ErrorList) {
    let driver = spec.get("driver");
    device_names::check_driver(&driver, errors);
    let pool = spec.get("pool");
    device_names::check_pool(&pool.get("name"), errors);
    pool.get("resourceSliceCount").check_positive(errors);
    let generation = pool.get("generation");
    if generation.number() < 0 {
        errors.push(generation.invalid("must be greater than or equal to zero"));
    }
    if let Some(old) = old {
        pool.get("name").check_immutable(&old.get("pool").get("name"), errors);
        for field in ["driver", "nodeName"] {
            spec.get(field).check_immutable(&old.get(field), errors);
        }
    }
    check_place(spec, errors);
    if spec.get("sharedCounters").exists() && spec.get("devices").exists() {
        let detail = "only one of `sharedCounters` or `devices` is allowed";
        errors.push(FieldError::invalid(spec.path(), "", detail));
    }
    devices::check(spec, old, errors);
    devices::check_shared_counters(&spec.get("sharedCounters"), errors);
}

/// Checks which nodes have the devices.
fn check_place(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut set = Vec::new();
    let name = spec.get("nodeName");
    if name.exists() {
        if name.text().is_empty() {
            errors.push(name.invalid("must be either unset or set to a non-empty string"));
        } else {
            set.push("`nodeName`");
            name.check(names::dns_subdomain, errors);
        }
    }
    let selector = spec.get("nodeSelector");
    if selector.exists() {
        set.push("`nodeSelector`");
        node_selector::check(&selector.view(), errors);
        let terms = selector.get("nodeSelectorTerms");
        if terms.len() != 1 {
            errors.push(
                terms.invalid_as("[<core.NodeSelectorTerm>", "must have exactly one node selector term"),
            );
        }
    }
    for (field, shown) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")]
    {
        let field = spec.get(field);
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
