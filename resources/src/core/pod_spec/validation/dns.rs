//! Names: of the pod in the network, and of others for the pod.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use super::text_rules;
use crate::core::address;
use crate::support::field::Field;

const POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2_048;
const MAX_HOSTNAME_CHARACTERS: usize = 64;

/// Checks `dnsPolicy`.
pub(super) fn check_policy(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    spec.get("dnsPolicy").check_word(POLICIES, errors);
}

/// Checks `dnsConfig`, which the policy `None` requires.
pub(super) fn check_config(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let config = spec.get("dnsConfig");
    let nameservers = config.get("nameservers");
    if spec.get("dnsPolicy").text() == "None" {
        if !config.exists() {
            errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if nameservers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(nameservers.required(detail));
            return;
        }
    }
    if nameservers.len() > MAX_NAMESERVERS {
        errors.push(nameservers.invalid(format!("must not have more than {MAX_NAMESERVERS} nameservers")));
    }
    for nameserver in nameservers.elements() {
        address::check_address(&nameserver, errors);
    }
    check_searches(&config.get("searches"), errors);
    for option in config.get("options").elements() {
        if option.get("name").text().is_empty() {
            errors.push(option.required("must not be empty"));
        }
    }
}

fn check_searches(searches: &Field<'_, '_>, errors: &mut ErrorList) {
    if searches.is_empty() {
        return;
    }
    if searches.len() > MAX_SEARCHES {
        errors.push(searches.invalid(format!("must not have more than {MAX_SEARCHES} search paths")));
    }
    let characters: usize = searches.elements().map(|domain| domain.text().len()).sum();
    if characters + searches.len() - 1 > MAX_SEARCH_CHARACTERS {
        let detail = format!(
            "must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        );
        errors.push(searches.invalid(detail));
    }
    for domain in searches.elements().filter(|domain| domain.text() != ".") {
        let text = domain.text().strip_suffix('.').unwrap_or(domain.text());
        for complaint in text_rules::search_domain(text) {
            errors.push(FieldError::invalid(domain.path(), text, complaint));
        }
    }
}

/// Checks `hostnameOverride`.
pub(super) fn check_hostname_override(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = spec.get("hostnameOverride");
    let Some(text) = name.optional_text() else { return };
    if spec.get("setHostnameAsFQDN").is_true() {
        errors.push(name.forbidden("may not be specified when setHostnameAsFQDN is true"));
    }
    if spec.get("hostNetwork").is_true() {
        errors.push(name.forbidden("may not be specified when hostNetwork is true"));
    }
    if text.len() > MAX_HOSTNAME_CHARACTERS {
        errors.push(FieldError::too_long(name.path(), MAX_HOSTNAME_CHARACTERS));
    }
    name.check(names::dns_subdomain, errors);
}

/// Checks the entries of the hosts file.
pub(super) fn check_host_aliases(aliases: &Field<'_, '_>, errors: &mut ErrorList) {
    for alias in aliases.elements() {
        address::check_address(&alias.get("ip"), errors);
        for name in alias.get("hostnames").elements() {
            name.check(names::dns_subdomain, errors);
        }
    }
}
