//! The rules that a user or a role holds, and the permissions that they lack.
//!
//! Kubernetes concept: `k8s.io/component-helpers/auth/rbac/validation.Covers`, `CompactRules`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use registry_core::api::go_text::quoted;
use registry_core::rest::access::AccessRules;
use resource_views::Typed as _;
use resource_views::rbac::v1::PolicyRule;
use serde_json::{Value, json};

/// Maximum number of comparisons for one role. A role for which they do not suffice is refused.
const MAX_COMPARISONS: usize = 5_000_000;
/// Maximum number of permissions that are named in a refusal.
const MAX_MISSING: usize = 1_000;

/// The rules that a user or a role holds, in a form in which others are compared with them.
pub(crate) struct Held<'a> {
    resources: Vec<HeldRule<'a>>,
    paths: Vec<HeldRule<'a>>,
    /// The number of paths in all rules.
    number_of_paths: usize,
}

/// A held rule. For paths, `resources` are the paths.
struct HeldRule<'a> {
    verbs: HashSet<&'a str>,
    groups: HashSet<&'a str>,
    resources: HashSet<&'a str>,
    names: HashSet<&'a str>,
}

/// One permission: a verb on a resource, possibly by name, or on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Permission<'a> {
    Resource { group: &'a str, resource: &'a str, name: Option<&'a str>, verb: &'a str },
    Path { path: &'a str, verb: &'a str },
}

/// The permissions that are lacking.
#[derive(Debug, Default)]
pub(crate) struct Missing<'a> {
    permissions: Vec<Permission<'a>>,
    /// Whether there were too many to compare all.
    is_cut: bool,
}

// === impl Held ===

impl<'a> Held<'a> {
    pub(super) fn new(rules: &'a AccessRules) -> Self {
        let set = |texts: &'a [String]| texts.iter().map(String::as_str).collect();
        let resources = rules.resources.iter().map(|rule| HeldRule {
            verbs: set(&rule.verbs),
            groups: set(&rule.groups),
            resources: set(&rule.resources),
            names: set(&rule.names),
        });
        let paths = rules.paths.iter().map(|rule| HeldRule {
            verbs: set(&rule.verbs),
            groups: HashSet::new(),
            resources: set(&rule.paths),
            names: HashSet::new(),
        });
        let number_of_paths = rules.paths.iter().map(|rule| rule.paths.len()).sum();
        Self { resources: resources.collect(), paths: paths.collect(), number_of_paths }
    }

    /// Returns what these rules of a role allow.
    pub(crate) fn from_rules(rules: &'a [Value]) -> Self {
        let set = |texts: &[&'a str]| texts.iter().copied().collect();
        let rules: Vec<Wanted<'a>> = rules.iter().map(Wanted::new).collect();
        let resources = rules.iter().map(|rule| HeldRule {
            verbs: set(&rule.verbs),
            groups: set(&rule.groups),
            resources: set(&rule.resources),
            names: set(&rule.names),
        });
        let paths = rules.iter().map(|rule| HeldRule {
            verbs: set(&rule.verbs),
            groups: HashSet::new(),
            resources: set(&rule.paths),
            names: HashSet::new(),
        });
        let number_of_paths = rules.iter().map(|rule| rule.paths.len()).sum();
        Self { resources: resources.collect(), paths: paths.collect(), number_of_paths }
    }

    /// Returns the permissions of these rules that are not held. A rule that one held rule includes as a whole is not split
    /// into its permissions, whose number is the product of the lengths of its lists.
    pub(crate) fn missing<'r>(&self, rules: &'r [Value]) -> Missing<'r> {
        let mut missing = Missing::default();
        let mut comparisons = 0_usize;
        for rule in rules {
            let rule = Wanted::new(rule);
            comparisons += rule.len() * self.resources.len() + rule.paths.len() * self.number_of_paths;
            if comparisons > MAX_COMPARISONS {
                missing.is_cut = true;
                return missing;
            }
            if self.include(&rule) {
                continue;
            }
            for permission in rule.permissions() {
                comparisons += 1 + self.resources.len() + self.number_of_paths;
                if comparisons > MAX_COMPARISONS {
                    missing.is_cut = true;
                    return missing;
                }
                if self.cover(permission) {
                    continue;
                }
                if missing.permissions.len() == MAX_MISSING {
                    missing.is_cut = true;
                    return missing;
                }
                missing.permissions.push(permission);
            }
        }
        missing
    }

    /// Whether one held rule includes all permissions of a rule on resources, or one all of those on paths.
    fn include(&self, rule: &Wanted<'_>) -> bool {
        let by_resource = rule.resources.is_empty() || self.resources.iter().any(|held| held.includes(rule));
        let has_path = |held: &HeldRule<'_>| rule.paths.iter().all(|path| held.has_path(path));
        let has_verbs = |held: &HeldRule<'_>| rule.verbs.iter().all(|verb| has(&held.verbs, verb));
        let by_path =
            rule.paths.is_empty() || self.paths.iter().any(|held| has_verbs(held) && has_path(held));
        by_resource && by_path
    }

    fn cover(&self, permission: Permission<'_>) -> bool {
        match permission {
            Permission::Resource { group, resource, name, verb } => self.resources.iter().any(|held| {
                has(&held.verbs, verb)
                    && has(&held.groups, group)
                    && held.has_resource(resource)
                    && (held.names.is_empty() || name.is_some_and(|name| held.names.contains(name)))
            }),
            Permission::Path { path, verb } => {
                self.paths.iter().any(|held| has(&held.verbs, verb) && held.has_path(path))
            }
        }
    }
}

