//! Format rules of names, labels and similar strings (RFC 1123, RFC 1035, qualified names).
//!
//! Each check returns Kubernetes' error messages; an empty list means valid.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/util/validation`, `…/api/validation`.

/// Maximum length of a DNS label, in bytes.
pub const MAX_DNS_LABEL_BYTES: usize = 63;
/// Maximum length of a DNS subdomain, in bytes.
pub const MAX_DNS_SUBDOMAIN_BYTES: usize = 253;
/// Maximum length of a label value and of the name part of a qualified name, in bytes.
pub const MAX_LABEL_BYTES: usize = 63;
/// Maximum length of a port name, in bytes.
pub const MAX_PORT_NAME_BYTES: usize = 15;

const CHARACTERS: &str = "characters";
const BYTES: &str = "bytes";

/// The format rule for the names of a resource's objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// `example.com`: the rule of most resources.
    #[default]
    DnsSubdomain,
    /// `my-name`: no dots, for names that become the first label of a host name.
    DnsLabel,
    /// `my-name`, starting with a letter.
    Dns1035Label,
    /// Any valid segment of a URL path: RBAC objects.
    PathSegment,
    /// No rule other than what a URL allows: certificate signing requests.
    Any,
}

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FORMAT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const WILDCARD_FORMAT: &str = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const PATH_FORMAT: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
const LABEL_1035_FORMAT: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE_FORMAT: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
     or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character";
const WILDCARD_TEXT: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
     subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an \
     alphanumeric character";
const LABEL_1035_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
     start with an alphabetic character, and end with an alphanumeric character";
const QUALIFIED_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
     end with an alphanumeric character";
const LABEL_VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character";

// === impl NameRule ===

impl NameRule {
    /// Checks a complete name.
    pub fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::DnsSubdomain => dns_subdomain(name),
            Self::DnsLabel => dns_label(name),
            Self::Dns1035Label => dns_1035_label(name),
            Self::PathSegment => path_segment(name),
            Self::Any => Vec::new(),
        }
    }

    /// Checks a `generateName`, to which more characters will be appended.
    pub fn check_prefix(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment => path_segment_characters(prefix),
            Self::Any => Vec::new(),
            rule => rule.check(&mask_trailing_dash(prefix)),
        }
    }
}

/// A prefix may end in a dash although a name must not: `web-` is checked as `wea`, as Kubernetes does.
fn mask_trailing_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => prefix.to_owned(),
    }
}

// === checks ===

/// Checks a DNS-1123 label.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, MAX_DNS_LABEL_BYTES, CHARACTERS);
    if !is_dns_label(value) {
        complaints.push(if is_dns_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            pattern(LABEL_TEXT, LABEL_FORMAT, &["my-name", "123-abc"])
        });
    }
    complaints
}

/// Checks a DNS-1123 subdomain.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    subdomain(value, CHARACTERS)
}

fn subdomain(value: &str, unit: &str) -> Vec<String> {
    let mut complaints = too_long(value, MAX_DNS_SUBDOMAIN_BYTES, unit);
    if !is_dns_subdomain(value) {
        complaints.push(pattern(SUBDOMAIN_TEXT, SUBDOMAIN_FORMAT, &["example.com"]));
    }
    complaints
}

/// Checks a DNS-1123 subdomain whose first label is `*`.
pub fn wildcard_dns_subdomain(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, MAX_DNS_SUBDOMAIN_BYTES, CHARACTERS);
    if !value.strip_prefix("*.").is_some_and(is_dns_subdomain) {
        complaints.push(pattern(WILDCARD_TEXT, WILDCARD_FORMAT, &["*.example.com"]));
    }
    complaints
}

/// Checks a name that must be a domain of at least three labels (`name.group.example`).
pub fn fully_qualified(value: &str) -> Vec<String> {
    let complaints = dns_subdomain(value);
    if complaints.is_empty() && value.split('.').count() < 3 {
        return vec!["should be a domain with at least three segments separated by dots".to_owned()];
    }
    complaints
}

/// Checks a domain followed by a path: `example.com/controller`.
pub fn domain_prefixed_path(value: &str) -> Vec<String> {
    let Some((domain, path)) =
        value.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return vec!["must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned()];
    };
    let mut complaints: Vec<_> =
        dns_subdomain(domain).iter().map(|text| format!("prefix part {text}")).collect();
    let is_path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/%:-._~!$&'()*+,;=".contains(&byte);
    if !path.bytes().all(is_path_byte) {
        let text = "Invalid path";
        complaints.push(pattern(text, PATH_FORMAT, &[]));
    }
    complaints
}

/// Checks a port name.
pub fn port_name(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if value.len() > MAX_PORT_NAME_BYTES {
        complaints.push(format!("must be no more than {MAX_PORT_NAME_BYTES} characters"));
    }
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if value.is_empty() || !value.bytes().all(is_known) {
        complaints.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        complaints.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        complaints.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        complaints.push("must not begin or end with a hyphen".to_owned());
    }
    complaints
}

/// Checks a DNS-1035 label.
pub fn dns_1035_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, MAX_DNS_LABEL_BYTES, CHARACTERS);
    if !(is_dns_label(value) && value.starts_with(|first: char| first.is_ascii_lowercase())) {
        complaints.push(pattern(LABEL_1035_TEXT, LABEL_1035_FORMAT, &["my-name", "abc-123"]));
    }
    complaints
}

