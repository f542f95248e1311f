//! Annotations of pods that Kubernetes reads.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use resource_views::core::v1::{AppArmorProfile, PodSpec, SeccompProfile, Toleration};
use resource_views::meta::v1::ObjectMeta;
use resource_views::{List, Map, Text, Typed as _, View};
use serde_json::{Value, json};

use super::{Options, scheduling, text_rules, visit_containers};

/// Marks the mirror pod of a static pod, which a kubelet runs from a file of its node.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
pub(crate) const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
pub(crate) const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(crate) const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const LOCALHOST: &str = "localhost/";

/// Whether a pod is the mirror pod of a static pod.
pub(crate) fn is_mirror(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_some()
}

/// Checks the annotations of a pod or of a template.
pub(crate) fn check(
    annotations: &Map<Text<'_, '_>>,
    spec: &PodSpec<'_, '_>,
    options: &Options,
    errors: &mut ErrorList,
) {
    if annotations.is_empty() {
        return;
    }
    let mirror = annotations.entry(MIRROR);
    if mirror.exists() && spec.node_name().text().is_empty() {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(annotations.path().key(MIRROR), mirror.text(), detail));
    }
    check_tolerations(annotations, options, errors);
    let cost = annotations.entry(DELETION_COST);
    if !options.tolerates_deletion_cost && !is_cost(&cost) {
        let path = annotations.path().key(DELETION_COST);
        errors.push(FieldError::invalid(path, cost.text(), "must be a 32bit integer"));
    }
    for (key, profile) in annotations.entries() {
        if key == SECCOMP_OF_POD || key.starts_with(SECCOMP) {
            check_seccomp(annotations, key, profile.text(), errors);
        }
    }
    check_apparmor(annotations, spec, errors);
}

/// Checks tolerations from before they were a field.
fn check_tolerations(annotations: &Map<Text<'_, '_>>, options: &Options, errors: &mut ErrorList) {
    let annotation = annotations.entry(TOLERATIONS).shown_as(TOLERATIONS);
    if annotation.text().is_empty() {
        return;
    }
    match serde_json::from_str::<Vec<serde_json::Map<String, Value>>>(annotation.text()) {
        Ok(tolerations) => {
            // The names of the fields may be in any case.
            let lower = |(name, value): (String, Value)| {
                let mut letters = name.chars();
                let first = letters.next().map(|letter| letter.to_ascii_lowercase());
                (first.into_iter().chain(letters).collect::<String>(), value)
            };
            let tolerations = tolerations
                .into_iter()
                .map(|toleration| Value::Object(toleration.into_iter().map(lower).collect()));
            let parsed = Value::Array(tolerations.collect());
            let tolerations = List::<Toleration<'_, '_>>::typed(annotation.with_value(&parsed));
            scheduling::check_tolerations(&tolerations, options, errors);
        }
        Err(error) => {
            errors.push(FieldError::invalid(annotations.path(), TOLERATIONS, error.to_string()));
        }
    }
}

/// Whether a cost of deletion is valid or absent: a number without a plus and without leading zeros.
pub(super) fn is_cost(cost: &Text<'_, '_>) -> bool {
    let text = cost.text();
    let is_plain = text == "0" || text.starts_with(|first: char| matches!(first, '-' | '1'..='9'));
    !cost.exists() || is_plain && text.parse::<i32>().is_ok()
}

/// Whether the cost of deletion in some metadata is valid.
pub(super) fn has_valid_cost(metadata: &ObjectMeta<'_, '_>) -> bool {
    let annotations = metadata.annotations();
    is_cost(&annotations.entry(DELETION_COST))
}

fn check_seccomp(annotations: &Map<Text<'_, '_>>, key: &str, profile: &str, errors: &mut ErrorList) {
    let path = || annotations.path().child(key);
    match profile {
        "runtime/default" | "docker/default" | "unconfined" => {}
        _ => match profile.strip_prefix(LOCALHOST) {
            Some(file) => {
                for complaint in text_rules::descending_path(file) {
                    errors.push(FieldError::invalid(path(), file, complaint));
                }
            }
            None => errors.push(FieldError::invalid(path(), profile, "must be a valid seccomp profile")),
        },
    }
}

fn check_apparmor(annotations: &Map<Text<'_, '_>>, spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let mut containers: Option<HashSet<String>> = None;
    for (key, profile) in annotations.entries() {
        let Some(container) = key.strip_prefix(APPARMOR) else { continue };
        let containers = containers.get_or_insert_with(|| {
            let mut found = HashSet::new();
            visit_containers(spec, |container| {
                found.insert(container.name().text().to_owned());
            });
            found
        });
        if !containers.contains(container) {
            errors.push(FieldError::invalid(profile.path(), container, "container not found"));
        }
        let profile_name = profile.text();
        let is_known = matches!(profile_name, "" | "runtime/default" | "unconfined");
        if !is_known && !profile_name.starts_with(LOCALHOST) {
            errors.push(profile.invalid(format!("invalid AppArmor profile name: {profile_name:?}")));
        }
    }
}

