//! Rules of events, of both versions. Old-style events (without `eventTime`) are hardly validated; new-style ones must
//! have a reporter, an action and a reason; events written through `events.k8s.io` are validated strictly.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::{self, NameRule};
use registry_core::api::validation::object_meta::validate_object_meta_update;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::support::field::Field;
use crate::support::go_text;

/// Maximum length of reporter, action and reason, in bytes.
const SHORT_TEXT_BYTES: usize = 128;
/// Maximum length of the message, in bytes.
const MESSAGE_BYTES: usize = 1024;

/// The immutable fields of an event written through `events.k8s.io`: all but its series.
const IMMUTABLE: [&str; 14] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
];

/// Validation of old-style and new-style events; no defaults.
pub(super) struct EventStrategy;

impl ObjectStrategy for EventStrategy {
    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = lenient_errors(context, object);
        if is_strict(context) {
            let name = FieldPath::new("metadata").child("name");
            let complaints =
                if object.name().is_empty() { Vec::new() } else { names::dns_subdomain(object.name()) };
            for complaint in complaints {
                errors.push(FieldError::invalid(name.clone(), object.name(), complaint));
            }
            check_series(object, &mut errors);
            check_new_style(object, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = lenient_errors(context, new);
        if is_strict(context) {
            // Kubernetes validates the metadata of these twice, and reports errors twice.
            errors.append(validate_object_meta_update(new, old, &FieldPath::new("metadata")));
            if new.0.get("series") != old.0.get("series") {
                check_series(new, &mut errors);
            }
            for name in IMMUTABLE {
                let stored = stored_name(name);
                if new.0.get(stored) != old.0.get(stored) {
                    let value = new.0.get(stored).cloned().unwrap_or_default();
                    let shape = match name {
                        "involvedObject" => Some("<core.ObjectReference>"),
                        "related" => Some("*<core.ObjectReference>"),
                        _ => None,
                    };
                    let shown = shape.map(|shape| go_text::text(Some(&value), shape));
                    let error = FieldError::invalid(FieldPath::new(name), value, "field is immutable");
                    errors.push(FieldError { shown, ..error });
                }
            }
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        // Recorders generate names; any valid path segment is allowed.
        NameRule::PathSegment
    }

    fn supports_garbage_collection(&self) -> bool {
        false
    }
}

/// Whether the request's version only accepts well-formed events.
fn is_strict(context: &RequestContext) -> bool {
    context.resource.is_some_and(|resource| resource.group == "events.k8s.io")
}

/// Returns the stored name of a field in messages, which name the reporter as the newer version does.
fn stored_name(name: &str) -> &str {
    if name == "reportingController" { "reportingComponent" } else { name }
}

/// Returns the errors that apply to every event.
fn lenient_errors(context: &RequestContext, object: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    if is_set(object, &["eventTime"]) {
        check_report(context, object, &mut errors);
    } else {
        check_old_style(object, &mut errors);
    }
    let namespace = object.namespace();
    for complaint in names::dns_subdomain(namespace) {
        errors.push(FieldError::invalid(FieldPath::new("namespace"), namespace, complaint));
    }
    errors
}

/// Checks that an old-style event is in the namespace of the object it is about.
fn check_old_style(object: &Object, errors: &mut ErrorList) {
    let about = object.get_str(&["involvedObject", "namespace"]).unwrap_or_default();
    let own = object.namespace();
    // Events about cluster-scoped objects are in `default`.
    let matches = if about.is_empty() { own == "default" } else { about == own };
    if !matches {
        errors.push(wrong_namespace(about));
    }
}

/// Checks that a new-style event has a reporter, an action and a reason.
fn check_report(context: &RequestContext, object: &Object, errors: &mut ErrorList) {
    let about = object.get_str(&["involvedObject", "namespace"]).unwrap_or_default();
    if about.is_empty() && !matches!(object.namespace(), "default" | "kube-system") {
        errors.push(wrong_namespace(about));
    }
    let reporter = object.get_str(&["reportingComponent"]).unwrap_or_default();
    // The versions call the field differently.
    let field =
        || FieldPath::new(if is_strict(context) { "reportingController" } else { "reportingComponent" });
    if reporter.is_empty() {
        errors.push(FieldError::required(field(), ""));
    }
    for complaint in names::qualified_name(reporter) {
        errors.push(FieldError::invalid(field(), reporter, complaint));
    }
    for name in ["reportingInstance", "action", "reason"] {
        if Field::top_level(object, name).check_present(errors) {
            check_length(object, name, SHORT_TEXT_BYTES, errors);
        }
    }
    check_length(object, "message", MESSAGE_BYTES, errors);
}

/// Checks that fields of old-style events are unset in a new-style one.
fn check_new_style(object: &Object, errors: &mut ErrorList) {
    if !is_set(object, &["eventTime"]) {
        errors.push(FieldError::required(FieldPath::new("eventTime"), ""));
    }
    let kind = object.get_str(&["type"]).unwrap_or_default();
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid(FieldPath::new("type"), "", detail));
    }
    let unset: [(&str, &[&[&str]]); 4] = [
        ("firstTimestamp", &[&["firstTimestamp"]]),
        ("lastTimestamp", &[&["lastTimestamp"]]),
        ("count", &[&["count"]]),
        ("source", &[&["source", "component"], &["source", "host"]]),
    ];
    for (name, paths) in unset {
        if paths.iter().any(|path| is_set(object, path)) {
            errors.push(FieldError::invalid(FieldPath::new(name), "", "needs to be unset"));
        }
    }
}

fn check_series(object: &Object, errors: &mut ErrorList) {
    if object.get(&["series"]).is_none_or(Value::is_null) {
        return;
    }
    if object.get_i64(&["series", "count"]).unwrap_or_default() < 2 {
        errors.push(FieldError::invalid(FieldPath::new("series.count"), "", "should be at least 2"));
    }
    if !is_set(object, &["series", "lastObservedTime"]) {
        errors.push(FieldError::required(FieldPath::new("series.lastObservedTime"), ""));
    }
}

fn check_length(object: &Object, name: &str, limit_bytes: usize, errors: &mut ErrorList) {
    if object.get_str(&[name]).is_some_and(|text| text.len() > limit_bytes) {
        let detail = format!("can have at most {limit_bytes} characters");
        errors.push(FieldError::invalid(FieldPath::new(name), "", detail));
    }
}

fn wrong_namespace(about: &str) -> FieldError {
    let field = FieldPath::new("involvedObject").child("namespace");
    FieldError::invalid(field, about, "does not match event.namespace")
}

/// Whether a field has a value other than Go's zero value.
fn is_set(object: &Object, path: &[&str]) -> bool {
    match object.get(path) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(value) => value.as_i64() != Some(0),
    }
}
