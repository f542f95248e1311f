//! One compiled flow schema: parsed once, matched against every request.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/util/flowcontrol/rule.go`.

use http::HeaderValue;
use k8s_openapi::api::flowcontrol::v1::{
    FlowSchema, NonResourcePolicyRule, PolicyRulesWithSubjects, ResourcePolicyRule, Subject,
};
use registry_core::context::UserInfo;

use super::Flow;
use crate::request_info::{RequestInfo, ResourceRequest};

/// The wildcard.
const ALL: &str = "*";
/// The matching precedence of schemas that set none.
const DEFAULT_PRECEDENCE: i32 = 1000;

/// A schema whose priority level exists.
#[derive(Clone, Debug)]
pub struct CompiledSchema {
    precedence: i32,
    name: String,
    flow: Flow,
    rules: Vec<PolicyRulesWithSubjects>,
}

// === impl CompiledSchema ===

impl CompiledSchema {
    /// Returns a schema of the level with this uid, or `None` if one of the two has no uid.
    pub fn new(schema: FlowSchema, level_uid: &str) -> Option<Self> {
        let schema_uid = HeaderValue::try_from(schema.metadata.uid?).ok()?;
        let flow = Flow { schema_uid, level_uid: HeaderValue::try_from(level_uid).ok()? };
        let spec = schema.spec?;
        Some(Self {
            precedence: spec.matching_precedence.unwrap_or(DEFAULT_PRECEDENCE),
            name: schema.metadata.name.unwrap_or_default(),
            flow,
            rules: spec.rules.unwrap_or_default(),
        })
    }

    /// Returns the sort key of schemas: the lower precedence first, then the name.
    pub(super) fn order(&self) -> (i32, &str) {
        (self.precedence, &self.name)
    }

    pub(super) fn flow(&self) -> Flow {
        self.flow.clone()
    }

    /// Returns whether one of the rules matches this user and request.
    pub(super) fn matches(&self, user: &UserInfo, info: &RequestInfo) -> bool {
        let verb = info.verb.as_str();
        self.rules.iter().any(|rule| {
            let is_covered = if let Some(resource) = &info.resource {
                rule.resource_rules.iter().flatten().any(|rule| covers_resource(rule, verb, resource))
            } else {
                rule.non_resource_rules.iter().flatten().any(|rule| covers_path(rule, verb, &info.path))
            };
            is_covered && rule.subjects.iter().any(|subject| is_about(subject, user))
        })
    }
}

fn is_about(subject: &Subject, user: &UserInfo) -> bool {
    let is = |wanted: &str, name: &str| wanted == ALL || wanted == name;
    match (&subject.user, &subject.group, &subject.service_account) {
        (Some(wanted), ..) if subject.kind == "User" => is(&wanted.name, &user.name),
        (_, Some(wanted), _) if subject.kind == "Group" => {
            wanted.name == ALL || user.groups.contains(&wanted.name)
        }
        (.., Some(wanted)) if subject.kind == "ServiceAccount" => {
            let account =
                user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
            account.is_some_and(|(namespace, name)| namespace == wanted.namespace && is(&wanted.name, name))
        }
        _ => false,
    }
}

fn has(all: &[String], wanted: &str) -> bool {
    all.iter().any(|one| one == ALL || one == wanted)
}

fn covers_resource(rule: &ResourcePolicyRule, verb: &str, request: &ResourceRequest) -> bool {
    let is_in_scope = if request.namespace.is_empty() {
        rule.cluster_scope == Some(true)
    } else {
        has(rule.namespaces.as_deref().unwrap_or_default(), &request.namespace)
    };
    let is_resource = |wanted: &String| match wanted.split_once('/') {
        _ if wanted == ALL => true,
        None => request.subresource.is_empty() && *wanted == request.resource,
        Some((resource, subresource)) => {
            resource == request.resource && !subresource.is_empty() && subresource == request.subresource
        }
    };
    is_in_scope
        && has(&rule.verbs, verb)
        && has(&rule.api_groups, &request.group)
        && rule.resources.iter().any(is_resource)
}

fn covers_path(rule: &NonResourcePolicyRule, verb: &str, path: &str) -> bool {
    let is_below = |wanted: &String| wanted.strip_suffix(ALL).is_some_and(|prefix| path.starts_with(prefix));
    has(&rule.verbs, verb) && rule.non_resource_urls.iter().any(|wanted| wanted == path || is_below(wanted))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;

    fn schema(rules: &serde_json::Value) -> CompiledSchema {
        let schema = json!({
            "metadata": { "name": "s", "uid": "u" },
            "spec": { "priorityLevelConfiguration": { "name": "l" }, "rules": [rules] },
        });
        CompiledSchema::new(serde_json::from_value(schema).expect("a schema"), "l").expect("it has a uid")
    }

    #[test]
    fn a_schema_matches_whom_and_what_its_rules_say() {
        let leases = schema(&json!({
            "subjects": [{ "kind": "ServiceAccount", "serviceAccount": { "namespace": "a", "name": "*" } }],
            "resourceRules": [{
                "verbs": ["get"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "namespaces": ["b"],
            }],
        }));
        let probes = schema(&json!({
            "subjects": [{ "kind": "Group", "group": { "name": "everybody" } }],
            "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/livez*"] }],
        }));
        let account = UserInfo { name: "system:serviceaccount:a:x".to_owned(), ..UserInfo::default() };
        let other =
            UserInfo { name: "x".to_owned(), groups: vec!["everybody".to_owned()], ..UserInfo::default() };
        let info = |path: &str| RequestInfo::parse(&Method::GET, &path.parse().expect("a path"));
        let lease = "/apis/coordination.k8s.io/v1/namespaces/b/leases/l";
        for (schema, user, path, is_matched) in [
            (&leases, &account, lease, true),
            (&leases, &other, lease, false),
            (&leases, &account, "/apis/coordination.k8s.io/v1/namespaces/c/leases/l", false),
            (&leases, &account, "/apis/coordination.k8s.io/v1/leases", false),
            (&leases, &account, "/api/v1/namespaces/b/pods/p", false),
            (&probes, &other, "/livez/ping", true),
            (&probes, &other, "/readyz", false),
            (&probes, &account, "/livez", false),
        ] {
            assert_eq!(schema.matches(user, &info(path)), is_matched, "{path} by {}", user.name);
        }
    }
}
