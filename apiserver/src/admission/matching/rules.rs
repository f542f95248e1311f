//! Rules over operations, resources and scopes.
//!
//! Kubernetes concept: `RuleWithOperations`, and `rules.Matcher` of the webhook plug-ins.

use std::sync::Arc;

use registry_core::api::GroupVersionResource;
use registry_core::registry::InstalledPath;
use serde_json::Value;

use crate::admission::Attributes;

use super::{MatchPolicy, Matched, NAMESPACES, own_path};

/// A rule. Lists may contain `*`, which matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The operations.
    pub(crate) operations: Names,
    /// The API groups.
    pub(crate) groups: Names,
    /// The API versions.
    pub(crate) versions: Names,
    /// The resources.
    pub(crate) resources: Vec<ResourcePattern>,
    /// The scope of the resources.
    pub(crate) scope: RuleScope,
    /// The names of the objects; if there are none, all match.
    pub(crate) resource_names: Vec<String>,
}

/// A list of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// `*`: all.
    All,
    /// These.
    Only(Vec<String>),
}

/// A pattern of resources: `pods`, `pods/exec`, `pods/*`, `*/scale`, `*`, `*/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourcePattern {
    /// The resource; `None` for all.
    resource: Option<String>,
    /// The subresource, empty for the resource itself; `None` for all, and the resource itself.
    subresource: Option<String>,
}

/// The scope that a rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RuleScope {
    /// All.
    #[default]
    All,
    /// Namespaced resources.
    Namespaced,
    /// Resources of the cluster, namespaces among them.
    Cluster,
    /// None: a word that this server does not know.
    None,
}

/// A write that rules are compared with.
pub(super) struct Target<'a> {
    attributes: &'a Attributes<'a>,
    namespace: &'a str,
}

/// Returns the version of a write that matches one of the rules. The version of the request goes first; if the policy
/// allows equivalent versions, another version follows, by the first rule that matches any.
pub(super) fn find(rules: &[Rule], policy: MatchPolicy, target: &Target<'_>) -> Option<Matched> {
    let own = target.attributes.resource;
    let mut applicable = rules.iter().filter(|rule| rule.applies(target));
    if applicable.clone().any(|rule| rule.covers(own, target)) {
        return Some(Matched { path: None });
    }
    // Most rules are about other resources: what is served is looked up only for those that may match.
    if policy == MatchPolicy::Exact || applicable.clone().next().is_none() {
        return None;
    }
    let others = target.equivalents();
    applicable.find_map(|rule| {
        let path = others.iter().find(|path| rule.covers(path.resource.resource(), target))?;
        Some(Matched { path: Some(path.clone()) })
    })
}

// === impl Rule ===

impl Rule {
    /// Reads a list of rules.
    pub(super) fn list(rules: Option<&Value>) -> Vec<Self> {
        rules.and_then(Value::as_array).into_iter().flatten().map(Self::from_value).collect()
    }

    fn from_value(rule: &Value) -> Self {
        Self {
            operations: Names::from_list(rule.get("operations")),
            groups: Names::from_list(rule.get("apiGroups")),
            versions: Names::from_list(rule.get("apiVersions")),
            resources: strings(rule.get("resources")).map(ResourcePattern::parse).collect(),
            scope: RuleScope::from_name(rule.get("scope").and_then(Value::as_str)),
            resource_names: strings(rule.get("resourceNames")).map(str::to_owned).collect(),
        }
    }

    /// Whether the rule matches what does not depend on the version: the operation, the subresource and the name.
    fn applies(&self, target: &Target<'_>) -> bool {
        let attributes = target.attributes;
        let names = &self.resource_names;
        self.operations.contain(attributes.operation.as_str())
            && self.resources.iter().any(|pattern| pattern.has_subresource(attributes.subresource))
            && (names.is_empty() || names.iter().any(|name| name == attributes.name))
    }

    /// Whether the rule matches the resource in a version.
    fn covers(&self, resource: GroupVersionResource, target: &Target<'_>) -> bool {
        let subresource = target.attributes.subresource;
        self.scope.covers(resource, target.namespace)
            && self.groups.contain(resource.group)
            && self.versions.contain(resource.version)
            && self.resources.iter().any(|pattern| pattern.matches(resource.resource, subresource))
    }
}

// === impl Names ===

impl Default for Names {
    fn default() -> Self {
        Self::Only(Vec::new())
    }
}

impl Names {
    fn from_list(list: Option<&Value>) -> Self {
        if strings(list).any(|name| name == "*") {
            return Self::All;
        }
        Self::Only(strings(list).map(str::to_owned).collect())
    }

    fn contain(&self, wanted: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| name == wanted),
        }
    }
}

// === impl ResourcePattern ===

impl ResourcePattern {
    fn parse(text: &str) -> Self {
        let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
        let unless_any = |name: &str| (name != "*").then(|| name.to_owned());
        Self { resource: unless_any(resource), subresource: unless_any(subresource) }
    }

    fn has_subresource(&self, subresource: &str) -> bool {
        self.subresource.as_deref().is_none_or(|own| own == subresource)
    }

    fn matches(&self, resource: &str, subresource: &str) -> bool {
        self.resource.as_deref().is_none_or(|own| own == resource) && self.has_subresource(subresource)
    }
}

// === impl RuleScope ===

impl RuleScope {
    fn from_name(scope: Option<&str>) -> Self {
        match scope {
            None | Some("*") => Self::All,
            Some("Namespaced") => Self::Namespaced,
            Some("Cluster") => Self::Cluster,
            Some(_) => Self::None,
        }
    }

    fn covers(self, resource: GroupVersionResource, namespace: &str) -> bool {
        // The namespace of a namespace is its name, but it is an object of the cluster.
        let is_of_cluster = namespace.is_empty() || resource.group_resource() == NAMESPACES;
        match self {
            Self::All => true,
            Self::Namespaced => !is_of_cluster,
            Self::Cluster => is_of_cluster,
            Self::None => false,
        }
    }
}

// === impl Target ===

impl<'a> Target<'a> {
    pub(super) fn new(attributes: &'a Attributes<'a>, namespace: &'a str) -> Self {
        Self { attributes, namespace }
    }

    /// Returns the paths of the other versions in which the same objects are served.
    fn equivalents(&self) -> Vec<Arc<InstalledPath>> {
        let Attributes { resource, kinds, .. } = *self.attributes;
        let Some(own) = own_path(self.attributes) else { return Vec::new() };
        let mut others = kinds.equivalents(&own);
        others.retain(|path| path.resource.resource() != resource);
        others
    }
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> + Clone {
    list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str)
}
