//! Validation of a pod spec.
//!
//! Kubernetes concept: `ValidatePodSpec` in `pkg/apis/core/validation`.

mod containers;
mod ephemeral;
mod handlers;
mod resources;
mod volumes;
mod windows;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use serde_json::Value;

use crate::support::field::Field;
use crate::support::go_text::{GoShape, OPTIONAL, TEXT};
use crate::support::label_selector;

pub(crate) use volumes::Volumes;

const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
/// The form of a reference to a resource claim in messages.
const RESOURCE_CLAIM: GoShape = GoShape::Struct(&[
    ("Name", "name", TEXT),
    ("ResourceClaimName", "resourceClaimName", OPTIONAL),
    ("ResourceClaimTemplateName", "resourceClaimTemplateName", OPTIONAL),
]);
const MAX_NAMESERVERS: usize = 3;

/// Returns the errors of a pod spec.
pub(crate) fn validate(context: &RequestContext, spec: &Field<'_, '_>) -> ErrorList {
    let mut errors = ErrorList::default();
    let volumes = Volumes::validate(&spec.get("volumes"), &mut errors);
    containers::validate(context.policy, spec, &volumes, &mut errors);
    check_restart_policy(spec, &mut errors);
    check_dns(spec, &mut errors);
    check_names(spec, &mut errors);
    check_security_context(spec, &mut errors);
    check_scheduling(spec, &mut errors);
    for alias in spec.get("hostAliases").elements() {
        check_host_alias(&alias, &mut errors);
    }
    check_operating_system(spec, &mut errors);
    windows::check_host_processes(spec, &mut errors);
    for claim in spec.get("resourceClaims").elements() {
        check_resource_claim(&claim, &mut errors);
    }
    errors
}

fn check_restart_policy(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.get("restartPolicy");
    if policy.exists() {
        policy.check_one_of(RESTART_POLICIES, errors);
    } else {
        errors.push(policy.required(""));
    }
}

fn check_dns(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.get("dnsPolicy");
    policy.check_one_of(DNS_POLICIES, errors);
    let config = spec.get("dnsConfig");
    let nameservers = config.get("nameservers");
    if policy.text() == "None" && !config.exists() {
        errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
    } else if policy.text() == "None" && nameservers.len() == 0 {
        errors
            .push(nameservers.required("must provide at least one DNS nameserver when `dnsPolicy` is None"));
    }
    if nameservers.len() > MAX_NAMESERVERS {
        errors.push(nameservers.invalid(format!("must not have more than {MAX_NAMESERVERS} nameservers")));
    }
    for address in nameservers.elements() {
        check_address(&address, errors);
    }
}

fn check_names(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    for (field, rule) in [
        ("hostname", names::dns_label as fn(&str) -> Vec<String>),
        ("subdomain", names::dns_label),
        ("serviceAccountName", names::dns_subdomain),
        ("nodeName", names::dns_subdomain),
        ("priorityClassName", names::dns_subdomain),
        ("runtimeClassName", names::dns_subdomain),
    ] {
        let field = spec.get(field);
        if !field.text().is_empty() {
            field.check(rule, errors);
        }
    }
    for secret in spec.get("imagePullSecrets").elements() {
        let name = secret.get("name");
        name.check_present(errors);
    }
}

