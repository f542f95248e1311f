//! Rules of FlowSchemas.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::resource::ObjectStrategy;
use resource_views::flowcontrol::v1::{
    FlowSchema, FlowSchemaMut, PolicyRulesWithSubjects, ResourcePolicyRule, ServiceAccountSubject, Subject,
};
use resource_views::{Integer, List, Text};

use crate::api::flowcontrol::{conditions, mandatory};
use crate::support::field::ShownAsGo as _;

const MAX_PRECEDENCE: i64 = 10_000;
const DISTINGUISHERS: [&str; 2] = ["ByNamespace", "ByUser"];
const KINDS: [&str; 3] = ["Group", "ServiceAccount", "User"];
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/// Defaults and validation of subjects, rules and the priority level.
pub(super) struct FlowSchemaStrategy;

impl ObjectStrategy for FlowSchemaStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        FlowSchemaMut(object).spec().edit(|mut spec| spec.matching_precedence().or_if_zero(1000));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = FlowSchema(object).spec();
        check_precedence(&spec.matching_precedence(), object.name(), &mut errors);
        let method = spec.distinguisher_method();
        if method.exists() && !DISTINGUISHERS.contains(&method.r#type().text()) {
            let shown = method.go_text("<flowcontrol.FlowDistinguisherMethod>");
            let error = FieldError::not_supported(method.r#type().path(), "", &DISTINGUISHERS);
            errors.push(error.shown_as(shown));
        }
        let level = spec.priority_level_configuration();
        let level = level.name();
        if level.text().is_empty() {
            errors.push(level.required("must reference a priority level"));
        }
        level.check_if_set(names::dns_subdomain, &mut errors);
        for rule in spec.rules().elements() {
            check_rule(&rule, &mut errors);
        }
        if mandatory::flow_schema(object.name()).is_some_and(|fixed| spec.value() != Some(&fixed)) {
            let detail = format!("spec of '{}' must equal the fixed value", object.name());
            errors.push(spec.invalid_as("<flowcontrol.FlowSchemaSpec>", detail));
        }
        conditions::check(&FlowSchema(object).status().conditions(), &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        conditions::check(&FlowSchema(new).status().conditions(), &mut errors);
        errors
    }
}

fn check_precedence(precedence: &Integer<'_, '_>, name: &str, errors: &mut ErrorList) {
    match precedence.integer() {
        Some(1) if name != "exempt" => {
            errors.push(precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1"));
        }
        Some(number) if number <= 0 => errors.push(precedence.invalid("must be a positive value")),
        Some(number) if number > MAX_PRECEDENCE => {
            errors.push(precedence.invalid(format!("must not be greater than {MAX_PRECEDENCE}")));
        }
        _ => {}
    }
}

fn check_rule(rule: &PolicyRulesWithSubjects<'_, '_>, errors: &mut ErrorList) {
    let subjects = rule.subjects();
    if subjects.is_empty() {
        errors.push(subjects.required("subjects must contain at least one value"));
    }
    for subject in subjects.elements() {
        check_subject(&subject, errors);
    }
    let resources = rule.resource_rules();
    let urls = rule.non_resource_rules();
    if resources.len() + urls.len() == 0 {
        errors.push(rule.required("at least one of resourceRules and nonResourceRules has to be non-empty"));
    }
    for rule in resources.elements() {
        check_resource_rule(&rule, errors);
    }
    for rule in urls.elements() {
        check_verbs(&rule.verbs(), errors);
        check_urls(&rule.non_resource_urls(), errors);
    }
}

/// Checks that a subject has the field of its kind, and no other.
fn check_subject(subject: &Subject<'_, '_>, errors: &mut ErrorList) {
    let fields = [
        ("ServiceAccount", "serviceAccount", *subject.service_account()),
        ("User", "user", *subject.user()),
        ("Group", "group", *subject.group()),
    ];
    let kind = subject.kind();
    let Some((_, own, field)) = fields.iter().find(|(name, ..)| *name == kind.text()) else {
        errors.push(kind.unsupported(&KINDS));
        return;
    };
    match kind.text() {
        _ if !field.exists() => {
            errors.push(field.required(format!("{own} is required when subject kind is '{}'", kind.text())));
        }
        "ServiceAccount" => check_account(&subject.service_account(), errors),
        kind => {
            let (user, group) = (subject.user(), subject.group());
            let named = if kind == "User" { user.name() } else { group.name() };
            named.check_present(errors);
        }
    }
    for (other, name, field) in fields.iter().filter(|(_, name, _)| name != own) {
        if field.exists() {
            errors.push(field.forbidden(format!("{name} is forbidden when subject kind is not '{other}'")));
        }
    }
}

fn check_account(account: &ServiceAccountSubject<'_, '_>, errors: &mut ErrorList) {
    let name = account.name();
    let namespace = account.namespace();
    if name.text() != "*" {
        name.check_named(names::dns_subdomain, errors);
    }
    if namespace.text().is_empty() {
        errors.push(namespace.required("must specify namespace for service account"));
    }
    namespace.check_if_set(names::dns_label, errors);
}

fn check_resource_rule(rule: &ResourcePolicyRule<'_, '_>, errors: &mut ErrorList) {
    check_verbs(&rule.verbs(), errors);
    let groups = rule.api_groups();
    let resources = rule.resources();
    let namespaces = rule.namespaces();
    check_list(&groups, "resource rules must supply at least one api group", "api groups", errors);
    check_list(&resources, "resource rules must supply at least one resource", "resources", errors);
    if namespaces.is_empty() && !rule.cluster_scope().is_true() {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(namespaces.required(detail));
    } else if has_wildcard(&namespaces) {
        check_alone(&namespaces, "namespaces", errors);
    } else {
        for namespace in namespaces.elements() {
            for complaint in names::dns_label(namespace.text()) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                errors.push(namespace.invalid(detail));
            }
        }
    }
}