/// Checks a qualified name: a label key, an annotation key or a finalizer.
pub fn qualified_name(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut parts = value.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                complaints.push("prefix part must be non-empty".to_owned());
            } else {
                complaints.extend(subdomain(prefix, BYTES).iter().map(|text| format!("prefix part {text}")));
            }
            name
        }
        _ => {
            let text = qualified_pattern();
            let hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {text} {hint}")];
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else {
        complaints
            .extend(too_long(name, MAX_LABEL_BYTES, BYTES).iter().map(|text| format!("name part {text}")));
    }
    if !is_qualified(name) {
        complaints.push(format!("name part {}", qualified_pattern()));
    }
    complaints
}

/// Checks a label value.
pub fn label_value(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, MAX_LABEL_BYTES, BYTES);
    if !value.is_empty() && !is_qualified(value) {
        complaints.push(pattern(LABEL_VALUE_TEXT, LABEL_VALUE_FORMAT, &["MyValue", "my_value", "12345"]));
    }
    complaints
}

/// Checks a name that becomes a segment of a URL path.
pub fn path_segment(value: &str) -> Vec<String> {
    if value == "." || value == ".." {
        return vec![format!("may not be '{value}'")];
    }
    path_segment_characters(value)
}

fn path_segment_characters(value: &str) -> Vec<String> {
    let forbidden = ['/', '%'];
    forbidden
        .iter()
        .filter(|text| value.contains(**text))
        .map(|text| format!("may not contain '{text}'"))
        .collect()
}

// === the patterns, without a regular expression engine ===

fn is_dns_label(value: &str) -> bool {
    is_framed(value, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), |byte| byte == b'-')
}

fn is_dns_subdomain(value: &str) -> bool {
    value.split('.').all(is_dns_label)
}

fn is_qualified(value: &str) -> bool {
    is_framed(value, |byte| byte.is_ascii_alphanumeric(), |byte| matches!(byte, b'-' | b'_' | b'.'))
}

/// Whether the value is non-empty, starts and ends with an outer character, and otherwise has outer or inner
/// characters.
fn is_framed(value: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [only] => outer(*only),
        [first, middle @ .., last] => {
            outer(*first) && outer(*last) && middle.iter().all(|byte| outer(*byte) || inner(*byte))
        }
        [] => false,
    }
}

// === texts ===

fn qualified_pattern() -> String {
    pattern(QUALIFIED_TEXT, QUALIFIED_FORMAT, &["MyName", "my.name", "123-abc"])
}

/// Kubernetes counts bytes but calls them "characters" for names and "bytes" for labels; `unit` selects the word.
fn too_long(value: &str, limit_bytes: usize, unit: &str) -> Vec<String> {
    if value.len() > limit_bytes {
        vec![format!("must be no more than {limit_bytes} {unit}")]
    } else {
        Vec::new()
    }
}

/// Formats the description, the examples and the regular expression with Kubernetes' spacing.
fn pattern(text: &str, format: &str, examples: &[&str]) -> String {
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{text} (e.g. {}regex used for validation is '{format}')", examples.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

    #[test]
    fn complaints_are_kubernetes_own() {
        let long = "a".repeat(64);
        let table: &[(Vec<String>, &[&str])] = &[
            (dns_subdomain("a.b-c.1"), &[]),
            (dns_subdomain("Bad_Name!"), &[SUBDOMAIN]),
            (dns_subdomain(""), &[SUBDOMAIN]),
            (dns_subdomain("a..b"), &[SUBDOMAIN]),
            (dns_label("a.b"), &["must not contain dots"]),
            (dns_label("-a"), &[LABEL]),
            (dns_label(&long), &["must be no more than 63 characters"]),
            (dns_1035_label(&long), &["must be no more than 63 characters"]),
            (dns_subdomain(&"a".repeat(254)), &["must be no more than 253 characters"]),
            (label_value(&long), &["must be no more than 63 bytes"]),
            (dns_1035_label("a1"), &[]),
            (qualified_name("example.com/My_name.x"), &[]),
            (qualified_name("bad label!"), &[QUALIFIED]),
            (qualified_name(""), &["name part must be non-empty", QUALIFIED]),
            (qualified_name("/a"), &["prefix part must be non-empty"]),
            (qualified_name(&long), &["name part must be no more than 63 bytes"]),
            (label_value(""), &[]),
            (
                label_value("-"),
                &[
                    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                ],
            ),
            (path_segment(".."), &["may not be '..'"]),
            (path_segment("a/b%"), &["may not contain '/'", "may not contain '%'"]),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
        assert!(dns_1035_label("1a")[0].starts_with("a DNS-1035 label must"));
        assert!(qualified_name("a/b/c")[0].ends_with("and '/' (e.g. 'example.com/MyName')"));
    }

    #[test]
    fn a_prefix_may_end_in_a_dash() {
        assert!(NameRule::DnsSubdomain.check_prefix("web-").is_empty());
        assert!(NameRule::DnsLabel.check_prefix("w-").is_empty());
        assert!(!NameRule::DnsLabel.check_prefix("-").is_empty());
        assert!(!NameRule::DnsSubdomain.check("web-").is_empty());
        assert!(NameRule::PathSegment.check_prefix(".").is_empty());
    }
}
