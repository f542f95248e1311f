//! The approval of APIs in the groups of the Kubernetes community.

use registry_core::api::Object;
use registry_core::api::go_text::quote;
use resource_views::apiextensions::v1::CustomResourceDefinition;

use super::findings::{Findings, Place};

/// The annotation that names the approval.
pub(super) const ANNOTATION: &str = "api-approved.kubernetes.io";

const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The content of the annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// Neither a URL nor a reason.
    Invalid,
    /// The URL of the approval.
    Approved,
    /// A reason for the absence of an approval.
    Bypassed,
    /// Nothing.
    Missing,
}

/// Whether APIs in a group need approval.
pub(super) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group.strip_suffix(domain).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('.'))
    })
}

/// Reads the annotation of a definition, and explains it.
pub(super) fn read(object: &Object) -> (Approval, String) {
    let text = annotation(object);
    if text.is_empty() {
        let why = format!("protected groups must have approval annotation {ANNOTATION:?}, {SEE}");
        (Approval::Missing, why)
    } else if text.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {}", quote(text)))
    } else if is_url(text) {
        (Approval::Approved, format!("approved in {text}"))
    } else {
        let why = format!(
            "protected groups must have approval annotation {ANNOTATION:?} with either a URL or a reason \
             starting with \"unapproved\", {SEE}"
        );
        (Approval::Invalid, why)
    }
}

/// Checks that an API that needs approval has it. What was so before may remain.
pub(super) fn check(new: &Object, old: Option<&Object>, findings: &mut Findings<'_>) {
    if !is_protected(CustomResourceDefinition(new).spec().group().text()) {
        return;
    }
    let (approval, why) = read(new);
    if old.is_some_and(|old| read(old).0 == approval) {
        return;
    }
    let place = Place::new("metadata").child("annotations").key(ANNOTATION);
    match approval {
        Approval::Invalid => findings.invalid(&place, annotation(new), why),
        Approval::Missing => findings.required(&place, &why),
        Approval::Approved | Approval::Bypassed => {}
    }
}

fn annotation(object: &Object) -> &str {
    CustomResourceDefinition(object).metadata().annotations().entry(ANNOTATION).text()
}

/// Whether a text is a URL with a scheme and a host.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let mut letters = scheme.bytes();
    let has_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || b"+-.".contains(&letter));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    has_scheme
        && !host.is_empty()
        && !host.contains([' ', '<', '>', '"'])
        && !text.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_of_the_community_are_protected() {
        for group in ["k8s.io", "x.k8s.io", "kubernetes.io", "a.b.kubernetes.io"] {
            assert!(is_protected(group), "{group}");
        }
        for group in ["", "io", "xk8s.io", "k8s.io.example.com", "notkubernetes.io"] {
            assert!(!is_protected(group), "{group}");
        }
    }

    #[test]
    fn the_annotation_is_a_url_or_a_reason() {
        for (text, expected) in [
            ("", Approval::Missing),
            ("unapproved, experimental", Approval::Bypassed),
            ("https://github.com/kubernetes/kubernetes/pull/1", Approval::Approved),
            ("github.com/kubernetes", Approval::Invalid),
            ("https:///path", Approval::Invalid),
            ("://host", Approval::Invalid),
            ("bad", Approval::Invalid),
        ] {
            let object = json!({"metadata": {"annotations": {ANNOTATION: text}}});
            assert_eq!(read(&Object::from_value(object).unwrap()).0, expected, "{text}");
        }
    }
}