/// Checks that an update neither adds nor changes nor removes annotations that were read when the pod was created.
pub(crate) fn check_changes(new: &Map<Text<'_, '_>>, old: &Map<Text<'_, '_>>, errors: &mut ErrorList) {
    let is_fixed = |key: &str| key == MIRROR || key.starts_with(APPARMOR);
    let what = |key: &str| if key == MIRROR { "mirror pod annotation" } else { "AppArmor annotations" };
    for (key, before) in old.entries().filter(|(key, _)| is_fixed(key)) {
        let now = new.entry(key);
        if now.value() != before.value() {
            let detail = format!("may not remove or update {}", what(key));
            errors.push(FieldError::forbidden(new.path().key(key), detail));
        }
    }
    for (key, _) in new.entries().filter(|(key, _)| is_fixed(key) && !old.entry(key).exists()) {
        errors.push(FieldError::forbidden(new.path().key(key), format!("may not add {}", what(key))));
    }
}

// === annotations and fields ===

/// Returns the AppArmor profile that an annotation names; `None` if it names none.
pub(crate) fn profile_of(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let file = annotation.strip_prefix(LOCALHOST).filter(|file| !file.is_empty())?;
            Some(json!({"type": "Localhost", "localhostProfile": file}))
        }
    }
}

/// Checks that annotations that precede fields for profiles do not contradict the fields.
pub(crate) fn check_profiles(
    annotations: &Map<Text<'_, '_>>,
    spec: &PodSpec<'_, '_>,
    errors: &mut ErrorList,
) {
    if annotations.is_empty() {
        return;
    }
    let context = spec.security_context();
    let seccomp = context.seccomp_profile();
    check_match(&annotations.entry(SECCOMP_OF_POD), &Profile::seccomp(&seccomp), &seccomp, errors);
    let of_pod = context.app_armor_profile();
    let is_windows = spec.os().name().text() == "windows";
    visit_containers(spec, |container| {
        let context = container.security_context();
        let name = container.name().text();
        let seccomp = context.seccomp_profile();
        let annotation = format!("{SECCOMP}{name}");
        check_match(&annotations.entry(&annotation), &Profile::seccomp(&seccomp), &seccomp, errors);
        if !is_windows {
            let own = context.app_armor_profile();
            let effective = if own.exists() { &own } else { &of_pod };
            let annotation = format!("{APPARMOR}{name}");
            check_match(&annotations.entry(&annotation), &Profile::apparmor(effective), &own, errors);
        }
    });
}

/// A profile in a field, which an annotation may contradict.
struct Profile<'v, 'p> {
    kind: &'static str,
    ty: Text<'v, 'p>,
    file: Text<'v, 'p>,
}

impl<'v, 'p> Profile<'v, 'p> {
    fn seccomp(profile: &'p SeccompProfile<'v, 'p>) -> Self {
        Self { kind: "seccomp", ty: profile.r#type(), file: profile.localhost_profile() }
    }

    fn apparmor(profile: &'p AppArmorProfile<'v, 'p>) -> Self {
        Self { kind: "apparmor", ty: profile.r#type(), file: profile.localhost_profile() }
    }
}

/// Checks that an annotation, if there is one, is the same profile as a field. An error is reported at `reported`.
fn check_match(
    annotation: &Text<'_, '_>,
    Profile { kind, ty, file }: &Profile<'_, '_>,
    reported: &View<'_, '_>,
    errors: &mut ErrorList,
) {
    if !annotation.exists() {
        return;
    }
    let text = annotation.text();
    let is_same_type = match ty.text() {
        "Unconfined" => text == "unconfined",
        "RuntimeDefault" => text == "runtime/default" || *kind == "seccomp" && text == "docker/default",
        "Localhost" => text.starts_with(LOCALHOST),
        _ => return,
    };
    if !is_same_type {
        let detail = format!("{kind} type in annotation and field must match");
        errors.push(FieldError::forbidden(reported.path().child("type"), detail));
    } else if ty.text() == "Localhost" && text.strip_prefix(LOCALHOST) != file.optional_text() {
        let detail = format!("{kind} profile in annotation and field must match");
        errors.push(FieldError::forbidden(reported.path().child("localhostProfile"), detail));
    }
}
