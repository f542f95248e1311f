//! Compiled rules of roles.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use registry_core::rest::access::{AccessRules, PathRule, ResourceRule};
use serde_json::Value;

use crate::authorization::Attributes;

/// Number of values of a list from which they are looked up by hash.
const MANY_VALUES: usize = 16;
/// Number of rules of a role from which they are looked up by resource.
const MANY_RULES: usize = 24;
/// Matches everything.
const ALL: &str = "*";

/// The rules of a role.
#[derive(Debug, Default)]
pub(in crate::authorization) struct Role {
    rules: Box<[Rule]>,
    /// The resources of all rules.
    resources: ResourceBits,
    /// For roles of many rules: those that name a resource, by its name in the rule.
    by_resource: Option<HashMap<Box<str>, Vec<usize>>>,
}

/// A rule: it allows its verbs on its resources, or on its paths.
#[derive(Debug)]
struct Rule {
    verbs: Verbs,
    groups: Texts,
    resources: Texts,
    resource_bits: ResourceBits,
    /// Whether resources include some of the form `*/subresource`.
    any_resource_of: bool,
    names: Texts,
    paths: Box<[Box<str>]>,
}

/// A set of resources of which each has one of 64 bits: resources without a common bit are different. Most rules that apply to
/// a user are about other resources than a request, and are passed over by it.
#[derive(Clone, Copy, Debug, Default)]
struct ResourceBits(u64);

/// The verbs of a rule. Those of Kubernetes' API are one bit each.
#[derive(Debug)]
struct Verbs {
    known: u16,
    all: Texts,
}

/// A list of texts, possibly with `*`.
#[derive(Debug, Default)]
struct Texts {
    list: Box<[Box<str>]>,
    set: Option<HashSet<Box<str>>>,
    has_all: bool,
}

/// The action that a request asks for, in the form in which rules are compared with it.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    verb: &'a str,
    verb_bit: u16,
    target: Target<'a>,
}

#[derive(Debug)]
enum Target<'a> {
    Resource {
        group: &'a str,
        /// `resource`, or `resource/subresource`.
        resource: Cow<'a, str>,
        /// `*/subresource`, or empty.
        any_resource: String,
        /// Both.
        bits: ResourceBits,
        name: &'a str,
    },
    Path(&'a str),
}

fn verb_bit(verb: &str) -> u16 {
    match verb {
        "get" => 1,
        "list" => 2,
        "watch" => 4,
        "create" => 8,
        "update" => 16,
        "patch" => 32,
        "delete" => 64,
        "deletecollection" => 128,
        _ => 0,
    }
}

// === impl Asked ===

impl<'a> Asked<'a> {
    /// Returns what a request asks for.
    pub(super) fn from_attributes(attributes: &Attributes<'a>) -> Self {
        let target = match attributes.resource {
            None => Target::Path(attributes.path),
            Some(resource) if resource.subresource.is_empty() => Target::Resource {
                group: &resource.group,
                resource: Cow::Borrowed(&resource.resource),
                any_resource: String::new(),
                bits: ResourceBits::from_resource(&resource.resource),
                name: &resource.name,
            },
            Some(resource) => {
                let own = format!("{}/{}", resource.resource, resource.subresource);
                let any_resource = format!("*/{}", resource.subresource);
                Target::Resource {
                    group: &resource.group,
                    bits: ResourceBits::from_resource(&own).with(ResourceBits::from_resource(&any_resource)),
                    resource: Cow::Owned(own),
                    any_resource,
                    name: &resource.name,
                }
            }
        };
        Self { verb: attributes.verb, verb_bit: verb_bit(attributes.verb), target }
    }
}

// === impl ResourceBits ===

impl ResourceBits {
    /// Returns the bit of a resource (FNV-1a), or all of them for `*`.
    fn from_resource(resource: &str) -> Self {
        if resource == ALL {
            return Self(u64::MAX);
        }
        let hash = resource.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(1 << (hash >> 58))
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn may_have(self, asked: Self) -> bool {
        self.0 & asked.0 != 0
    }
}

// === impl Role ===

impl Role {
    /// Compiles the rules of a role, as stored.
    pub(in crate::authorization) fn new(rules: &[Value]) -> Self {
        let rules: Box<[Rule]> = rules.iter().map(Rule::new).collect();
        let by_resource = (rules.len() >= MANY_RULES).then(|| by_resource(&rules));
        let resources = rules.iter().fold(ResourceBits::default(), |all, rule| all.with(rule.resource_bits));
        Self { rules, resources, by_resource }
    }