fn has(set: &HashSet<&str>, text: &str) -> bool {
    set.contains("*") || set.contains(text)
}

// === impl HeldRule ===

impl HeldRule<'_> {
    fn includes(&self, rule: &Wanted<'_>) -> bool {
        let all_names = !rule.names.is_empty() && rule.names.iter().all(|name| self.names.contains(name));
        rule.verbs.iter().all(|verb| has(&self.verbs, verb))
            && rule.groups.iter().all(|group| has(&self.groups, group))
            && rule.resources.iter().all(|resource| self.has_resource(resource))
            && (self.names.is_empty() || all_names)
    }

    fn has_resource(&self, resource: &str) -> bool {
        let by_subresource = || {
            let (_, subresource) = resource.split_once('/')?;
            Some(self.resources.contains(format!("*/{subresource}").as_str()))
        };
        has(&self.resources, resource) || by_subresource().unwrap_or_default()
    }

    fn has_path(&self, path: &str) -> bool {
        let covers = |own: &str| own.ends_with('*') && path.starts_with(own.trim_end_matches('*'));
        self.resources.contains(path) || self.resources.iter().any(|own| covers(own))
    }
}

/// A rule that is to be granted.
struct Wanted<'r> {
    verbs: Vec<&'r str>,
    groups: Vec<&'r str>,
    resources: Vec<&'r str>,
    names: Vec<&'r str>,
    paths: Vec<&'r str>,
}

// === impl Wanted ===

impl<'r> Wanted<'r> {
    fn new(rule: &'r Value) -> Self {
        let rule = PolicyRule::from_value(rule);
        Self {
            verbs: rule.verbs().texts().collect(),
            groups: rule.api_groups().texts().collect(),
            resources: rule.resources().texts().collect(),
            names: rule.resource_names().texts().collect(),
            paths: rule.non_resource_urls().texts().collect(),
        }
    }

    /// Returns the number of values on resources.
    fn len(&self) -> usize {
        self.verbs.len() + self.groups.len() + self.resources.len() + self.names.len()
    }

    /// Returns the single permissions, in Kubernetes' order.
    fn permissions(&self) -> impl Iterator<Item = Permission<'r>> {
        let names: Vec<Option<&'r str>> = match self.names.as_slice() {
            [] => vec![None],
            names => names.iter().copied().map(Some).collect(),
        };
        let of_resources = self.groups.iter().flat_map(move |&group| {
            let names = names.clone();
            self.resources.iter().flat_map(move |&resource| {
                let names = names.clone();
                self.verbs.iter().flat_map(move |&verb| {
                    let named = names.clone().into_iter();
                    named.map(move |name| Permission::Resource { group, resource, name, verb })
                })
            })
        });
        let of_paths = self
            .paths
            .iter()
            .flat_map(move |&path| self.verbs.iter().map(move |&verb| Permission::Path { path, verb }));
        of_resources.chain(of_paths)
    }
}

// === impl Missing ===

