//! Checks what a schema says about how lists and maps are merged.

use registry_core::context::Budget;
use std::collections::HashSet;

use serde_json::Value;

use super::super::findings::{Findings, Place};
use super::super::schema::{Items, Schema};
use super::Options;

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// Checks one schema, without those below it.
pub(super) fn check(schema: Schema<'_>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    if schema.get(MAP_TYPE).is_some() {
        check_kind(schema, "object", "must be object if x-kubernetes-map-type is specified", place, findings);
        let map_type = schema.text(MAP_TYPE);
        if !["atomic", "granular"].contains(&map_type) {
            findings.unsupported(&place.child(MAP_TYPE), map_type, &["atomic", "granular"]);
        }
    }
    let list_type = schema.get(LIST_TYPE).map(|_| schema.text(LIST_TYPE));
    if let Some(list_type) = list_type {
        if schema.kind() != "array" {
            let detail = "must be array if x-kubernetes-list-type is specified";
            check_kind(schema, "array", detail, place, findings);
        } else if options.sets_are_atomic {
            check_set(schema, place, findings);
        }
        if !["atomic", "set", "map"].contains(&list_type) {
            findings.unsupported(&place.child(LIST_TYPE), list_type, &["atomic", "set", "map"]);
        }
    }
    if schema.has(LIST_KEYS) && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => findings.required(&place.child(LIST_TYPE), detail),
            Some(other) => findings.invalid(&place.child(LIST_TYPE), other, detail),
        }
    }
    if list_type == Some("map") {
        check_keyed(schema, place, findings);
    }
    if options.keys_are_set {
        check_keys_set(schema, place, findings);
    }
}

/// Whether a schema describes a set whose elements are not atomic.
pub(super) fn is_set_of_divisible(schema: Schema<'_>) -> bool {
    schema.text(LIST_TYPE) == "set" && schema.item().is_some_and(|item| field_of_divisible(item).is_some())
}

/// Whether a schema describes a list whose keys may be unset, or whose elements may be null.
pub(super) fn has_unset_keys(schema: Schema<'_>) -> bool {
    let budget = Budget::unlimited();
    let mut findings = Findings::new(&budget);
    check_keys_set(schema, &Place::new("schema"), &mut findings);
    findings.len() > 0
}

fn check_kind(schema: Schema<'_>, kind: &str, detail: &str, place: &Place, findings: &mut Findings<'_>) {
    let place = place.child("type");
    if schema.kind().is_empty() {
        findings.required(&place, detail);
    } else if schema.kind() != kind {
        findings.invalid(&place, schema.kind(), detail);
    }
}

/// Returns the field by which elements of a set are not atomic: lists are atomic unless they say otherwise, objects
/// only if they say so.
fn field_of_divisible(item: Schema<'_>) -> Option<&'static str> {
    match item.kind() {
        "array" if item.get(LIST_TYPE).is_some() && item.text(LIST_TYPE) != "atomic" => Some(LIST_TYPE),
        "object" if item.text(MAP_TYPE) != "atomic" => Some(MAP_TYPE),
        _ => None,
    }
}

fn check_set(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    if let Some(item) = schema.item().filter(|_| is_set_of_divisible(schema))
        && let Some(field) = field_of_divisible(item)
    {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        // The message of either field shows the list's type.
        findings.invalid_value(&place.child("items").child(field), item.get(LIST_TYPE), detail);
    }
}

/// Checks a list whose elements are identified by keys.
fn check_keyed(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    let keys_place = place.child(LIST_KEYS);
    if !schema.has(LIST_KEYS) {
        findings.required(&keys_place, "must not be empty if x-kubernetes-list-type is map");
    }
    let items_place = place.child("items");
    let item = match schema.items() {
        None => {
            findings.required(&items_place, "must have a schema if x-kubernetes-list-type is map");
            return;
        }
        Some(Items::Many(_)) => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            let shape = "*<apiextensions.JSONSchemaPropsOrArray>";
            findings.invalid_as(shape, &items_place, schema.get("items"), detail);
            return;
        }
        Some(Items::One(item)) => item,
    };
    if item.kind() != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        findings.invalid(&items_place.child("type"), item.kind(), detail);
        return;
    }
    let mut seen = HashSet::new();
    for key in schema.list(LIST_KEYS).iter().filter_map(Value::as_str) {
        match item.property(key).map(Schema::kind) {
            Some("array" | "object") => {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let place = items_place.child("properties").key(key).child("type");
                findings.invalid(&place, item.kind(), detail);
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                findings.invalid_value(&keys_place, schema.get(LIST_KEYS), detail);
            }
        }
        if !seen.insert(key) {
            findings.invalid_value(&keys_place, schema.get(LIST_KEYS), "must not contain duplicate entries");
        }
    }
}

/// Checks that keys are required or have a default, and that neither they nor the elements can be null.
fn check_keys_set(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    let list_type = schema.text(LIST_TYPE);
    let Some(item) = schema.item().filter(|_| ["set", "map"].contains(&list_type)) else { return };
    let items_place = place.child("items");
    if item.is_true("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        findings.forbidden(&items_place.child("nullable"), &detail);
    }
    if list_type == "set" {
        return;
    }
    let required: HashSet<&str> = item.list("required").iter().filter_map(Value::as_str).collect();
    for key in schema.list(LIST_KEYS).iter().filter_map(Value::as_str) {
        let Some(property) = item.property(key) else { continue };
        let place = items_place.child("properties").key(key);
        if !required.contains(key) && property.get("default").is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                          required property";
            findings.required(&place.child("default"), detail);
        }
        if property.is_true("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            findings.forbidden(&place.child("nullable"), detail);
        }
    }
}
