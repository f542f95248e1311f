//! The matching rules that webhooks and policies share.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::context::Budget;
use serde_json::{Value, json};

use super::expressions::Expressions;
use crate::support::defaulting::{self, Fields};
use crate::support::field::Field;
use crate::support::label_selector;
use crate::support::webhook_client;

/// The versions of reviews that this server sends.
const KNOWN_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// The classes of webhooks without side effects.
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
/// All classes.
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];

/// Sets the defaults of a webhook.
pub(super) fn default_webhook(webhook: &mut Fields) {
    for (field, default) in [
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("namespaceSelector", json!({})),
        ("objectSelector", json!({})),
        ("timeoutSeconds", json!(10)),
    ] {
        defaulting::fill_absent(webhook, field, default);
    }
    defaulting::with(webhook, "clientConfig", |client| {
        defaulting::with(client, "service", |service| defaulting::fill(service, "port", 443));
    });
    defaulting::each(webhook, &["rules"], default_rule);
}

/// Sets the defaults of a policy's match constraints.
pub(super) fn default_constraints(constraints: &mut Fields) {
    defaulting::fill_absent(constraints, "matchPolicy", "Equivalent");
    defaulting::fill_absent(constraints, "namespaceSelector", json!({}));
    defaulting::fill_absent(constraints, "objectSelector", json!({}));
    defaulting::each(constraints, &["resourceRules", "excludeResourceRules"], default_rule);
}

fn default_rule(rule: &mut Fields) {
    defaulting::fill_absent(rule, "scope", "*");
}

/// The rules that a configuration must fulfil. An update may keep violations that the old configuration has.
struct Strictness<'o> {
    old: Option<&'o Value>,
    /// Whether names are unique.
    unique_names: bool,
    /// Whether webhooks have no side effects.
    no_side_effects: bool,
    /// Whether each webhook has a known version of reviews.
    known_versions: bool,
    /// Whether match conditions are checked: they are, unless none has changed.
    conditions: bool,
}

/// Checks the webhooks of a configuration, which replaces an old one or is new.
pub(super) fn check_webhooks(
    webhooks: &Field<'_, '_>,
    old: Option<&Object>,
    budget: &Budget,
    errors: &mut ErrorList,
) {
    let strictness = Strictness::from_webhooks(webhooks, old);
    let mut expressions = Expressions::for_webhooks(strictness.old, budget);
    let mut seen = HashSet::new();
    for webhook in webhooks.elements() {
        check_webhook(&webhook, &strictness, &mut expressions, errors);
        let name = webhook.get("name");
        let is_repeated = !name.text().is_empty() && !seen.insert(name.text());
        if strictness.unique_names && is_repeated {
            errors.push(name.duplicate());
        }
    }
}

/// Returns the warning of a name with the ending that is reserved for configurations in files.
pub(super) fn warnings_of_name(object: &Object) -> Vec<String> {
    const RESERVED: &str = ".static.k8s.io";
    let text = format!(
        "metadata.name: names ending with {RESERVED:?} are reserved for static manifest-based configurations and cannot \
         be managed via the API"
    );
    object.name().ends_with(RESERVED).then_some(text).into_iter().collect()
}

fn check_webhook(
    webhook: &Field<'_, '_>,
    strictness: &Strictness<'_>,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    let name = webhook.get("name");
    name.check_named(names::fully_qualified, errors);
    check_review_versions(&webhook.get("admissionReviewVersions"), strictness.known_versions, errors);
    for rule in webhook.get("rules").elements() {
        check_rule(&rule, errors);
    }
    webhook.get("failurePolicy").check_one_of(&["Fail", "Ignore"], errors);
    webhook.get("matchPolicy").check_one_of(&["Equivalent", "Exact"], errors);
    webhook.get("reinvocationPolicy").check_one_of(&["IfNeeded", "Never"], errors);
    let effects = webhook.get("sideEffects");
    let classes = if strictness.no_side_effects { NO_SIDE_EFFECTS } else { SIDE_EFFECTS };
    if effects.exists() {
        effects.check_one_of(classes, errors);
    } else {
        errors.push(effects.required(format!("must specify one of {}", classes.join(", "))));
    }
    let timeout = webhook.get("timeoutSeconds");
    if timeout.integer().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    label_selector::check(&webhook.get("namespaceSelector").view(), errors);
    label_selector::check(&webhook.get("objectSelector").view(), errors);
    check_client(&webhook.get("clientConfig"), errors);
    if strictness.conditions {
        expressions.check_conditions(&webhook.get("matchConditions"), errors);
    }
}

