//! Rules of single values in pod specs. Rules of texts return Kubernetes' complaints; none if the text is valid.

use registry_core::api::validation::{ErrorList, names};
use resource_views::{IntOrString, Integer, Text};

use crate::support::port_number;

const MAX_SYSCTL_CHARACTERS: usize = 253;

/// The name of an environment variable, or a prefix of such names.
pub(super) fn variable_name(name: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if name.is_empty() {
        complaints.push("environment variable name must be non-empty".to_owned());
    }
    if !name.chars().all(|character| (' '..='~').contains(&character) && character != '=') {
        let text = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        complaints.push(text.to_owned());
    }
    complaints
}

/// The name of an HTTP header.
pub(super) fn header_name(name: &str) -> Vec<String> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Vec::new();
    }
    let text = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    vec![text.to_owned()]
}

/// A domain of the resolver's search list, whose labels may have underscores.
pub(super) fn search_domain(domain: &str) -> Vec<String> {
    const MAX_CHARACTERS: usize = 253;
    let mut complaints = Vec::new();
    if domain.len() > MAX_CHARACTERS {
        complaints.push(format!("must be no more than {MAX_CHARACTERS} characters"));
    }
    let outer =
        |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: u8| outer(Some(byte)) || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        let bytes = label.strip_prefix('_').unwrap_or(label).bytes();
        outer(bytes.clone().next()) && outer(bytes.clone().next_back()) && bytes.clone().all(inner)
    };
    if !domain.split('.').all(is_label) {
        let text = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
        complaints.push(text.to_owned());
    }
    complaints
}

/// The name of a kernel parameter.
pub(super) fn sysctl_name(name: &str) -> Vec<String> {
    let is_edge =
        |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_segment = |segment: &str| {
        is_edge(segment.bytes().next())
            && is_edge(segment.bytes().next_back())
            && segment.bytes().all(|byte| is_edge(Some(byte)) || matches!(byte, b'-' | b'_'))
    };
    if name.len() <= MAX_SYSCTL_CHARACTERS && name.split(['.', '/']).all(is_segment) {
        return Vec::new();
    }
    vec![format!(
        "must have at most {MAX_SYSCTL_CHARACTERS} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
    )]
}

/// The name of a CSI driver, which may have upper case letters.
pub(super) fn caseless_subdomain(name: &str) -> Vec<String> {
    names::dns_subdomain(&name.to_lowercase())
}

/// A path without `..`.
pub(in crate::api::core) fn path_without_backsteps(path: &str) -> Vec<String> {
    if path.split('/').any(|step| step == "..") {
        return vec!["must not contain '..'".to_owned()];
    }
    Vec::new()
}

/// A relative path without `..`.
pub(super) fn descending_path(path: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if path.starts_with('/') {
        complaints.push("must be a relative path".to_owned());
    }
    complaints.extend(path_without_backsteps(path));
    complaints
}

/// A relative path without `..` whose first step does not start with `..` either: such names are the kubelet's own.
pub(super) fn unreserved_path(path: &str) -> Vec<String> {
    let mut complaints = descending_path(path);
    if path.starts_with("..") && !path.starts_with("../") {
        complaints.push("must not start with '..'".to_owned());
    }
    complaints
}

/// Checks the permissions of a file.
pub(super) fn check_file_mode(mode: &Integer<'_, '_>, errors: &mut ErrorList) {
    if mode.integer().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        errors.push(mode.invalid("must be a number between 0 and 0777 (octal), both inclusive"));
    }
}

/// Checks the policy for pulling an image.
pub(super) fn check_pull_policy(policy: &Text<'_, '_>, errors: &mut ErrorList) {
    policy.check_word(&["Always", "IfNotPresent", "Never"], errors);
}

/// Checks a port, which may be a number or the name of a container's port.
pub(super) fn check_port_or_name(port: &IntOrString<'_, '_>, errors: &mut ErrorList) {
    match port.optional_text() {
        Some(_) => port.as_text().check(names::port_name, errors),
        None => port_number::check(&port.as_integer(), errors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_valid_or_not() {
        type Rule = fn(&str) -> Vec<String>;
        let table: &[(Rule, &[&str], &[&str])] = &[
            (variable_name, &["A", "a b", "1", "..x"], &["", "a=b", "ä", "a\tb"]),
            (header_name, &["X-A"], &["", "X A", "X_A"]),
            (search_domain, &["a", "_a.b_c", "a-b.c"], &["", ".", "a_", "-a", "__a", "A"]),
            (sysctl_name, &["a", "net.ipv4.x", "net/ipv4/a.b"], &["", "a.", "A", "a..b", "-a"]),
            (descending_path, &["", "a/b", "..a", "a..b"], &["/a", "..", "a/../b"]),
            (unreserved_path, &["a/..b", "...a/.."], &["..a"]),
        ];
        for (rule, valid, invalid) in table {
            for text in *valid {
                let complaints: Vec<_> =
                    rule(text).into_iter().filter(|text| !text.contains("start with '..'")).collect();
                let expected = usize::from(text.ends_with("/.."));
                assert_eq!(complaints.len(), expected, "{text}: {complaints:?}");
            }
            for text in *invalid {
                assert!(!rule(text).is_empty(), "{text}");
            }
        }
    }
}
