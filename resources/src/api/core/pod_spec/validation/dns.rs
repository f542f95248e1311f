//! Names: of the pod in the network, and of others for the pod.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{HostAlias, PodSpec};
use resource_views::{List, Text};

use super::text_rules;
use crate::support::address;

const POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2_048;
const MAX_HOSTNAME_CHARACTERS: usize = 64;

/// Checks `dnsPolicy`.
pub(super) fn check_policy(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    spec.dns_policy().check_word(POLICIES, errors);
}

/// Checks `dnsConfig`, which the policy `None` requires.
pub(super) fn check_config(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let config = spec.dns_config();
    let nameservers = config.nameservers();
    if spec.dns_policy().text() == "None" {
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
    check_searches(&config.searches(), errors);
    for option in config.options().elements() {
        if option.name().text().is_empty() {
            errors.push(option.required("must not be empty"));
        }
    }
}

fn check_searches(searches: &List<Text<'_, '_>>, errors: &mut ErrorList) {
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
pub(super) fn check_hostname_override(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let name = spec.hostname_override();
    let Some(text) = name.optional_text() else { return };
    if spec.set_hostname_as_fqdn().is_true() {
        errors.push(name.forbidden("may not be specified when setHostnameAsFQDN is true"));
    }
    if spec.host_network().is_true() {
        errors.push(name.forbidden("may not be specified when hostNetwork is true"));
    }
    if text.len() > MAX_HOSTNAME_CHARACTERS {
        errors.push(FieldError::too_long(name.path(), MAX_HOSTNAME_CHARACTERS));
    }
    name.check(names::dns_subdomain, errors);
}

/// Checks the entries of the hosts file.
pub(super) fn check_host_aliases(aliases: &List<HostAlias<'_, '_>>, errors: &mut ErrorList) {
    for alias in aliases.elements() {
        address::check_address(&alias.ip(), errors);
        for name in alias.hostnames().elements() {
            name.check(names::dns_subdomain, errors);
        }
    }
}