fn check_review_versions(versions: &Field<'_, '_>, requires_known: bool, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for version in versions.elements() {
        if seen.contains(&version.text()) {
            errors.push(version.invalid("duplicate version"));
            continue;
        }
        seen.insert(version.text());
        version.check(names::dns_1035_label, errors);
    }
    if versions.is_empty() {
        errors.push(versions.required("must specify one of v1, v1beta1"));
    } else if requires_known && !seen.iter().any(|version| KNOWN_VERSIONS.contains(version)) {
        errors.push(versions.invalid("must include at least one of v1, v1beta1"));
    }
}

fn check_client(client: &Field<'_, '_>, errors: &mut ErrorList) {
    let url = client.get("url");
    let service = client.get("service");
    if url.exists() == service.exists() {
        errors.push(client.required("exactly one of url or service is required"));
    } else if url.exists() {
        webhook_client::check_url(&url.path(), url.text(), errors);
    } else {
        // Kubernetes confuses the two: the error about an empty name has the path of the namespace, and the reverse.
        for (field, shown) in [("name", "namespace"), ("namespace", "name")] {
            service.get_shown_as(field, shown).check_present(errors);
        }
        let port = service.get("port");
        if port.integer().is_some_and(|number| !(1..=65_535).contains(&number)) {
            errors.push(port.invalid("port is not valid: must be between 1 and 65535, inclusive"));
        }
        let path = service.get("path");
        webhook_client::check_service_path(&path.path(), path.text(), errors);
    }
}

/// Checks a rule: no list is empty, and `*` is the only element of its list.
pub(super) fn check_rule(rule: &Field<'_, '_>, errors: &mut ErrorList) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let words = [
        ("operations", "if '*' is present, must not specify other operations"),
        ("apiGroups", "if '*' is present, must not specify other API groups"),
        ("apiVersions", "if '*' is present, must not specify other API versions"),
    ];
    for (field, detail) in words {
        let list = rule.get(field);
        if list.is_empty() {
            errors.push(list.required(""));
        } else if list.len() > 1 && list.elements().any(|element| element.text() == "*") {
            errors.push(list.invalid(detail));
        }
    }
    for operation in rule.get("operations").elements() {
        operation.check_one_of(&OPERATIONS, errors);
    }
    for version in rule.get("apiVersions").elements().filter(|version| version.text().is_empty()) {
        errors.push(version.required(""));
    }
    check_resources(&rule.get("resources"), errors);
    rule.get("scope").check_one_of(&["*", "Cluster", "Namespaced"], errors);
}

/// Checks resources and subresources: those that a wildcard covers must not be listed again.
fn check_resources(resources: &Field<'_, '_>, errors: &mut ErrorList) {
    if resources.is_empty() {
        errors.push(resources.required(""));
    }
    // Resources with all their subresources (`x/*`), and subresources of all resources (`*/x`).
    let mut whole = HashSet::new();
    let mut everywhere = HashSet::new();
    let mut has_plain = false;
    for resource in resources.elements() {
        let text = resource.text();
        let Some((parent, subresource)) = text.split_once('/') else {
            if text.is_empty() {
                errors.push(resource.required(""));
            } else {
                has_plain = text != "*";
            }
            continue;
        };
        if whole.contains(&parent) {
            errors.push(resource.invalid(format!("if '{parent}/*' is present, must not specify {text}")));
        }
        if everywhere.contains(&subresource) {
            errors
                .push(resource.invalid(format!("if '*/{subresource}' is present, must not specify {text}")));
        }
        if subresource == "*" {
            whole.insert(parent);
        }
        if parent == "*" {
            everywhere.insert(subresource);
        }
    }
    let has = |wanted: &str| resources.elements().any(|resource| resource.text() == wanted);
    if resources.len() > 1 && has("*/*") {
        errors.push(resources.invalid("if '*/*' is present, must not specify other resources"));
    }
    if has("*") && has_plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(resources.invalid(detail));
    }
}

/// Checks that a mutating policy does not match deletions. The error's path does not include the rule's index.
pub(super) fn check_mutated_operations(constraints: &Field<'_, '_>, errors: &mut ErrorList) {
    const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
    let rules = constraints.get("resourceRules");
    for rule in rules.elements() {
        for operation in
            rule.get("operations").elements().filter(|operation| !OPERATIONS.contains(&operation.text()))
        {
            let path = rules.path().child("operations");
            errors.push(FieldError::not_supported(path, operation.text(), &OPERATIONS));
        }
    }
}

/// Checks the resources that a policy or a binding matches.
pub(super) fn check_constraints(constraints: &Field<'_, '_>, errors: &mut ErrorList) {
    constraints.get("matchPolicy").check_one_of(&["Equivalent", "Exact"], errors);
    label_selector::check(&constraints.get("namespaceSelector").view(), errors);
    label_selector::check(&constraints.get("objectSelector").view(), errors);
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in constraints.get(list).elements() {
            check_resource_names(&rule.get("resourceNames"), errors);
            check_rule(&rule, errors);
        }
    }
}

