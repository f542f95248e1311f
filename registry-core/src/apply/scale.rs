//! The managers of an object's replica count in its scale, and their conversion back.
//!
//! Kubernetes concept: `managedfields.ScaleHandler`.

use std::borrow::Cow;

use serde_json::Value;

use crate::api::Object;

use super::MANAGED_FIELDS;
use super::element::PathElement;
use super::fields_v1::WrittenSet;
use super::managers::{Entry, Manager, Managers};
use super::set::FieldSet;

/// Path of the replica count in a scale.
const REPLICAS: &[&str] = &["spec", "replicas"];

/// Returns `managedFields` of an object's scale: the managers of the replica count at `replicas`.
pub fn managers_of_scale(parent: &Object, replicas: &[&str], scale_api_version: &str) -> Option<Value> {
    let managers = Managers::stored(parent.get(MANAGED_FIELDS).map(Cow::Borrowed)).ok()?;
    let path = path_of(replicas);
    let owners = managers.0.into_iter().filter(|entry| entry.fields.has(&path));
    let entries = owners.map(|entry| Entry {
        manager: Manager { api_version: Cow::Borrowed(scale_api_version), ..entry.manager },
        fields: WrittenSet::from_set(&FieldSet::from_paths([REPLICAS])),
        ..entry
    });
    Managers(entries.collect()).write()
}

/// Returns `managedFields` of an object after its scale was changed: the managers of the replica count are exactly
/// those in the scale.
pub fn managers_of_parent(parent: &Object, replicas: &[&str], of_scale: Option<&Value>) -> Option<Value> {
    let api_version = parent.api_version();
    let before = parent.get(MANAGED_FIELDS);
    let managers = Managers::stored(before.map(Cow::Borrowed));
    let scale = of_scale.cloned().map_or_else(|| Ok(Managers::default()), Managers::claimed);
    let (Ok(managers), Ok(mut scale)) = (managers, scale) else { return before.cloned() };
    let path = path_of(replicas);
    let count = FieldSet::from_paths([replicas]);
    scale.0.retain(|entry| entry.fields.has(&path_of(REPLICAS)));
    let mut result = Managers::default();
    for mut entry in managers.0 {
        if entry.fields.has(&path) {
            let is_same = |other: &Entry<'_>| {
                let api_version = entry.manager.api_version.clone();
                Manager { api_version, ..other.manager.clone() }.is(&entry.manager)
            };
            let still = scale.0.iter().position(is_same);
            match still {
                Some(place) => {
                    scale.0.swap_remove(place);
                }
                None => entry.fields.subtract(&count),
            }
        }
        result.0.push(entry);
    }
    // Kubernetes does not set a time for managers that come from the scale.
    result.0.extend(scale.0.into_iter().map(|entry| Entry {
        manager: Manager { api_version: Cow::Borrowed(api_version), ..entry.manager },
        time: None,
        fields: WrittenSet::from_set(&count),
    }));
    result.drop_empty();
    result.write()
}

fn path_of<'a>(names: &[&'a str]) -> Vec<PathElement<'a>> {
    names.iter().map(|name| PathElement::field(name)).collect()
}
