//! Rules of nodes.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::core::v1::{Node, NodeMut};
use serde_json::{Value, json};

use super::validation;
use crate::support::address;
use crate::support::defaulting::is_empty_at;
use crate::support::resource_list::round_up;

/// Fields of the former dynamic kubelet configuration: existing values are kept, new ones are refused.
const KUBELET_CONFIG: [[&str; 2]; 2] = [["spec", "configSource"], ["status", "config"]];
const CIDRS: [&str; 2] = ["spec", "podCIDRs"];

/// Pod CIDRs are immutable once set; taints are unique.
pub(super) struct NodeStrategy;

impl ObjectStrategy for NodeStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        vec![GatedField::new(Feature::NodeDeclaredFeatures, "status.declaredFeatures")]
    }

    fn apply_defaults(&self, object: &mut Object) {
        // If both fields are set, the older one, with a single value, takes precedence.
        if let Some(cidr) = Node(object).spec().pod_cidr().optional_text().filter(|cidr| !cidr.is_empty()) {
            let first = object.get(&CIDRS).and_then(|cidrs| cidrs.get(0)).and_then(Value::as_str);
            if first != Some(cidr) {
                let only = json!([cidr]);
                object.set(&CIDRS, only);
            }
        }
        if !is_empty_at(object, &["status", "capacity"]) && is_empty_at(object, &["status", "allocatable"]) {
            let capacity = Node(object).status().capacity().value().cloned().unwrap_or_default();
            object.set(&["status", "allocatable"], capacity);
        }
        NodeMut(object).status().edit(|mut status| {
            round_up(status.capacity());
            round_up(status.allocatable());
        });
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
        validation::check_common(object, &mut errors);
        validation::check_swap(object, &mut errors);
        validation::check_networks(&Node(object).spec().pod_cidrs(), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        // Kubernetes checks a node with the object and again with the update.
        validation::check_common(new, &mut errors);
        validation::check_change(new, old, &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_common(new, &mut errors);
        validation::check_change(new, old, &mut errors);
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings(object)
    }

    fn keeps_status_on_create(&self) -> bool {
        true
    }
}

fn warnings(node: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = Node(node).spec();
    if spec.config_source().exists() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if !spec.external_id().text().is_empty() {
        let warning = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
        warnings.push(warning.to_owned());
    }
    for network in spec.pod_cidrs().elements() {
        address::warn_of_network(&network.path(), network.text(), &mut warnings);
    }
    warnings
}
