//! The template of a StatefulSet's pods.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use resource_views::apps::v1::{StatefulSet, StatefulSetMut, StatefulSetSpec};
use serde_json::{Value, json};

use crate::api::core::pod_spec::validation;
use crate::api::core::workload::Workload;

/// Checks the selector and the template; `old` is what the set was before an update.
pub(super) fn check(context: &RequestContext, object: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let spec = StatefulSet(object).spec();
    let template = spec.template();
    if !Workload::STATEFUL_SET.check_selector(&spec.selector(), &template, errors) {
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
    let mut repeated = ErrorList::default();
    validation::check_template_metadata(context, &template, &mut repeated);
    errors.append(repeated);
    Workload::STATEFUL_SET.check_run_forever(&template, errors);
}

fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let completed = completed(object);
    let spec = StatefulSet(completed.as_ref().unwrap_or(object)).spec();
    let old = old.map(|old| StatefulSet(old).spec());
    let old = old.as_ref().map(StatefulSetSpec::template);
    validation::check_template(context, &spec.template(), old.as_ref(), &mut errors);
    errors
}

/// Returns the set with its template as its pods will have it: they get names of their own, and the volumes of their claims.
fn completed(object: &Object) -> Option<Object> {
    let spec = StatefulSet(object).spec();
    let (claims, template) = (spec.volume_claim_templates(), spec.template());
    let pod = template.spec();
    if claims.is_empty() && !pod.subdomain().exists() && !pod.hostname().exists() {
        return None;
    }
    let mut completed = object.clone();
    let mut spec = StatefulSetMut(&mut completed).spec().or_new();
    let mut template = spec.template().or_new();
    let mut new = template.spec().or_new();
    new.subdomain().remove();
    new.hostname().remove();
    if !claims.is_empty() {
        let mut seen = HashSet::new();
        let names = claims.elements().map(|claim| claim.metadata().name().text());
        let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
        let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let mut volumes: Vec<Value> = names.iter().map(volume).collect();
        let own = pod.volumes();
        let others = own.elements().filter(|volume| !seen.contains(volume.name().text()));
        volumes.extend(others.filter_map(|volume| volume.value().cloned()));
        new.volumes().set_value(volumes.into());
    }
    Some(completed)
}
