//! The template of a StatefulSet's pods.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use serde_json::{Value, json};

use crate::apps::workload::{self, Workload};
use crate::core::pod_spec::validation;
use crate::support::field::Field;

/// Checks the selector and the template; `old` is what the set was before an update.
pub(super) fn check(context: &RequestContext, object: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    if !workload::check_selector(object, Workload::STATEFUL_SET, errors) {
        return;
    }
    let mut own = errors_of(context, object, old);
    // An update of a set whose template was invalid before is not refused for it.
    if let Some(old) = old.filter(|_| !own.is_empty())
        && !errors_of(context, old, Some(old)).is_empty()
    {
        own = ErrorList::default();
    }
    errors.append(own);
    let spec = Field::of(object, "spec");
    let template = spec.get("template");
    let mut repeated = ErrorList::default();
    validation::check_template_metadata(context, &template, &mut repeated);
    errors.append(repeated);
    workload::check_run_forever(&template, Workload::STATEFUL_SET, errors);
}

fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let completed = completed(object);
    let spec = Field::of(completed.as_ref().unwrap_or(object), "spec");
    let old = old.map(|old| Field::of(old, "spec"));
    let old = old.as_ref().map(|old| old.get("template"));
    validation::check_template(context, &spec.get("template"), old.as_ref(), &mut errors);
    errors
}

/// Returns the set with its template as its pods will have it: they get names of their own, and the volumes of their claims.
fn completed(object: &Object) -> Option<Object> {
    let claims = object.get(&["spec", "volumeClaimTemplates"]).and_then(Value::as_array);
    let claims = claims.filter(|claims| !claims.is_empty());
    let names = ["subdomain", "hostname"];
    let has_names = names.iter().any(|name| object.get(&["spec", "template", "spec", name]).is_some());
    if claims.is_none() && !has_names {
        return None;
    }
    let mut completed = object.clone();
    for name in names {
        completed.remove(&["spec", "template", "spec", name]);
    }
    if let Some(claims) = claims {
        let mut seen = HashSet::new();
        let names = claims
            .iter()
            .map(|claim| claim.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default());
        let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
        let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let mut volumes: Vec<Value> = names.iter().map(volume).collect();
        let own = object.get(&["spec", "template", "spec", "volumes"]).and_then(Value::as_array);
        let is_other =
            |volume: &&Value| !seen.contains(volume.get("name").and_then(Value::as_str).unwrap_or_default());
        volumes.extend(own.into_iter().flatten().filter(is_other).cloned());
        completed.set(&["spec", "template", "spec", "volumes"], volumes.into());
    }
    Some(completed)
}
