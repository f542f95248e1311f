//! What the decisions about a request cost: an RBAC check, a policy with one rule, and an audit event at level Metadata.
//! Run with `cargo bench -p apiserver --bench gate`.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

use std::sync::Arc;

use apiserver::admission::PolicyCheck;
use apiserver::audit::event::{Event, RequestFacts};
use apiserver::audit::policy::{Policy, Stage};
use apiserver::authorization::{Attributes, FixedRbac};
use apiserver::request_info::RequestInfo;
use divan::Bencher;
use http::Method;
use jiff::Timestamp;
use registry_core::api::Object;
use registry_core::context::{AuditLevel, Recorded, UserInfo};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// Returns 1,000 roles and 5,005 bindings, to users, groups and service accounts, as `docs/benchmarks/authorization.md`
/// says.
fn policy() -> Vec<Object> {
    let rules = json!([
        {"apiGroups": ["", "apps"], "resources": ["pods", "deployments", "replicasets"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["batch"], "resources": ["jobs", "cronjobs"], "verbs": ["get", "list", "watch", "create"]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["*"]},
    ]);
    let role = |kind: &str, namespace: &str, name: String| {
        object(json!({"kind": kind, "metadata": {"namespace": namespace, "name": name}, "rules": rules}))
    };
    let bind = |namespace: &str, name: String, to: (&str, String), subject: Value| {
        let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
        object(json!({"kind": kind, "metadata": {"namespace": namespace, "name": name},
                      "roleRef": {"kind": to.0, "name": to.1}, "subjects": [subject]}))
    };
    let cluster_roles = (0..500).map(|at| role("ClusterRole", "", format!("c{at}")));
    let roles = (0..500).map(|at| role("Role", &format!("n{}", at % 100), format!("r{at}")));
    let everyone = json!({"kind": "Group", "name": "system:authenticated"});
    let to_all =
        (0..5).map(|at| bind("", format!("all{at}"), ("ClusterRole", "c1".to_owned()), everyone.clone()));
    let bindings = (0..5_000).map(|at| {
        let namespace = if at % 2 == 0 { String::new() } else { format!("n{}", at % 100) };
        let subject = match at % 4 {
            0 | 1 => json!({"kind": "User", "name": format!("user{}", at % 2_500)}),
            2 => json!({"kind": "Group", "name": format!("team{}", at % 500)}),
            _ => json!({"kind": "ServiceAccount", "name": format!("sa{}", at % 50), "namespace": format!("n{}", at % 100)}),
        };
        let is_of_cluster = at % 2 == 0 || at % 3 == 0;
        let to = if is_of_cluster { ("ClusterRole", format!("c{}", at % 500)) } else { ("Role", format!("r{}", at % 500)) };
        bind(&namespace, format!("b{at}"), to, subject)
    });
    cluster_roles.chain(roles).chain(to_all).chain(bindings).collect()
}

/// The users, and how many grants apply to each.
const USERS: [&str; 3] = ["5 grants", "17 grants", "55 grants"];

#[divan::bench(args = USERS)]
fn rbac_refuses(bencher: Bencher<'_, '_>, user: &str) {
    let rbac = FixedRbac::new(policy());
    let user = match user {
        "5 grants" => user("x", &["system:authenticated"]),
        "17 grants" => user("user1", &["team2", "system:authenticated"]),
        _ => user("system:serviceaccount:n3:sa3", &["system:serviceaccounts", "system:authenticated"]),
    };
    let uri = "/api/v1/namespaces/n3/secrets/a".parse().unwrap();
    let info = RequestInfo::parse(&Method::GET, &uri);
    let attributes = Attributes::from_request(&user, &info);
    assert!(!rbac.decide(&attributes).is_allow());
    bencher.bench_local(|| rbac.decide(&attributes));
}

#[divan::bench]
fn policy_with_one_rule(bencher: Bencher<'_, '_>) {
    let validations = json!([{"expression": "object.spec.replicas <= 5"}]);
    let policy =
        json!({"metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", "validations": validations}});
    let check = PolicyCheck::new(&object(policy)).unwrap();
    let deployment =
        object(json!({"metadata": {"name": "d", "labels": {"a": "b"}}, "spec": {"replicas": 3}}));
    assert_eq!(check.first_denial(&deployment), None);
    bencher.bench_local(|| check.first_denial(&deployment));
}

#[divan::bench]
fn audit_at_level_metadata(bencher: Bencher<'_, '_>) {
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, users: [nobody]}, {level: Metadata}]\n";
    let policy = Policy::parse(policy.as_bytes()).unwrap();
    let user = user("alice", &["devs", "system:authenticated"]);
    let uri = "/api/v1/namespaces/a/configmaps/b".parse().unwrap();
    let info = RequestInfo::parse(&Method::GET, &uri);
    let mut line = Vec::new();
    bencher.bench_local(|| {
        let verdict = policy.evaluate(&Attributes::from_request(&user, &info));
        assert_eq!(verdict.level, AuditLevel::Metadata);
        let received = Timestamp::now();
        let facts = RequestFacts {
            level: verdict.level,
            omits_managed_fields: false,
            audit_id: "2f1b7c1e-5d2f-4a53-a1a7-8f2d3a0c9e11".to_owned(),
            request_uri: info.path.clone(),
            verb: "get",
            user: user.clone(),
            source_ips: vec![[127, 0, 0, 1].into()],
            user_agent: "kubectl/v1.36.2 (linux/amd64)".to_owned(),
            object_ref: info.resource.clone(),
            received,
        };
        let event = Event {
            facts: Arc::new(facts),
            stage: Stage::ResponseComplete,
            stage_time: received,
            impersonated: None,
            impersonation_constraint: None,
            recorded: Recorded::default(),
            code: Some(200),
        };
        line.clear();
        event.write_line(&mut line);
    });
}
