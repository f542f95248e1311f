//! Which writes webhooks and policies apply to.
//!
//! | module | contents |
//! |---|---|
//! | `rules` | rules over operations, resources and scopes |
//! | `selectors` | selectors of the object's labels |
//! | `namespaces` | selectors of the namespace's labels |
//! | `versions` | objects in the version that a rule matches |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/policy/matching`, and the `predicates` of
//! `plugin/webhook`, which do the same for webhooks.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::selector::{LabelSelector, SelectorError};
use registry_core::api::{GroupResource, GroupVersionKind, GroupVersionResource, Object, StatusError};
use registry_core::registry::{InstalledApi, InstalledPath};
use serde_json::Value;

use super::{Attributes, Operation};

mod namespaces;
mod rules;
mod selectors;
#[cfg(test)]
mod tests;
mod versions;

use namespaces::Namespaces;
pub(crate) use rules::Rule;
use rules::Target;
pub(crate) use versions::{MatchedObjects, VersionedObjects, own_path};

/// The resource of namespaces.
const NAMESPACES: GroupResource = GroupResource { group: "", resource: "namespaces" };

/// The kinds that configure admission itself. Neither webhooks nor policies of the API apply to them, so that a wrong one can
/// always be corrected.
const EXEMPT_KINDS: [&str; 6] = [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// Which writes a webhook, a policy or a binding applies to.
#[derive(Clone, Debug)]
pub(crate) struct MatchCriteria {
    /// The rules; if there are none, every write matches.
    pub(crate) rules: Vec<Rule>,
    /// The rules whose writes are excluded.
    pub(crate) excluded: Vec<Rule>,
    /// The selector of the namespace's labels; an invalid one fails the writes that the rules match.
    pub(crate) namespace_selector: Result<LabelSelector, SelectorError>,
    /// The selector of the object's labels; an invalid one fails the writes that the rules match.
    pub(crate) object_selector: Result<LabelSelector, SelectorError>,
    /// Whether rules match a write through another version.
    pub(crate) match_policy: MatchPolicy,
}

/// Whether rules match a write through another version of the same objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MatchPolicy {
    /// Only the version of the request counts.
    #[default]
    Exact,
    /// Every version in which the same objects are served counts.
    Equivalent,
}

/// A write that matches.
#[derive(Clone)]
pub(crate) struct Matched {
    /// The version that the rules match; `None` for the version of the request.
    pub(crate) path: Option<Arc<InstalledPath>>,
}

/// Decides whether writes match criteria.
pub(crate) struct Matcher {
    namespaces: Namespaces,
}

// === impl MatchCriteria ===

impl MatchCriteria {
    /// Reads the criteria of a webhook.
    pub(crate) fn from_webhook(webhook: &Value) -> Self {
        Self { rules: Rule::list(webhook.get("rules")), ..Self::from_match_resources(webhook) }
    }

    /// Reads `MatchResources`: the constraints of a policy or of a binding.
    pub(crate) fn from_match_resources(resources: &Value) -> Self {
        let is_equivalent = resources.get("matchPolicy").and_then(Value::as_str) == Some("Equivalent");
        Self {
            rules: Rule::list(resources.get("resourceRules")),
            excluded: Rule::list(resources.get("excludeResourceRules")),
            namespace_selector: selectors::read(resources.get("namespaceSelector")),
            object_selector: selectors::read(resources.get("objectSelector")),
            match_policy: if is_equivalent { MatchPolicy::Equivalent } else { MatchPolicy::Exact },
        }
    }
}

// === impl Matched ===

impl Matched {
    /// Returns the resource in the version that matches.
    pub(crate) fn resource(&self, attributes: &Attributes<'_>) -> GroupVersionResource {
        self.path.as_ref().map_or(attributes.resource, |path| path.resource.resource())
    }

    /// Returns the kind in the version that matches.
    pub(crate) fn kind(&self, attributes: &Attributes<'_>) -> GroupVersionKind {
        self.path.as_ref().map_or(attributes.kind, |path| path.capabilities.storage.kind())
    }
}

// === impl Matcher ===

impl Matcher {
    /// Creates a matcher that reads the installed namespaces. Without them no namespace has labels.
    pub(crate) fn new(installed: &InstalledApi) -> Self {
        Self { namespaces: Namespaces::new(installed) }
    }

    /// Returns whether, and in which version, a write matches.
    ///
    /// # Errors
    /// Fails only for a write that the rules match: if its namespace does not exist (404) or cannot be read, or if a
    /// selector is invalid.
    pub(crate) async fn matches(
        &self,
        criteria: &MatchCriteria,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Option<Matched>, StatusError> {
        let namespace = namespace_of(context, attributes);
        let target = Target::new(attributes, namespace);
        // Whether a selector fails counts only if the rules match, so that these, which cost less, come first.
        if rules::find(&criteria.excluded, criteria.match_policy, &target).is_some() {
            return Ok(None);
        }
        let matched = if criteria.rules.is_empty() {
            Some(Matched { path: None })
        } else {
            rules::find(&criteria.rules, criteria.match_policy, &target)
        };
        let Some(matched) = matched else { return Ok(None) };
        let selects = selectors::selects(&criteria.object_selector, object, old);
        // An object that is not selected decides even if the namespace cannot be read.
        if matches!(selects, Ok(false)) {
            return Ok(None);
        }
        let is_in =
            self.namespaces.selects(&criteria.namespace_selector, attributes, namespace, object).await?;
        Ok((is_in && selects?).then_some(matched))
    }

    /// Returns a namespace, from the cache, or else consistently.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub(crate) async fn namespace(&self, name: &str) -> Result<Object, StatusError> {
        self.namespaces.get(name).await
    }
}

/// Returns the namespace of a write; that of a write to a namespace is the namespace itself.
pub(crate) fn namespace_of<'a>(context: &'a RequestContext, attributes: &Attributes<'a>) -> &'a str {
    let is_namespace = attributes.resource.group_resource() == NAMESPACES;
    if is_namespace { attributes.name } else { &context.namespace }
}

/// Whether only webhooks of files apply to this write, because it configures admission itself.
pub(crate) fn is_exempt(attributes: &Attributes<'_>) -> bool {
    attributes.kind.group == "admissionregistration.k8s.io" && EXEMPT_KINDS.contains(&attributes.kind.kind)
}

/// Whether a write has its object's newest labels: those of a namespace that is created or updated.
fn carries_namespace(attributes: &Attributes<'_>) -> bool {
    attributes.resource.group_resource() == NAMESPACES
        && attributes.subresource.is_empty()
        && matches!(attributes.operation, Operation::Create | Operation::Update)
}