fn check_verbs(verbs: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    check_list(verbs, "verbs must contain at least one value", "verbs", errors);
    if !has_wildcard(verbs) && !verbs.elements().all(|verb| VERBS.contains(&verb.text())) {
        errors.push(verbs.unsupported(&VERBS));
    }
}

fn check_urls(urls: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    check_list(urls, "nonResourceURLs must contain at least one value", "non-resource URLs", errors);
    if has_wildcard(urls) {
        return;
    }
    for url in urls.elements() {
        let text = url.text();
        let stars = text.matches('*').count();
        let complaint = match text {
            "" => "must not be empty",
            "/" => continue,
            _ if !text.starts_with('/') => "must start with slash",
            _ if text.contains(' ') => "must not contain white-space",
            _ if text.contains("//") => "must not contain double slash",
            _ if stars > 1 || stars == 1 && !text.ends_with("/*") => "wildcard can only do suffix matching",
            _ => continue,
        };
        errors.push(url.invalid(complaint));
    }
}

/// Checks that a list is not empty, and that `*` is its only element if present.
fn check_list(list: &List<Text<'_, '_>>, missing: &str, others: &str, errors: &mut ErrorList) {
    if list.is_empty() {
        errors.push(list.required(missing));
    } else if has_wildcard(list) {
        check_alone(list, others, errors);
    }
}

fn check_alone(list: &List<Text<'_, '_>>, others: &str, errors: &mut ErrorList) {
    if list.len() > 1 {
        errors.push(list.invalid(format!("if '*' is present, must not specify other {others}")));
    }
}

fn has_wildcard(list: &List<Text<'_, '_>>) -> bool {
    list.elements().any(|element| element.text() == "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn causes(name: &str, change: &[(&str, Value)]) -> Vec<String> {
        let mut schema = json!({"metadata": {"name": name}, "spec": {
            "matchingPrecedence": 5, "priorityLevelConfiguration": {"name": "l"},
            "rules": [{"subjects": [{"kind": "User", "user": {"name": "u"}}],
                "resourceRules": [{"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}]}],
        }});
        for (pointer, value) in change {
            *schema.pointer_mut(pointer).unwrap() = value.clone();
        }
        let schema = Object::from_value(schema).unwrap();
        let errors = FlowSchemaStrategy.validate(&RequestContext::default(), &schema);
        errors.0.iter().map(|error| error.field.to_string()).collect()
    }

    #[test]
    fn rules_say_who_and_what() {
        let none: [&str; 0] = [];
        assert_eq!(causes("a", &[]), none);
        assert_eq!(causes("a", &[("/spec/matchingPrecedence", json!(1))]), ["spec.matchingPrecedence"]);
        assert_eq!(causes("exempt", &[]), ["spec"]);
        let rule = |field: &str, value: Value| causes("a", &[(&format!("/spec/rules/0/{field}"), value)]);
        assert_eq!(rule("subjects", json!([])), ["spec.rules[0].subjects"]);
        let both = json!([{"kind": "User", "user": {"name": "u"}, "group": {"name": "g"}}]);
        assert_eq!(rule("subjects", both), ["spec.rules[0].subjects[0].group"]);
        assert_eq!(rule("subjects/0/user", json!(null)), ["spec.rules[0].subjects[0].user"]);
        assert_eq!(rule("resourceRules", json!([])), ["spec.rules[0]"]);
        assert_eq!(rule("resourceRules/0/verbs", json!(["x"])), ["spec.rules[0].resourceRules[0].verbs"]);
        let url = json!([{"verbs": ["*"], "nonResourceURLs": ["/a", "/*/b"]}]);
        let rules = json!({"subjects": [{"kind": "Group", "group": {"name": "g"}}], "nonResourceRules": url});
        assert_eq!(
            causes("a", &[("/spec/rules/0", rules)]),
            ["spec.rules[0].nonResourceRules[0].nonResourceURLs[1]"]
        );
    }

    #[test]
    fn mandatory_objects_are_fixed() {
        for (name, fixed, _) in mandatory::specs() {
            assert!(causes(name, &[("/spec", fixed.clone())]).is_empty(), "{name}");
            let changed = [("/spec", fixed), ("/spec/matchingPrecedence", json!(2))];
            assert_eq!(causes(name, &changed), ["spec"], "{name}");
        }
        assert_eq!(mandatory::specs().count(), mandatory::NAMES.len());
    }
}
