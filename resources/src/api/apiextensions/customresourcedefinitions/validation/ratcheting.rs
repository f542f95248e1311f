//! The rules that apply to a change: a definition that was stored before a rule existed may still violate the rule.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use registry_core::api::Object;
use registry_core::cel::StoredExpressions;
use serde_json::Value;

use super::super::schema::Schema;
use super::super::view::{Spec, has_condition};
use super::versions::MAX_SELECTABLE_FIELDS;
use super::{Options, conversion, defaulting, lists, openapi, structural};

impl<'a> Options<'a> {
    /// Returns the rules for a change.
    pub(super) fn for_update(new: &'a Object, old: &'a Object) -> Self {
        let before = Spec::from_object(old);
        let after = Spec::from_object(new);
        Self {
            review_version_is_known: conversion::knows_review_version(&before.written.conversion()),
            names_are_fixed: has_condition(old, "Established", "True"),
            schema_is_required: has_all_schemas(&before),
            types_are_known: !before.any_schema(&openapi::has_unknown_type),
            is_structural: !before.schemas().any(structural::is_violated),
            defaults_are_pruned: !before.schemas().any(defaulting::has_unpruned_defaults),
            sets_are_atomic: !before.any_schema(&lists::is_set_of_divisible),
            keys_are_set: !before.any_schema(&lists::has_unset_keys),
            allows_bad_bundle: allows_bad_bundle(old, &before),
            many_selectable: versions_with_many_selectable(&after, &before),
            unchanged: unchanged_versions(&after, &before),
            stored: Arc::new(StoredExpressions::from_schemas(before.schemas().map(Schema::value))),
        }
    }
}

fn has_all_schemas(spec: &Spec<'_>) -> bool {
    spec.shared.schema().is_some() || spec.versions.iter().all(|version| version.parts.schema().is_some())
}

fn allows_bad_bundle(old: &Object, before: &Spec<'_>) -> bool {
    if !has_condition(old, "Established", "True") {
        return true;
    }
    let bundle = before.written.conversion().webhook().client_config().ca_bundle().text();
    conversion::why_bad_bundle(bundle).is_some()
}

/// Returns the versions that had too many selectable fields, and still have the same.
fn versions_with_many_selectable<'a>(after: &Spec<'a>, before: &Spec<'a>) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    let is_same = |new: &[Value], old: &[Value]| old.len() > MAX_SELECTABLE_FIELDS && new == old;
    if is_same(after.shared.selectable, before.shared.selectable) {
        found.insert("");
    }
    let old: HashMap<&str, _> =
        before.versions.iter().map(|version| (version.name, version.parts.selectable)).collect();
    for version in &after.versions {
        if old.get(version.name).is_some_and(|old| is_same(version.parts.selectable, old)) {
            found.insert(version.name);
        }
    }
    found
}

/// Returns the versions with the same schema as before.
fn unchanged_versions<'a>(after: &Spec<'a>, before: &Spec<'a>) -> HashSet<&'a str> {
    let names = after.versions.iter().map(|version| version.name);
    if !after.has_own_schemas() && !before.has_own_schemas() {
        // Compared once, not once for each version.
        let same = after.shared.validation == before.shared.validation;
        return names.filter(|_| same).collect();
    }
    let new = schemas_by_version(after);
    let old = schemas_by_version(before);
    let find = |spec: &Spec<'a>, known: &HashMap<&str, Option<&'a Value>>, name: &str| {
        if spec.has_own_schemas() { known.get(name).copied() } else { Some(spec.shared.validation) }
    };
    names
        .filter(|name| find(before, &old, name).is_some_and(|old| find(after, &new, name) == Some(old)))
        .collect()
}

fn schemas_by_version<'a>(spec: &Spec<'a>) -> HashMap<&'a str, Option<&'a Value>> {
    let mut found = HashMap::new();
    for version in &spec.versions {
        found.entry(version.name).or_insert(version.parts.validation);
    }
    found
}
