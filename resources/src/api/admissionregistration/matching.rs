//! The matching rules that webhooks and policies share.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{
    MatchResources, MatchResourcesMut, MutatingAdmissionPolicyBindingSpec,
    MutatingAdmissionPolicyBindingSpecMut, MutatingAdmissionPolicySpecMut, MutatingWebhook, ParamKind,
    ParamRef, RuleWithOperations, ValidatingWebhookMut, WebhookClientConfig,
};
use resource_views::alike::AnyAdmissionPolicySpec;
use resource_views::{List, Text, Typed as _};
use serde_json::{Value, json};

use super::expressions::Expressions;
use crate::support::label_selector;
use crate::support::port_number;
use crate::support::webhook_client;

/// The versions of reviews that this server sends.
const KNOWN_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// The classes of webhooks without side effects.
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
/// All classes.
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];

/// Sets the defaults of a webhook.
pub(super) fn default_webhook(mut webhook: ValidatingWebhookMut<'_>) {
    webhook.failure_policy().or_if_absent("Fail");
    webhook.match_policy().or_if_absent("Equivalent");
    webhook.namespace_selector().or_value(|| json!({}));
    webhook.object_selector().or_value(|| json!({}));
    webhook.timeout_seconds().or_if_absent(10);
    webhook.client_config().edit(|mut client| client.service().edit(|mut service| service.port().or(443)));
    webhook.rules().elements().for_each(|mut rule| rule.scope().or_if_absent("*"));
}

/// Sets the defaults of a policy. A validating one has the same fields.
pub(super) fn default_policy(mut spec: MutatingAdmissionPolicySpecMut<'_>) {
    spec.failure_policy().or_if_absent("Fail");
    spec.match_constraints().edit(default_constraints);
}

/// Sets the defaults of a binding. A validating one has the same fields.
pub(super) fn default_binding(mut spec: MutatingAdmissionPolicyBindingSpecMut<'_>) {
    spec.match_resources().edit(default_constraints);
}

fn default_constraints(mut constraints: MatchResourcesMut<'_>) {
    constraints.match_policy().or_if_absent("Equivalent");
    constraints.namespace_selector().or_value(|| json!({}));
    constraints.object_selector().or_value(|| json!({}));
    constraints.resource_rules().elements().for_each(|mut rule| rule.scope().or_if_absent("*"));
    constraints.exclude_resource_rules().elements().for_each(|mut rule| rule.scope().or_if_absent("*"));
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
    webhooks: &List<MutatingWebhook<'_, '_>>,
    old: Option<&List<MutatingWebhook<'_, '_>>>,
    budget: &Budget,
    errors: &mut ErrorList,
) {
    let strictness = Strictness::from_webhooks(webhooks, old);
    let mut expressions = Expressions::for_webhooks(strictness.old, budget);
    let mut seen = HashSet::new();
    for webhook in webhooks.elements() {
        check_webhook(&webhook, &strictness, &mut expressions, errors);
        let name = webhook.name();
        let is_repeated = !name.text().is_empty() && !seen.insert(name.text());
        if strictness.unique_names && is_repeated {
            errors.push(name.duplicate());
        }
    }
}

fn check_webhook(
    webhook: &MutatingWebhook<'_, '_>,
    strictness: &Strictness<'_>,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    let name = webhook.name();
    name.check_named(names::fully_qualified, errors);
    check_review_versions(&webhook.admission_review_versions(), strictness.known_versions, errors);
    for rule in webhook.rules().elements() {
        check_rule(&rule, errors);
    }
    webhook.failure_policy().check_one_of(&["Fail", "Ignore"], errors);
    webhook.match_policy().check_one_of(&["Equivalent", "Exact"], errors);
    webhook.reinvocation_policy().check_one_of(&["IfNeeded", "Never"], errors);
    let effects = webhook.side_effects();
    let classes = if strictness.no_side_effects { NO_SIDE_EFFECTS } else { SIDE_EFFECTS };
    if effects.exists() {
        effects.check_one_of(classes, errors);
    } else {
        errors.push(effects.required(format!("must specify one of {}", classes.join(", "))));
    }
    let timeout = webhook.timeout_seconds();
    if timeout.integer().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    label_selector::check(&webhook.namespace_selector(), errors);
    label_selector::check(&webhook.object_selector(), errors);
    check_client(&webhook.client_config(), errors);
    if strictness.conditions {
        expressions.check_conditions(&webhook.match_conditions(), errors);
    }
}