    /// Returns whether a rule allows the request.
    pub(super) fn allows(&self, asked: &Asked<'_>) -> bool {
        if let Target::Resource { bits, .. } = &asked.target
            && !self.resources.may_have(*bits)
        {
            return false;
        }
        let (Some(by_resource), Target::Resource { resource, any_resource, .. }) =
            (&self.by_resource, &asked.target)
        else {
            return self.rules.iter().any(|rule| rule.allows(asked));
        };
        let named = [&**resource, any_resource.as_str(), ALL].into_iter();
        let candidates = named.filter_map(|name| by_resource.get(name)).flatten();
        candidates.filter_map(|at| self.rules.get(*at)).any(|rule| rule.allows(asked))
    }

    /// Returns whether a rule allows the request. For rules that belong to no role.
    pub(in crate::authorization) fn allows_attributes(&self, attributes: &Attributes<'_>) -> bool {
        self.allows(&Asked::from_attributes(attributes))
    }

    /// Adds the rules to a list.
    pub(super) fn list(&self, rules: &mut AccessRules) {
        for rule in &self.rules {
            if !rule.resources.list.is_empty() {
                rules.resources.push(ResourceRule {
                    verbs: rule.verbs.all.to_vec(),
                    groups: rule.groups.to_vec(),
                    resources: rule.resources.to_vec(),
                    names: rule.names.to_vec(),
                });
            }
            if !rule.paths.is_empty() {
                let paths = rule.paths.iter().map(ToString::to_string).collect();
                rules.paths.push(PathRule { verbs: rule.verbs.all.to_vec(), paths });
            }
        }
    }
}

fn by_resource(rules: &[Rule]) -> HashMap<Box<str>, Vec<usize>> {
    let mut by_resource = HashMap::<Box<str>, Vec<usize>>::new();
    for (at, rule) in rules.iter().enumerate() {
        for resource in &rule.resources.list {
            by_resource.entry(resource.clone()).or_default().push(at);
        }
    }
    by_resource
}

// === impl Rule ===

impl Rule {
    fn new(rule: &Value) -> Self {
        let verbs = Texts::from_field(rule, "verbs");
        let resources = Texts::from_field(rule, "resources");
        Self {
            verbs: Verbs {
                known: verbs.list.iter().fold(0, |known, verb| known | verb_bit(verb)),
                all: verbs,
            },
            groups: Texts::from_field(rule, "apiGroups"),
            any_resource_of: resources.list.iter().any(|resource| resource.starts_with("*/")),
            resource_bits: resources.list.iter().fold(ResourceBits::default(), |all, resource| {
                all.with(ResourceBits::from_resource(resource))
            }),
            resources,
            names: Texts::from_field(rule, "resourceNames"),
            paths: texts(rule, "nonResourceURLs").collect(),
        }
    }

    fn allows(&self, asked: &Asked<'_>) -> bool {
        if !self.verbs.have(asked) {
            return false;
        }
        match &asked.target {
            Target::Path(path) => self.paths.iter().any(|own| covers_path(own, path)),
            Target::Resource { group, resource, any_resource, bits, name } => {
                self.resource_bits.may_have(*bits)
                    && self.groups.have(group)
                    && (self.resources.have(resource)
                        || (self.any_resource_of
                            && !any_resource.is_empty()
                            && self.resources.have(any_resource)))
                    && (self.names.list.is_empty() || self.names.have_exactly(name))
            }
        }
    }
}

/// Returns whether the path of a rule, possibly with `*` at its end, includes a path.
fn covers_path(own: &str, path: &str) -> bool {
    own == path || (own.ends_with('*') && path.starts_with(own.trim_end_matches('*')))
}

// === impl Verbs ===

impl Verbs {
    fn have(&self, asked: &Asked<'_>) -> bool {
        if asked.verb_bit != 0 {
            return self.all.has_all || self.known & asked.verb_bit != 0;
        }
        self.all.have(asked.verb)
    }
}

// === impl Texts ===

impl Texts {
    fn from_field(rule: &Value, field: &str) -> Self {
        let list: Box<[Box<str>]> = texts(rule, field).collect();
        let set = (list.len() >= MANY_VALUES).then(|| list.iter().cloned().collect());
        let has_all = list.iter().any(|text| &**text == ALL);
        Self { list, set, has_all }
    }

    fn have(&self, text: &str) -> bool {
        self.has_all || self.have_exactly(text)
    }

    /// Returns whether the text is in the list; `*` is a text like others.
    fn have_exactly(&self, text: &str) -> bool {
        match &self.set {
            Some(set) => set.contains(text),
            None => self.list.iter().any(|own| &**own == text),
        }
    }

    fn to_vec(&self) -> Vec<String> {
        self.list.iter().map(ToString::to_string).collect()
    }
}

fn texts<'a>(rule: &'a Value, field: &str) -> impl Iterator<Item = Box<str>> + use<'a> {
    rule.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(Box::from)
}
