//! Rules of APIServices.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::{dns_1035_label, dns_subdomain, path_segment};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::apiregistration::v1::{APIService, APIServiceSpec};
use serde_json::json;

use crate::support::defaulting;
use crate::support::port_number;

/// The statuses that a condition can have.
const CONDITION_STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// The name must be version and group; a local service is always available.
pub(super) struct APIServiceStrategy;

impl ObjectStrategy for APIServiceStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "service"], |service| defaulting::fill(service, "port", 443));
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.remove(&["status"]);
        if !APIService(object).spec().service().exists() {
            object.set(
                &["status", "conditions"],
                json!([{
                    "type": "Available",
                    "status": "True",
                    "lastTransitionTime": registry_core::api::time::now(),
                    "reason": "Local",
                    "message": "Local APIServices are always available",
                }]),
            );
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = APIService(object).spec();
        check_name(object, &spec, &mut errors);
        check_group_version(&spec, &mut errors);
        for (priority, most) in [(spec.group_priority_minimum(), 20000), (spec.version_priority(), 1000)] {
            if !(1..=most).contains(&priority.number()) {
                let detail = format!("must be positive and less than {most}");
                errors.push(FieldError::invalid(priority.path(), priority.number(), detail));
            }
        }
        if spec.service().exists() {
            check_remote(&spec, &mut errors);
        } else {
            check_local(&spec, &mut errors);
        }
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        for condition in APIService(new).status().conditions().elements() {
            let status = condition.status();
            if !CONDITION_STATUSES.contains(&status.text()) {
                errors.push(FieldError::not_supported(status.path(), status.text(), &CONDITION_STATUSES));
            }
        }
        errors
    }
}

/// Checks that the name is that of the group version.
fn check_name(object: &Object, spec: &APIServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let wanted = format!("{}.{}", spec.version().text(), spec.group().text());
    let base = APIService(object).metadata().generate_name().optional_text().filter(|base| !base.is_empty());
    for (field, name) in [("generateName", base), ("name", Some(object.name()))] {
        // The name rule has reported names that are no path segments.
        let Some(name) = name.filter(|name| *name != wanted && path_segment(name).is_empty()) else {
            continue;
        };
        let path = FieldPath::new("metadata").child(field);
        let detail = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn check_group_version(spec: &APIServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let (group, version) = (spec.group(), spec.version());
    if group.text().is_empty() {
        if version.text() != "v1" {
            errors.push(group.required("only v1 may have an empty group and it better be legacy kube"));
        }
    } else {
        errors.0.extend(dns_subdomain(group.text()).into_iter().map(|reason| group.invalid_text(reason)));
    }
    errors.0.extend(dns_1035_label(version.text()).into_iter().map(|reason| version.invalid_text(reason)));
}

/// Checks what a local APIService must not have.
fn check_local(spec: &APIServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let bundle = spec.ca_bundle();
    if !bundle.text().is_empty() {
        let bytes = bundle.bytes().len();
        let detail = "local APIServices may not have a caBundle";
        errors.push(FieldError::invalid(bundle.path(), format!("{bytes} bytes"), detail));
    }
    let insecure = spec.insecure_skip_tls_verify();
    if insecure.is_true() {
        errors.push(insecure.invalid("local APIServices may not have insecureSkipTLSVerify"));
    }
}

/// Checks the service of an extension server, and how its certificate is verified.
fn check_remote(spec: &APIServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let service = spec.service();
    service.namespace().check_present(errors);
    service.name().check_present(errors);
    let port = service.port();
    if let Some(complaint) = port_number::called_service_complaint(port.number()) {
        errors.push(FieldError::invalid(port.path(), port.number(), complaint));
    }
    let insecure = spec.insecure_skip_tls_verify();
    if insecure.is_true() && !spec.ca_bundle().text().is_empty() {
        errors.push(insecure.invalid("may not be true if caBundle is present"));
    }
}
