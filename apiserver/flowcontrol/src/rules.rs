//! One compiled flow schema: parsed once, matched against every request.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/util/flowcontrol/rule.go`.

use std::sync::Arc;

use k8s_openapi::api::flowcontrol::v1::{
    FlowSchema, NonResourcePolicyRule, PolicyRulesWithSubjects, ResourcePolicyRule, Subject,
};
use registry_core::context::{ServiceAccountName, UserInfo};
use request_info::{RequestInfo, ResourceRequest};

use super::Flow;

/// The wildcard.
const ALL: &str = "*";
/// The matching precedence of schemas that set none.
const DEFAULT_PRECEDENCE: i32 = 1000;

/// A schema whose priority level exists.
pub(super) struct CompiledSchema {
    precedence: i32,
    flow: Arc<Flow>,
    rules: Vec<PolicyRulesWithSubjects>,
}

/// Returns the name of a schema's level.
pub fn level_of(schema: &FlowSchema) -> Option<&String> {
    schema.spec.as_ref().map(|spec| &spec.priority_level_configuration.name)
}

// === impl CompiledSchema ===

impl CompiledSchema {
    /// Returns a schema that is compiled to this flow, or `None` if it has no specification.
    pub(super) fn new(schema: FlowSchema, flow: Flow) -> Option<Self> {
        let spec = schema.spec?;
        Some(Self {
            precedence: spec.matching_precedence.unwrap_or(DEFAULT_PRECEDENCE),
            flow: Arc::new(flow),
            rules: spec.rules.unwrap_or_default(),
        })
    }

    /// Returns the sort key of schemas: the lower precedence first, then the name.
    pub(super) fn order(&self) -> (i32, &str) {
        (self.precedence, &self.flow.schema)
    }

    pub(super) fn flow(&self) -> Arc<Flow> {
        self.flow.clone()
    }

    /// Returns whether one of the rules matches this user and request.
    pub(super) fn matches(&self, user: &UserInfo, info: &RequestInfo) -> bool {
        let verb = info.verb.as_str();
        self.rules.iter().any(|rule| {
            // Subjects first: most schemas are about few users and all resources.
            let is_covered = || match &info.resource {
                Some(resource) => {
                    rule.resource_rules.iter().flatten().any(|rule| covers_resource(rule, verb, resource))
                }
                None => {
                    rule.non_resource_rules.iter().flatten().any(|rule| covers_path(rule, verb, &info.path))
                }
            };
            rule.subjects.iter().any(|subject| is_about(subject, user)) && is_covered()
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
        (.., Some(wanted)) if subject.kind == "ServiceAccount" => ServiceAccountName::from_user(&user.name)
            .is_some_and(|account| account.namespace == wanted.namespace && is(&wanted.name, account.name)),
        _ => false,
    }
}

fn has(all: &[String], wanted: &str) -> bool {
    all.iter().any(|entry| entry == ALL || entry == wanted)
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
    use std::time::Duration;

    use http::Method;
    use registry_core::metrics::{Families, StorageMetrics};
    use serde_json::json;

    use super::*;
    use crate::metrics::FlowControlMetrics;
    use crate::{FlowControl, Mandatory};

    fn schema(rules: &serde_json::Value) -> CompiledSchema {
        let schema = json!({
            "metadata": { "name": "s", "uid": "u" },
            "spec": { "priorityLevelConfiguration": { "name": "l" }, "rules": [rules] },
        });
        let schema: FlowSchema = serde_json::from_value(schema).expect("a schema");
        let mut families = Families::default();
        let storage = StorageMetrics::new(&mut families).unwrap();
        let metrics = FlowControlMetrics::new(&mut families).unwrap();
        let last = json!({ "priorityLevelConfiguration": { "name": "catch-all" } });
        let level = json!({ "type": "Limited", "limited": { "limitResponse": { "type": "Reject" } } });
        let mandatory = Mandatory::new([("catch-all", last, level)]);
        let control = FlowControl::new(600, Duration::from_mins(1), &metrics, &storage, mandatory);
        let flow = Flow::clone(control.in_force.load().catch_all.as_ref().unwrap());
        CompiledSchema::new(schema, flow).expect("it has a specification")
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