impl Missing<'_> {
    /// Whether nothing is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.permissions.is_empty() && !self.is_cut
    }

    /// Returns a rule for each permission; `None` if there were too many to compare all.
    pub(crate) fn rules(&self) -> Option<Vec<Value>> {
        let rule = |permission: &Permission<'_>| match *permission {
            Permission::Resource { group, resource, name: Some(name), verb } => json!({
                "apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": [verb],
            }),
            Permission::Resource { group, resource, name: None, verb } => {
                json!({ "apiGroups": [group], "resources": [resource], "verbs": [verb] })
            }
            Permission::Path { path, verb } => json!({ "nonResourceURLs": [path], "verbs": [verb] }),
        };
        (!self.is_cut).then(|| self.permissions.iter().map(rule).collect())
    }

    /// Returns the permissions as text, one line for each resource with all its verbs, sorted.
    pub(super) fn describe(&self) -> String {
        let mut verbs = BTreeMap::<_, Vec<String>>::new();
        let mut lines = BTreeSet::new();
        for permission in &self.permissions {
            match *permission {
                Permission::Resource { group, resource, name, verb } => {
                    verbs.entry((group, resource, name)).or_default().push(verb.to_owned());
                }
                Permission::Path { path, verb } => {
                    lines.insert(format!("{{NonResourceURLs:[{path:?}], Verbs:[{verb:?}]}}"));
                }
            }
        }
        for ((group, resource, name), verbs) in verbs {
            let name = name.map(|name| format!(", ResourceNames:[{name:?}]")).unwrap_or_default();
            let verbs = quoted(&verbs);
            lines.insert(format!("{{APIGroups:[{group:?}], Resources:[{resource:?}]{name}, Verbs:{verbs}}}"));
        }
        if self.is_cut {
            lines.insert("… and more: the rules have too many combinations to name all".to_owned());
        }
        lines.into_iter().collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_core::rest::access::{PathRule, ResourceRule};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn held() -> AccessRules {
        let rule = |verbs: &[&str], resources: &[&str], names: &[&str]| ResourceRule {
            verbs: texts(verbs),
            groups: texts(&["", "apps"]),
            resources: texts(resources),
            names: texts(names),
        };
        AccessRules {
            resources: vec![
                rule(&["get", "list"], &["pods", "*/status"], &[]),
                rule(&["create"], &["pods"], &[]),
                rule(&["get"], &["secrets"], &["a", "b"]),
            ],
            paths: vec![PathRule { verbs: texts(&["get"]), paths: texts(&["/logs/*", "/version"]) }],
            ..AccessRules::default()
        }
    }

    #[test]
    fn permissions_held_by_several_rules_together_are_not_missing() {
        let rule = |rule: Value| Held::new(&held()).missing(&[rule]).describe();
        let of = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
        assert_eq!(rule(of("", "pods", &["get", "create"])), "");
        assert_eq!(rule(of("apps", "deployments/status", &["list"])), "");
        assert_eq!(
            rule(of("", "pods", &["get", "patch", "delete"])),
            r#"{APIGroups:[""], Resources:["pods"], Verbs:["patch" "delete"]}"#
        );
        assert_eq!(rule(of("", "*", &["get"])), r#"{APIGroups:[""], Resources:["*"], Verbs:["get"]}"#);
        assert_eq!(rule(of("", "pods", &["*"])), r#"{APIGroups:[""], Resources:["pods"], Verbs:["*"]}"#);
        assert_eq!(
            rule(of("", "secrets", &["get"])),
            r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#
        );
        let named = |names: &[&str]| json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"] });
        assert_eq!(rule(named(&["a", "b"])), "");
        assert_eq!(
            rule(named(&["a", "c"])),
            r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["c"], Verbs:["get"]}"#
        );
    }

    #[test]
    fn a_role_lacks_what_no_rule_of_it_allows() {
        let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
        let logs = json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]});
        let any_log = json!({"apiGroups": [""], "resources": ["*/log"], "verbs": ["get"]});
        let named =
            json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"], "resourceNames": ["a"]});
        let url = json!({"nonResourceURLs": ["/healthz"], "verbs": ["get"]});
        for (held, wanted, is_held) in [
            (&all, &logs, true),
            (&any_log, &logs, true),
            (&logs, &named, true),
            (&named, &logs, false),
            (&logs, &any_log, false),
            (&all, &url, false),
            (&logs, &url, false),
            (&json!({"nonResourceURLs": ["/heal*"], "verbs": ["*"]}), &url, true),
        ] {
            let wanted = std::slice::from_ref(wanted);
            let missing = Held::from_rules(std::slice::from_ref(held)).missing(wanted).rules();
            assert_eq!(missing.as_deref(), Some(if is_held { &[] } else { wanted }), "{held}");
        }
    }

    #[test]
    fn paths_are_compared_with_their_ends() {
        let missing = |paths: &[&str], verb: &str| {
            let rule = json!({ "nonResourceURLs": paths, "verbs": [verb] });
            Held::new(&held()).missing(&[rule]).describe()
        };
        assert_eq!(missing(&["/version", "/logs/x", "/logs/*"], "get"), "");
        assert_eq!(missing(&["*"], "get"), r#"{NonResourceURLs:["*"], Verbs:["get"]}"#);
        assert_eq!(missing(&["/logs"], "get"), r#"{NonResourceURLs:["/logs"], Verbs:["get"]}"#);
        assert_eq!(missing(&["/logs/x"], "post"), r#"{NonResourceURLs:["/logs/x"], Verbs:["post"]}"#);
    }

    #[test]
    fn rules_of_too_many_combinations_are_refused_in_bounded_time() {
        let many: Vec<String> = (0..2_000).map(|number| format!("x{number}")).collect();
        let rule = json!({ "apiGroups": many, "resources": many, "resourceNames": many, "verbs": many });
        let other =
            ResourceRule { groups: many.clone(), resources: many.clone(), ..held().resources.remove(2) };
        let held = AccessRules { resources: vec![other], ..held() };
        let started = std::time::Instant::now();
        assert!(!Held::new(&held).missing(&[rule]).is_empty());
        assert!(started.elapsed().as_secs() < 20);
    }
}
