//! Rules of LimitRanges.

use std::collections::{BTreeMap, BTreeSet};

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;
use serde_json::Value;

use crate::edit::{Fields, each, with};
use crate::field::Field;

const TYPES: [&str; 3] = ["Container", "Pod", "PersistentVolumeClaim"];

/// Defaults that follow from each other, and their order.
pub(super) struct LimitRangeStrategy;

impl ObjectStrategy for LimitRangeStrategy {
    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn apply_defaults(&self, object: &mut Object) {
        with(&mut object.0, "spec", |spec| each(spec, &["limits"], derive_defaults));
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        // One without a name is named by chance.
        if object.name().is_empty() {
            let name = object.uid().to_owned();
            object.set(&["metadata", "name"], name.into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let limits = spec.get("limits");
        let mut seen = BTreeSet::new();
        for limit in limits.elements() {
            let kind = limit.get("type");
            if !kind.text().contains('/') && TYPES.iter().all(|known| *known != kind.text()) {
                let before = errors.0.len();
                kind.check(names::qualified_name, &mut errors);
                if errors.0.len() == before {
                    errors.push(kind.invalid("must be a standard limit type or fully qualified"));
                }
            }
            if !seen.insert(kind.text()) {
                errors.push(kind.duplicate());
            }
            check_limit(&limit, kind.text(), &mut errors);
        }
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

/// For containers: the default is the maximum, the default request is the default, or else the minimum.
fn derive_defaults(limit: &mut Fields) {
    if limit.get("type").and_then(Value::as_str) != Some("Container") {
        return;
    }
    for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
        let Some(Value::Object(source)) = limit.get(from).cloned() else { continue };
        let target = limit.entry(to).or_insert_with(|| Value::Object(Fields::new()));
        let Value::Object(target) = target else { continue };
        for (resource, amount) in source {
            target.entry(resource).or_insert(amount);
        }
    }
    limit.retain(|name, value| {
        !matches!(name.as_str(), "default" | "defaultRequest")
            || value.as_object().is_none_or(|map| !map.is_empty())
    });
}

fn check_limit(limit: &Field<'_, '_>, kind: &str, errors: &mut ErrorList) {
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if limit.get(field).len() > 0 {
                errors.push(limit.get(field).forbidden("may not be specified when `type` is 'Pod'"));
            }
        }
    }
    if kind == "PersistentVolumeClaim" {
        let states = ["min", "max"].iter().any(|bound| {
            let bound = limit.get(bound);
            bound.get("storage").exists()
        });
        if !states {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            errors.push(limit.get("limits").required(detail));
        }
    }
    let order: [(&str, &str, &str, &str); 6] = [
        ("min", "max", "min", "minimum"),
        ("min", "defaultRequest", "min", "minimum"),
        ("defaultRequest", "max", "defaultRequest", "default request"),
        ("defaultRequest", "default", "defaultRequest", "default request"),
        ("default", "max", "default", "default"),
        ("min", "default", "min", "minimum"),
    ];
    let other_words =
        BTreeMap::from([("max", "max"), ("defaultRequest", "default request"), ("default", "default limit")]);
    for (low, high, at, word) in order {
        let (lows, highs, place) = (limit.get(low), limit.get(high), limit.get(at));
        for (resource, least) in lows.entries() {
            let most = highs.get(resource);
            let (Ok(one), Ok(other)) = (Quantity::parse(least.text()), Quantity::parse(most.text())) else {
                continue;
            };
            if one.compare(&other).is_gt() {
                let other_word = other_words.get(high).copied().unwrap_or_default();
                let detail = format!(
                    "{word} value {} is greater than {other_word} value {}",
                    least.text(),
                    most.text()
                );
                // Of a default above the maximum, the maximum is shown.
                let shown = if low == "default" { most } else { least };
                errors.push(FieldError::invalid(place.path().key(resource), shown.text(), detail));
            }
        }
    }
}