fn check_review_versions(versions: &List<Text<'_, '_>>, requires_known: bool, errors: &mut ErrorList) {
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

fn check_client(client: &WebhookClientConfig<'_, '_>, errors: &mut ErrorList) {
    let url = client.url();
    let service = client.service();
    if url.exists() == service.exists() {
        errors.push(client.required("exactly one of url or service is required"));
    } else if url.exists() {
        webhook_client::check_url(&url.path(), url.text(), errors);
    } else {
        // Kubernetes confuses the two: the error about an empty name has the path of the namespace, and the reverse.
        service.name().shown_as("namespace").check_present(errors);
        service.namespace().shown_as("name").check_present(errors);
        let port = service.port();
        if let Some(complaint) = port.integer().and_then(port_number::called_service_complaint) {
            errors.push(port.invalid(complaint));
        }
        let path = service.path();
        webhook_client::check_service_path(&path.path(), path.text(), errors);
    }
}

/// Checks a rule: no list is empty, and `*` is the only element of its list.
pub(super) fn check_rule(rule: &RuleWithOperations<'_, '_>, errors: &mut ErrorList) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for (list, others) in [
        (rule.operations(), "operations"),
        (rule.api_groups(), "API groups"),
        (rule.api_versions(), "API versions"),
    ] {
        if list.is_empty() {
            errors.push(list.required(""));
        } else if list.len() > 1 && list.texts().any(|text| text == "*") {
            errors.push(list.invalid(format!("if '*' is present, must not specify other {others}")));
        }
    }
    for operation in rule.operations().elements() {
        operation.check_one_of(&OPERATIONS, errors);
    }
    for version in rule.api_versions().elements().filter(|version| version.text().is_empty()) {
        errors.push(version.required(""));
    }
    check_resources(&rule.resources(), errors);
    rule.scope().check_one_of(&["*", "Cluster", "Namespaced"], errors);
}

