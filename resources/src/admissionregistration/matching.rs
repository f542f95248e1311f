//! What webhooks and policies share: which requests they are asked about.

use registry_core::api::validation::{ErrorList, names};
use serde_json::json;

use crate::edit::{self, Fields};
use crate::field::Field;
use crate::label_selector;

/// Fills in what a webhook leaves open.
pub(super) fn default_webhook(webhook: &mut Fields) {
    for (field, default) in [
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("namespaceSelector", json!({})),
        ("objectSelector", json!({})),
        ("timeoutSeconds", json!(10)),
    ] {
        edit::fill(webhook, field, default);
    }
    edit::with(webhook, "clientConfig", |client| {
        edit::with(client, "service", |service| edit::fill(service, "port", 443));
    });
    edit::each(webhook, &["rules"], default_rule);
}

/// Fills in what a policy's match constraints leave open.
pub(super) fn default_constraints(constraints: &mut Fields) {
    edit::fill(constraints, "matchPolicy", "Equivalent");
    edit::fill(constraints, "namespaceSelector", json!({}));
    edit::fill(constraints, "objectSelector", json!({}));
    edit::each(constraints, &["resourceRules", "excludeResourceRules"], default_rule);
}

fn default_rule(rule: &mut Fields) {
    edit::fill(rule, "scope", "*");
}

/// Checks the webhooks of a configuration.
pub(super) fn check_webhooks(webhooks: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = Vec::new();
    for webhook in webhooks.elements() {
        check_webhook(&webhook, errors);
        let name = webhook.get("name");
        if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        seen.push(name.text());
    }
}

fn check_webhook(webhook: &Field<'_, '_>, errors: &mut ErrorList) {
    const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
    let name = webhook.get("name");
    if name.check_present(errors) {
        name.check(names::dns_subdomain, errors);
    }
    let versions = webhook.get("admissionReviewVersions");
    if versions.len() == 0 {
        errors.push(versions.required("must specify one of v1, v1beta1"));
    } else if !versions.elements().any(|version| REVIEWS.contains(&version.text())) {
        errors.push(versions.invalid("must include at least one of v1, v1beta1"));
    }
    for rule in webhook.get("rules").elements() {
        check_rule(&rule, errors);
    }
    webhook.get("failurePolicy").check_one_of(&["Fail", "Ignore"], errors);
    webhook.get("matchPolicy").check_one_of(&["Equivalent", "Exact"], errors);
    webhook.get("reinvocationPolicy").check_one_of(&["IfNeeded", "Never"], errors);
    let effects = webhook.get("sideEffects");
    if effects.exists() {
        effects.check_one_of(&["None", "NoneOnDryRun"], errors);
    } else {
        errors.push(effects.required("must specify one of None, NoneOnDryRun"));
    }
    let timeout = webhook.get("timeoutSeconds");
    if timeout.integer().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    label_selector::check(&webhook.get("namespaceSelector"), errors);
    label_selector::check(&webhook.get("objectSelector"), errors);
    check_client(&webhook.get("clientConfig"), errors);
    check_conditions(&webhook.get("matchConditions"), errors);
}

fn check_client(client: &Field<'_, '_>, errors: &mut ErrorList) {
    let (url, service) = (client.get("url"), client.get("service"));
    if url.exists() == service.exists() {
        errors.push(client.required("exactly one of url or service is required"));
    } else if url.exists() && !url.text().starts_with("https://") {
        let scheme = url.text().split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
        let detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
        errors.push(registry_core::api::FieldError::invalid(url.path(), scheme, detail));
    } else if service.exists() {
        service.get("name").check_present(errors);
        service.get("namespace").check_present(errors);
        service.get("port").check_between(1, 65535, errors);
    }
}

/// Checks a rule: every list says something, and `*` stands alone.
pub(super) fn check_rule(rule: &Field<'_, '_>, errors: &mut ErrorList) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let words = [
        ("operations", "if '*' is present, must not specify other operations"),
        ("apiGroups", "if '*' is present, must not specify other API groups"),
        ("apiVersions", "if '*' is present, must not specify other API versions"),
    ];
    for (field, detail) in words {
        let list = rule.get(field);
        if list.len() == 0 {
            errors.push(list.required(""));
        } else if list.len() > 1 && list.elements().any(|one| one.text() == "*") {
            errors.push(list.invalid(detail));
        }
    }
    for operation in rule.get("operations").elements() {
        operation.check_one_of(&OPERATIONS, errors);
    }
    for version in rule.get("apiVersions").elements().filter(|version| version.text().is_empty()) {
        errors.push(version.required(""));
    }
    if rule.get("resources").len() == 0 {
        errors.push(rule.get("resources").required(""));
    }
    rule.get("scope").check_one_of(&["*", "Cluster", "Namespaced"], errors);
}

/// Checks match conditions: each is named once and says something.
pub(super) fn check_conditions(conditions: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = Vec::new();
    for condition in conditions.elements() {
        let name = condition.get("name");
        if name.check_present(errors) {
            name.check(names::qualified_name, errors);
        }
        if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        seen.push(name.text());
        condition.get("expression").check_present(errors);
    }
}

/// Checks what a policy matches. A policy has to say; a binding may.
pub(super) fn check_constraints(constraints: &Field<'_, '_>, errors: &mut ErrorList) {
    constraints.get("matchPolicy").check_one_of(&["Equivalent", "Exact"], errors);
    label_selector::check(&constraints.get("namespaceSelector"), errors);
    label_selector::check(&constraints.get("objectSelector"), errors);
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in constraints.get(list).elements() {
            check_rule(&rule, errors);
        }
    }
}

/// Checks what the two kinds of policies share.
pub(super) fn check_policy(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    spec.get("failurePolicy").check_one_of(&["Fail", "Ignore"], errors);
    let kind = spec.get("paramKind");
    if kind.exists() {
        kind.get("apiVersion").check_present(errors);
        kind.get("kind").check_present(errors);
    }
    let constraints = spec.get("matchConstraints");
    if constraints.exists() {
        check_constraints(&constraints, errors);
        if constraints.get("resourceRules").len() == 0 {
            errors.push(constraints.get("resourceRules").required(""));
        }
    } else {
        errors.push(constraints.required(""));
    }
    check_conditions(&spec.get("matchConditions"), errors);
}

/// Checks what the two kinds of bindings share.
pub(super) fn check_binding(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.get("policyName");
    if policy.check_present(errors) {
        policy.check(names::dns_subdomain, errors);
    }
    let parameters = spec.get("paramRef");
    if parameters.exists() {
        if parameters.get("name").exists() == parameters.get("selector").exists() {
            errors.push(parameters.get("name").required("one of name or selector must be specified"));
        }
        let action = parameters.get("parameterNotFoundAction");
        if action.exists() {
            action.check_one_of(&["Allow", "Deny"], errors);
        } else {
            errors.push(action.required(""));
        }
    }
    check_constraints(&spec.get("matchResources"), errors);
}
