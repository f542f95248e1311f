//! Rules of FlowSchemas.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::edit;
use crate::field::Field;

/// Which requests go to which priority level.
pub(super) struct FlowSchemaStrategy;

impl ObjectStrategy for FlowSchemaStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        edit::with(&mut object.0, "spec", |spec| edit::fill(spec, "matchingPrecedence", 1000));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let level = spec.get("priorityLevelConfiguration");
        let (level, precedence) = (level.get("name"), spec.get("matchingPrecedence"));
        if precedence.integer() == Some(1) && object.name() != "exempt" {
            errors.push(precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1"));
        }
        if level.text().is_empty() {
            errors.push(level.required("must reference a priority level"));
        }
        for rule in spec.get("rules").elements() {
            check_rule(&rule, &mut errors);
        }
        errors
    }
}

fn check_rule(rule: &Field<'_, '_>, errors: &mut ErrorList) {
    const KINDS: [&str; 3] = ["Group", "ServiceAccount", "User"];
    for subject in rule.get("subjects").elements() {
        let kind = subject.get("kind");
        let (field, detail) = match kind.text() {
            "User" => ("user", "user is required when subject kind is 'User'"),
            "Group" => ("group", "group is required when subject kind is 'Group'"),
            "ServiceAccount" => {
                ("serviceAccount", "serviceAccount is required when subject kind is 'ServiceAccount'")
            }
            _ => {
                errors.push(kind.unsupported(&KINDS));
                continue;
            }
        };
        if !subject.get(field).exists() {
            errors.push(subject.get(field).required(detail));
        }
    }
    let (resources, urls) = (rule.get("resourceRules"), rule.get("nonResourceRules"));
    if resources.len() + urls.len() == 0 {
        errors.push(rule.required("at least one of resourceRules and nonResourceRules has to be non-empty"));
    }
    for resource in resources.elements() {
        if resource.get("verbs").len() == 0 {
            errors.push(resource.get("verbs").required("verbs must contain at least one value"));
        }
        if resource.get("namespaces").len() == 0 && !resource.get("clusterScope").is_true() {
            errors.push(
                resource.get("namespaces").required(
                    "resource rules that are not cluster scoped must supply at least one namespace",
                ),
            );
        }
    }
    for url in urls.elements().flat_map(|rule| {
        rule.get("nonResourceURLs")
            .elements()
            .filter(|url| !url.text().starts_with(['/', '*']))
            .map(|url| url.invalid("must start with slash"))
            .collect::<Vec<_>>()
    }) {
        errors.push(url);
    }
}