fn check_address(field: &Field<'_, '_>, errors: &mut ErrorList) {
    if field.text().parse::<std::net::IpAddr>().is_err() {
        errors.push(field.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
}

fn check_host_alias(alias: &Field<'_, '_>, errors: &mut ErrorList) {
    check_address(&alias.get("ip"), errors);
    for name in alias.get("hostnames").elements() {
        name.check(names::dns_subdomain, errors);
    }
}

fn check_security_context(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    const MAX_ID: i64 = i32::MAX as i64;
    let context = spec.get("securityContext");
    for id in ["runAsUser", "runAsGroup", "fsGroup"] {
        context.get(id).check_between(0, MAX_ID, errors);
    }
    for group in context.get("supplementalGroups").elements() {
        group.check_between(0, MAX_ID, errors);
    }
    for sysctl in context.get("sysctls").elements() {
        check_sysctl(&sysctl.get("name"), errors);
    }
    if spec.get("shareProcessNamespace").is_true() && spec.get("hostPID").is_true() {
        // The field is part of the spec; its error is reported at its former location, the security context.
        let field = registry_core::api::FieldPath::root();
        let path = format!("{}.shareProcessNamespace", context.path());
        let error = registry_core::api::FieldError::invalid(
            field.child(&path),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        );
        errors.push(error);
    }
}

fn check_sysctl(name: &Field<'_, '_>, errors: &mut ErrorList) {
    const MAX_CHARACTERS: usize = 253;
    if !name.check_present(errors) {
        return;
    }
    let word = |part: &str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        edge(part.chars().next())
            && edge(part.chars().last())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
    };
    if name.text().len() > MAX_CHARACTERS || !name.text().split(['.', '/']).all(word) {
        errors.push(name.invalid(format!(
            "must have at most {MAX_CHARACTERS} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
        )));
    }
}

fn check_scheduling(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    {
        let grace = "terminationGracePeriodSeconds";
        spec.get(grace).check_not_negative(errors);
    }
    let deadline = spec.get("activeDeadlineSeconds");
    deadline.check_between(1, i64::from(i32::MAX), errors);
    let selector = spec.get("nodeSelector");
    label_selector::check_labels(&selector, errors);
    if spec.get("schedulingGates").len() > 0 && !spec.get("nodeName").text().is_empty() {
        errors.push(
            spec.get("nodeName").forbidden("cannot be set until all schedulingGates have been cleared"),
        );
    }
    for gate in spec.get("schedulingGates").elements() {
        gate.get("name").check(names::qualified_name, errors);
    }
    for toleration in spec.get("tolerations").elements() {
        check_toleration(&toleration, errors);
    }
    for constraint in spec.get("topologySpreadConstraints").elements() {
        check_spread(&constraint, errors);
    }
}

fn check_toleration(toleration: &Field<'_, '_>, errors: &mut ErrorList) {
    let key = toleration.get("key");
    let operator = toleration.get("operator");
    let effect = toleration.get("effect");
    if !key.text().is_empty() {
        key.check(names::qualified_name, errors);
    } else if operator.text() != "Exists" {
        errors.push(operator.invalid(
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        ));
    }
    match operator.text() {
        "" | "Equal" => toleration.get("value").check(names::label_value, errors),
        "Exists" if !toleration.get("value").text().is_empty() => {
            let value = toleration.get("value").text();
            errors.push(registry_core::api::FieldError::invalid(
                operator.path(),
                value,
                "value must be empty when `operator` is 'Exists'",
            ));
        }
        "Exists" => {}
        _ => errors.push(operator.unsupported(&["Equal", "Exists"])),
    }
    if toleration.get("tolerationSeconds").exists() && effect.text() != "NoExecute" {
        errors.push(effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    effect.check_one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
}

fn check_spread(constraint: &Field<'_, '_>, errors: &mut ErrorList) {
    let skew = constraint.get("maxSkew");
    if skew.integer().unwrap_or_default() <= 0 {
        errors.push(skew.invalid("must be greater than zero"));
    }
    let key = constraint.get("topologyKey");
    if key.text().is_empty() {
        errors.push(key.required("can not be empty"));
    }
    let when = constraint.get("whenUnsatisfiable");
    if when.exists() {
        when.check_one_of(&["DoNotSchedule", "ScheduleAnyway"], errors);
    } else {
        errors.push(when.unsupported(&["DoNotSchedule", "ScheduleAnyway"]));
    }
    label_selector::check(&constraint.get("labelSelector"), errors);
}

fn check_operating_system(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let system = spec.get("os");
    let name = spec.get("os");
    let name = name.get("name");
    if !system.exists() {
        return;
    }
    if name.text().is_empty() {
        errors.push(name.required("cannot be empty"));
    } else if !["linux", "windows"].contains(&name.text()) {
        let error =
            registry_core::api::FieldError::not_supported(system.path(), name.text(), &["linux", "windows"]);
        errors.push(error);
    }
    if name.text() == "windows" {
        for field in ["hostPID", "hostIPC", "shareProcessNamespace"] {
            let field = spec.get(field);
            if field.value().is_some_and(|value| *value != Value::Bool(false)) {
                errors.push(field.forbidden("cannot be set for a windows pod"));
            }
        }
    }
}

fn check_resource_claim(claim: &Field<'_, '_>, errors: &mut ErrorList) {
    claim.get("name").check(names::dns_label, errors);
    let sources = ["resourceClaimName", "resourceClaimTemplateName"];
    let named = sources.iter().filter(|source| claim.get(source).exists()).count();
    if named == 0 {
        let error = claim.invalid("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
        errors.push(error.shown_as(claim.go_text(RESOURCE_CLAIM)));
    } else if named > 1 {
        errors.push(
            claim.invalid(
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ),
        );
    }
}