/// Checks resources and subresources: those that a wildcard covers must not be listed again.
fn check_resources(resources: &List<Text<'_, '_>>, errors: &mut ErrorList) {
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
pub(super) fn check_mutated_operations(constraints: &MatchResources<'_, '_>, errors: &mut ErrorList) {
    const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
    let rules = constraints.resource_rules();
    for rule in rules.elements() {
        for operation in
            rule.operations().elements().filter(|operation| !OPERATIONS.contains(&operation.text()))
        {
            let path = rules.path().child("operations");
            errors.push(FieldError::not_supported(path, operation.text(), &OPERATIONS));
        }
    }
}

/// Checks the resources that a policy or a binding matches.
pub(super) fn check_constraints(constraints: &MatchResources<'_, '_>, errors: &mut ErrorList) {
    constraints.match_policy().check_one_of(&["Equivalent", "Exact"], errors);
    label_selector::check(&constraints.namespace_selector(), errors);
    label_selector::check(&constraints.object_selector(), errors);
    for list in [constraints.resource_rules(), constraints.exclude_resource_rules()] {
        for rule in list.elements() {
            check_resource_names(&rule.resource_names(), errors);
            check_rule(&rule.into(), errors);
        }
    }
}

fn check_resource_names(resource_names: &List<Text<'_, '_>>, errors: &mut ErrorList) {
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
    spec: &AnyAdmissionPolicySpec<'_, '_>,
    old: Option<&AnyAdmissionPolicySpec<'_, '_>>,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    spec.failure_policy().check_one_of(&["Fail", "Ignore"], errors);
    let kind = spec.param_kind();
    if kind.exists() {
        check_param_kind(&kind, errors);
    }
    let constraints = spec.match_constraints();
    if constraints.exists() {
        check_constraints(&constraints, errors);
        if constraints.resource_rules().is_empty() {
            errors.push(constraints.resource_rules().required(""));
        }
    } else {
        errors.push(constraints.required(""));
    }
    let is_unchanged = old.is_some_and(|old| {
        spec.param_kind().value() == old.param_kind().value()
            && spec.match_conditions().value() == old.match_conditions().value()
    });
    if !is_unchanged {
        expressions.check_conditions(&spec.match_conditions(), errors);
    }
}

/// Checks `paramKind`.
fn check_param_kind(param_kind: &ParamKind<'_, '_>, errors: &mut ErrorList) {
    let api_version = param_kind.api_version();
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
    let kind = param_kind.kind();
    if kind.check_present(errors) {
        let complaints = names::dns_1035_label(&kind.text().to_lowercase());
        if !complaints.is_empty() {
            let hint = "may have mixed case, but should otherwise match: ";
            errors.push(kind.invalid(format!("{hint}{}", complaints.join(","))));
        }
    }
}

/// Checks the fields that both kinds of bindings share.
pub(super) fn check_binding(spec: &MutatingAdmissionPolicyBindingSpec<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.policy_name();
    if policy.check_present(errors) {
        policy.check(names::dns_subdomain, errors);
    }
    let parameters = spec.param_ref();
    if parameters.exists() {
        check_parameters(&parameters, errors);
    }
    check_constraints(&spec.match_resources(), errors);
}

fn check_parameters(parameters: &ParamRef<'_, '_>, errors: &mut ErrorList) {
    let name = parameters.name();
    let selector = parameters.selector();
    let has_name = !name.text().is_empty();
    if has_name {
        name.check(names::path_segment, errors);
    }
    label_selector::check(&selector, errors);
    match (has_name, selector.exists()) {
        (true, true) => {
            errors.push(name.forbidden("name and selector are mutually exclusive"));
            errors.push(selector.forbidden("name and selector are mutually exclusive"));
        }
        (false, false) => errors.push(parameters.required("one of name or selector must be specified")),
        _ => {}
    }
    let action = parameters.parameter_not_found_action();
    if action.check_present(errors) {
        action.check_one_of(&["Deny", "Allow"], errors);
    }
}

// === impl Strictness ===

impl<'o> Strictness<'o> {
    fn from_webhooks(
        webhooks: &List<MutatingWebhook<'_, '_>>,
        old: Option<&List<MutatingWebhook<'o, '_>>>,
    ) -> Self {
        let Some(former) = old else {
            return Self {
                old: None,
                unique_names: true,
                no_side_effects: true,
                known_versions: true,
                conditions: true,
            };
        };
        let mut names = HashSet::new();
        let is_known = |webhook: &MutatingWebhook<'_, '_>| {
            let versions = webhook.admission_review_versions();
            versions.is_empty() || versions.texts().any(|version| KNOWN_VERSIONS.contains(&version))
        };
        let mut pairs = former.elements().zip(webhooks.elements());
        let is_unchanged = former.len() == webhooks.len()
            && pairs.all(|(old, new)| old.match_conditions().value() == new.match_conditions().value());
        Self {
            old: former.value(),
            unique_names: former.elements().all(|webhook| names.insert(webhook.name().text())),
            no_side_effects: former
                .elements()
                .all(|webhook| NO_SIDE_EFFECTS.contains(&webhook.side_effects().text())),
            known_versions: former.elements().all(|webhook| is_known(&webhook)),
            conditions: !is_unchanged,
        }
    }
}