fn check_resource_names(resource_names: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for name in resource_names.elements() {
        name.check(names::path_segment, errors);
        if !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
}

/// Checks the fields that both kinds of policies share, up to their variables. Match conditions that are unchanged are not
/// checked again.
pub(super) fn check_policy(
    spec: &Field<'_, '_>,
    old: Option<&Object>,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    spec.get("failurePolicy").check_one_of(&["Fail", "Ignore"], errors);
    let kind = spec.get("paramKind");
    if kind.exists() {
        check_param_kind(&kind, errors);
    }
    let constraints = spec.get("matchConstraints");
    if constraints.exists() {
        check_constraints(&constraints, errors);
        if constraints.get("resourceRules").is_empty() {
            errors.push(constraints.get("resourceRules").required(""));
        }
    } else {
        errors.push(constraints.required(""));
    }
    let is_unchanged = |old: &Object| {
        let old = Field::top_level(old, "spec");
        let same = |name: &str| spec.get(name).value() == old.get(name).value();
        same("paramKind") && same("matchConditions")
    };
    if !old.is_some_and(is_unchanged) {
        expressions.check_conditions(&spec.get("matchConditions"), errors);
    }
}

/// Checks `paramKind`.
fn check_param_kind(param_kind: &Field<'_, '_>, errors: &mut ErrorList) {
    let api_version = param_kind.get("apiVersion");
    let text = api_version.text();
    let named = |value: &str, complaints: Vec<String>, errors: &mut ErrorList| {
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(api_version.path(), value, complaints.join(",")));
        }
    };
    if api_version.check_present(errors) {
        let (group, version) = text.split_once('/').unwrap_or(("", text));
        if version.contains('/') {
            errors.push(api_version.invalid(format!("unexpected GroupVersion string: {text}")));
        } else {
            if !group.is_empty() {
                named(group, names::dns_subdomain(group), errors);
            }
            if version.is_empty() {
                errors.push(api_version.invalid("version must be specified"));
            } else {
                named(version, names::dns_1035_label(version), errors);
            }
        }
    }
    let kind = param_kind.get("kind");
    if kind.check_present(errors) {
        let complaints = names::dns_1035_label(&kind.text().to_lowercase());
        if !complaints.is_empty() {
            let hint = "may have mixed case, but should otherwise match: ";
            errors.push(kind.invalid(format!("{hint}{}", complaints.join(","))));
        }
    }
}

/// Checks the fields that both kinds of bindings share.
pub(super) fn check_binding(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.get("policyName");
    if policy.check_present(errors) {
        policy.check(names::dns_subdomain, errors);
    }
    let parameters = spec.get("paramRef");
    if parameters.exists() {
        check_parameters(&parameters, errors);
    }
    check_constraints(&spec.get("matchResources"), errors);
}

fn check_parameters(parameters: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = parameters.get("name");
    let selector = parameters.get("selector");
    let has_name = !name.text().is_empty();
    if has_name {
        name.check(names::path_segment, errors);
    }
    label_selector::check(&selector.view(), errors);
    match (has_name, selector.exists()) {
        (true, true) => {
            errors.push(name.forbidden("name and selector are mutually exclusive"));
            errors.push(selector.forbidden("name and selector are mutually exclusive"));
        }
        (false, false) => errors.push(parameters.required("one of name or selector must be specified")),
        _ => {}
    }
    let action = parameters.get("parameterNotFoundAction");
    if action.check_present(errors) {
        action.check_one_of(&["Deny", "Allow"], errors);
    }
}

// === impl Strictness ===

impl<'o> Strictness<'o> {
    fn from_webhooks(webhooks: &Field<'_, '_>, old: Option<&'o Object>) -> Self {
        let Some(old) = old else {
            let (old, yes) = (None, true);
            return Self {
                old,
                unique_names: yes,
                no_side_effects: yes,
                known_versions: yes,
                conditions: yes,
            };
        };
        let former = Field::top_level(old, "webhooks");
        let mut names = HashSet::new();
        let is_known = |webhook: &Field<'_, '_>| {
            let versions = webhook.get("admissionReviewVersions");
            versions.is_empty() || versions.elements().any(|version| KNOWN_VERSIONS.contains(&version.text()))
        };
        let has_none = |webhook: &Field<'_, '_>| NO_SIDE_EFFECTS.contains(&webhook.get("sideEffects").text());
        let mut pairs = former.elements().zip(webhooks.elements());
        let is_unchanged = former.len() == webhooks.len()
            && pairs
                .all(|(old, new)| old.get("matchConditions").value() == new.get("matchConditions").value());
        Self {
            old: old.0.get("webhooks"),
            unique_names: former.elements().all(|webhook| names.insert(webhook.get("name").text())),
            no_side_effects: former.elements().all(|webhook| has_none(&webhook)),
            known_versions: former.elements().all(|webhook| is_known(&webhook)),
            conditions: !is_unchanged,
        }
    }
}
