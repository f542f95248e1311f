//! Rules of events, of both versions. Old-style events (without `eventTime`) are hardly validated; new-style ones must
//! have a reporter, an action and a reason; events written through `events.k8s.io` are validated strictly.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::validation::object_meta::validate_object_meta_update;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::Event;
use resource_views::{Text, Typed as _};

use crate::support::go_text;

/// Maximum length of reporter, action and reason, in bytes.
const SHORT_TEXT_BYTES: usize = 128;
/// Maximum length of the message, in bytes.
const MESSAGE_BYTES: usize = 1024;

const WRONG_NAMESPACE: &str = "does not match event.namespace";

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
            let (event, before) = (Event(new), Event(old));
            if event.series().value() != before.series().value() {
                check_series(new, &mut errors);
            }
            check_kept(event, before, &mut errors);
        }
        errors
    }

    fn supports_garbage_collection(&self) -> bool {
        false
    }
}

/// Whether the request's version only accepts well-formed events.
fn is_strict(context: &RequestContext) -> bool {
    context.resource.is_some_and(|resource| resource.group == "events.k8s.io")
}

/// Checks that an event written through `events.k8s.io` changes nothing but its series.
fn check_kept<'v>(event: Event<'v>, old: Event<'v>, errors: &mut ErrorList) {
    let fields = |event: Event<'v>| {
        [
            *event.involved_object(),
            *event.reason(),
            *event.message(),
            *event.source(),
            *event.first_timestamp(),
            *event.last_timestamp(),
            *event.count(),
            // Kubernetes checks it twice.
            *event.reason(),
            *event.r#type(),
            *event.event_time(),
            *event.action(),
            *event.related(),
            *event.reporting_component().shown_as("reportingController"),
            *event.reporting_instance(),
        ]
        .map(|field| (field.value(), field.path().to_string()))
    };
    for ((value, name), (before, _)) in fields(event).into_iter().zip(fields(old)) {
        if value == before {
            continue;
        }
        let shape = match name.as_str() {
            "involvedObject" => Some("<core.ObjectReference>"),
            "related" => Some("*<core.ObjectReference>"),
            _ => None,
        };
        let value = value.cloned().unwrap_or_default();
        let shown = shape.map(|shape| go_text::text(Some(&value), shape));
        let error = FieldError::invalid(FieldPath::new(&name), value, "field is immutable");
        errors.push(FieldError { shown, ..error });
    }
}

/// Returns the errors that apply to every event.
fn lenient_errors(context: &RequestContext, object: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    if Event(object).event_time().text().is_empty() {
        check_old_style(object, &mut errors);
    } else {
        check_report(context, object, &mut errors);
    }
    let namespace = object.namespace();
    for complaint in names::dns_subdomain(namespace) {
        errors.push(FieldError::invalid(FieldPath::new("namespace"), namespace, complaint));
    }
    errors
}

/// Checks that an old-style event is in the namespace of the object it is about.
fn check_old_style(object: &Object, errors: &mut ErrorList) {
    let about = Event(object).involved_object();
    let about = about.namespace();
    let own = object.namespace();
    // Events about cluster-scoped objects are in `default`.
    let matches = if about.text().is_empty() { own == "default" } else { about.text() == own };
    if !matches {
        errors.push(about.invalid_text(WRONG_NAMESPACE));
    }
}

/// Checks that a new-style event has a reporter, an action and a reason.
fn check_report(context: &RequestContext, object: &Object, errors: &mut ErrorList) {
    let event = Event(object);
    let about = event.involved_object();
    let about = about.namespace();
    if about.text().is_empty() && !matches!(object.namespace(), "default" | "kube-system") {
        errors.push(about.invalid_text(WRONG_NAMESPACE));
    }
    // The versions call the field differently.
    let name = if is_strict(context) { "reportingController" } else { "reportingComponent" };
    let reporter = event.reporting_component().shown_as(name);
    reporter.check_present(errors);
    reporter.check(names::qualified_name, errors);
    for field in [event.reporting_instance(), event.action(), event.reason()] {
        if field.check_present(errors) {
            check_length(&field, SHORT_TEXT_BYTES, errors);
        }
    }
    check_length(&event.message(), MESSAGE_BYTES, errors);
}

/// Checks that fields of old-style events are unset in a new-style one.
fn check_new_style(object: &Object, errors: &mut ErrorList) {
    let event = Event(object);
    let time = event.event_time();
    if time.text().is_empty() {
        errors.push(time.required(""));
    }
    let kind = event.r#type();
    if !matches!(kind.text(), "Normal" | "Warning") {
        let detail = format!("has invalid value: {}", kind.text());
        errors.push(FieldError::invalid(kind.path(), "", detail));
    }
    let source = event.source();
    for (field, is_set) in [
        (*event.first_timestamp(), !event.first_timestamp().text().is_empty()),
        (*event.last_timestamp(), !event.last_timestamp().text().is_empty()),
        (*event.count(), event.count().number() != 0),
        (*source, !source.component().text().is_empty() || !source.host().text().is_empty()),
    ] {
        if is_set {
            errors.push(FieldError::invalid(field.path(), "", "needs to be unset"));
        }
    }
}

fn check_series(object: &Object, errors: &mut ErrorList) {
    let series = Event(object).series();
    if !series.exists() {
        return;
    }
    // The paths are names with dots.
    if series.count().number() < 2 {
        errors.push(FieldError::invalid(FieldPath::new("series.count"), "", "should be at least 2"));
    }
    if series.last_observed_time().text().is_empty() {
        errors.push(FieldError::required(FieldPath::new("series.lastObservedTime"), ""));
    }
}

fn check_length(field: &Text<'_, '_>, limit_bytes: usize, errors: &mut ErrorList) {
    if field.text().len() > limit_bytes {
        let detail = format!("can have at most {limit_bytes} characters");
        errors.push(FieldError::invalid(field.path(), "", detail));
    }
}
