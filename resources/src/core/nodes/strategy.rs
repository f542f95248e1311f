//! Rules of nodes.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use crate::core::address;
use crate::support::defaulting::is_empty_at;
use crate::support::field::Field;
use crate::support::go_text::{GoShape, OPTIONAL, TEXT};

/// Fields of the former dynamic kubelet configuration: existing values are kept, new ones are refused.
const KUBELET_CONFIG: [[&str; 2]; 2] = [["spec", "configSource"], ["status", "config"]];
/// The form of a taint in messages.
const TAINT: GoShape = GoShape::Struct(&[
    ("Key", "key", TEXT),
    ("Value", "value", TEXT),
    ("Effect", "effect", TEXT),
    ("TimeAdded", "timeAdded", OPTIONAL),
]);
const CIDRS: [&str; 2] = ["spec", "podCIDRs"];

/// Pod CIDRs are immutable once set; taints are unique.
pub(super) struct NodeStrategy;

impl ObjectStrategy for NodeStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        // If both fields are set, the older one, with a single value, takes precedence.
        if let Some(cidr) = object.get_str(&["spec", "podCIDR"]).filter(|cidr| !cidr.is_empty()) {
            let first = object.get(&CIDRS).and_then(|cidrs| cidrs.get(0)).and_then(Value::as_str);
            if first != Some(cidr) {
                let only = json!([cidr]);
                object.set(&CIDRS, only);
            }
        }
        if !is_empty_at(object, &["status", "capacity"]) && is_empty_at(object, &["status", "allocatable"]) {
            let capacity = object.get(&["status", "capacity"]).cloned().unwrap_or_default();
            object.set(&["status", "allocatable"], capacity);
        }
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        for field in KUBELET_CONFIG {
            object.remove(&field);
        }
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        for field in KUBELET_CONFIG {
            if old.get(&field).is_none() {
                new.remove(&field);
            }
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let cidrs = spec.get("podCIDRs");
        for cidr in cidrs.elements() {
            address::check_network(&cidr, &mut errors);
        }
        check_taints(&spec.get("taints"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        if !is_empty_at(old, &CIDRS) && new.get(&CIDRS) != old.get(&CIDRS) {
            let path = FieldPath::new("spec").child("podCIDRs");
            let detail = "node updates may not change podCIDR except from \"\" to valid";
            errors.push(FieldError::forbidden(path, detail));
        }
        let provider = ["spec", "providerID"];
        if !is_empty_at(old, &provider) && new.get(&provider) != old.get(&provider) {
            let path = FieldPath::new("spec").child("providerID");
            let detail = "node updates may not change providerID except from \"\" to valid";
            errors.push(FieldError::forbidden(path, detail));
        }
        errors
    }

    fn keeps_status_on_create(&self) -> bool {
        true
    }
}

fn check_taints(taints: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    for (place, taint) in taints.elements().enumerate() {
        let key = taint.get("key");
        let effect = taint.get("effect");
        key.check(names::qualified_name, errors);
        taint.get("value").check(names::label_value, errors);
        let accepted = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if effect.text().is_empty() {
            errors.push(effect.required(""));
        } else {
            effect.check_one_of(&accepted, errors);
        }
        if !seen.insert((key.text(), effect.text())) {
            // The error's path is the former location of taints.
            let path = FieldPath::new("metadata").child("taints").index(place);
            let error = FieldError::duplicate(path, taint.value().cloned().unwrap_or_default());
            let detail = "taints must be unique by key and effect pair";
            errors.push(error.detailed(detail).shown_as(taint.go_text(TAINT)));
        }
    }
}
