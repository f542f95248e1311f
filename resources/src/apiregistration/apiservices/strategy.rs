//! Rules of APIServices.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::NameRule;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use crate::support::defaulting;
use crate::support::field::Field;

/// The name must be version and group; a local service is always available.
pub(super) struct APIServiceStrategy;

impl ObjectStrategy for APIServiceStrategy {
    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata"]]
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
    }

    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn name_rule(&self) -> NameRule {
        // `v1.` is the name for the core group.
        NameRule::PathSegment
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "service"], |service| defaulting::fill(service, "port", 443));
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.remove(&["status"]);
        if matches!(object.get(&["spec", "service"]), None | Some(Value::Null)) {
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
        let spec = Field::of(object, "spec");
        let wanted = format!("{}.{}", spec.get("version").text(), spec.get("group").text());
        if object.name() != wanted {
            let path = FieldPath::new("metadata").child("name");
            let detail = format!("must be `spec.version+\".\"+spec.group`: \"{wanted}\"");
            errors.push(FieldError::invalid(path, object.name(), detail));
        }
        for (field, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
            let priority = spec.get(field).integer().unwrap_or_default();
            if priority <= 0 || priority > most {
                let detail = format!("must be positive and less than {most}");
                errors.push(FieldError::invalid(spec.get(field).path(), priority, detail));
            }
        }
        if !spec.get("service").exists() {
            if !spec.get("caBundle").text().is_empty() {
                let bundle = spec.get("caBundle");
                let bytes = STANDARD.decode(bundle.text()).map_or(0, |bundle| bundle.len());
                let detail = "local APIServices may not have a caBundle";
                errors.push(FieldError::invalid(bundle.path(), format!("{bytes} bytes"), detail));
            }
            let insecure = spec.get("insecureSkipTLSVerify");
            if insecure.is_true() {
                errors.push(insecure.invalid("local APIServices may not have insecureSkipTLSVerify"));
            }
        }
        errors
    }
}
