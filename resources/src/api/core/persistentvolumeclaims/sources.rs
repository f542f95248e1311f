//! The two fields that name what a claim is filled from.

use registry_core::api::Object;
use resource_views::Typed as _;
use resource_views::core::v1::{PersistentVolumeClaim, TypedLocalObjectReference};
use serde_json::Value;

const SOURCE: [&str; 2] = ["spec", "dataSource"];
const REFERENCE: [&str; 2] = ["spec", "dataSourceRef"];

/// Drops sources that cannot be used, and fills the older and the newer field from each other.
pub(super) fn normalize(claim: &mut Object, old: Option<&Object>) {
    let had_reference = old.is_some_and(|old| old.get(&REFERENCE).is_some());
    let had_source = had_reference || old.is_some_and(|old| old.get(&SOURCE).is_some());
    // References to other namespaces are an alpha feature.
    if !had_reference && has_namespace(claim) {
        claim.remove(&REFERENCE);
    }
    let is_unknown = claim.get(&SOURCE).is_some_and(|source| !is_known(source));
    if !had_source && claim.get(&REFERENCE).is_none() && is_unknown {
        claim.remove(&SOURCE);
    }
    complete(claim);
}

/// Fills the older and the newer field from each other.
pub(super) fn complete(claim: &mut Object) {
    match (claim.get(&SOURCE).cloned(), claim.get(&REFERENCE).cloned()) {
        (Some(source), None) => claim.set(&REFERENCE, source),
        (None, Some(mut reference)) if !has_namespace(claim) => {
            if let Some(fields) = reference.as_object_mut() {
                fields.remove("namespace");
            }
            claim.set(&SOURCE, reference);
        }
        _ => {}
    }
}

fn has_namespace(claim: &Object) -> bool {
    !PersistentVolumeClaim(claim).spec().data_source_ref().namespace().text().is_empty()
}

fn is_known(source: &Value) -> bool {
    let source = TypedLocalObjectReference::from_value(source);
    matches!(
        (source.api_group().text(), source.kind().text()),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}
