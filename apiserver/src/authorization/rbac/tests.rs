use std::collections::HashSet;
use std::sync::Arc;

use registry_core::api::Object;
use request_info::RequestInfo;
use serde_json::{Value, json};

use super::index::{Content, Item};
use super::policy::{Binding, role_key};
use super::*;

mod model;

/// An index whose objects are written one after the other.
struct Fixture {
    rbac: RbacAuthorizer,
    revision: u64,
}

impl Fixture {
    fn new() -> Self {
        Self { rbac: RbacAuthorizer::new(Arc::default()), revision: 0 }
    }

    fn apply(&mut self, key: &str, content: Content) {
        self.revision += 1;
        self.at(self.revision, key, content);
    }

    fn at(&self, revision: u64, key: &str, content: Content) {
        self.rbac.index.apply(Item { key: key.into(), revision, content });
        self.rbac.index.publish();
    }

    fn role(&mut self, namespace: &str, name: &str, rules: &Value) {
        let key = role_key(namespace, name);
        self.apply(&format!("/roles/{key}"), role(&key, rules));
    }

    fn bind(&mut self, namespace: &str, name: &str, to: (&str, &str), subjects: &Value) {
        let content = binding(namespace, name, to, subjects);
        self.apply(&format!("/bindings/{namespace}/{name}"), content);
    }

    fn decide(&self, user: &UserInfo, method: &str, uri: &str) -> Decision {
        let info = RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap());
        self.rbac.authorize(&Attributes::from_request(user, &info))
    }

    fn allows(&self, user: &UserInfo, method: &str, uri: &str) -> bool {
        self.decide(user, method, uri).is_allow()
    }
}

fn role(key: &str, rules: &Value) -> Content {
    Content::Role(key.into(), Some(Arc::new(Role::new(rules.as_array().unwrap()))))
}

fn binding(namespace: &str, name: &str, (kind, to): (&str, &str), subjects: &Value) -> Content {
    let object = Object::from_value(json!({
        "metadata": { "name": name, "namespace": namespace },
        "roleRef": { "kind": kind, "name": to },
        "subjects": subjects,
    }));
    Content::Binding(Some(Arc::new(Binding::new(&object.unwrap(), !namespace.is_empty()))))
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

#[test]
fn rules_allow_their_verbs_on_their_resources() {
    let mut fixture = Fixture::new();
    fixture.role("", "r", &json!([
        rule(&["", "apps"], &["pods", "pods/log", "deployments"], &["get", "list"]),
        rule(&["batch"], &["*"], &["*"]),
        rule(&["*"], &["*/scale"], &["get"]),
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "*"], "verbs": ["get", "list"] },
        { "nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"] },
        rule(&[""], &["users"], &["impersonate"]),
    ]));
    fixture.bind("", "b", ("ClusterRole", "r"), &json!([{ "kind": "User", "name": "alice" }]));
    let alice = user("alice", &[]);
    for (method, uri, allowed) in [
        ("GET", "/api/v1/pods", true),
        ("GET", "/api/v1/namespaces/x/pods/y/log", true),
        ("GET", "/api/v1/namespaces/x/pods/y/exec", false),
        ("GET", "/apis/apps/v1/deployments", true),
        ("GET", "/apis/extensions/v1beta1/deployments", false),
        ("GET", "/api/v1/pods?watch=1", false),
        ("DELETE", "/api/v1/namespaces/x/pods/y", false),
        ("PUT", "/apis/batch/v1/namespaces/x/jobs/y/status", true),
        ("GET", "/apis/apps/v1/namespaces/x/statefulsets/y/scale", true),
        ("GET", "/apis/apps/v1/namespaces/x/statefulsets/y", false),
        ("GET", "/apis/apps/v1/namespaces/x/statefulsets/scale", false),
        ("GET", "/api/v1/namespaces/x/secrets/a", true),
        ("GET", "/api/v1/namespaces/x/secrets/b", false),
        ("GET", "/api/v1/namespaces/x/secrets", false),
        ("GET", "/api/v1/namespaces/x/secrets?fieldSelector=metadata.name%3Da", true),
        ("GET", "/metrics", true),
        ("GET", "/metrics/slis", false),
        ("GET", "/logs/", true),
        ("GET", "/logs/x/y", true),
        ("GET", "/logs", false),
        ("POST", "/logs/x", false),
        ("GET", "/", false),
    ] {
        assert_eq!(fixture.allows(&alice, method, uri), allowed, "{method} {uri}");
        assert!(!fixture.allows(&user("bob", &["alice"]), method, uri), "{method} {uri}");
    }
}

#[test]
fn roles_of_many_rules_allow_the_same() {
    let mut fixture = Fixture::new();
    let mut rules: Vec<Value> = (0..40).map(|at| rule(&["x"], &[&format!("r{at}")], &["get"])).collect();
    rules.push(rule(&["a"], &["*"], &["list"]));
    rules.push(rule(&["b"], &["*/status"], &["patch"]));
    rules.push(rule(&["b"], &["things/log"], &["get"]));
    rules.push(json!({ "nonResourceURLs": ["/x"], "verbs": ["get"] }));
    fixture.role("", "r", &rules.into());
    fixture.bind("", "b", ("ClusterRole", "r"), &json!([{ "kind": "Group", "name": "devs" }]));
    let dev = user("dev", &["others", "devs"]);
    for (method, uri, allowed) in [
        ("GET", "/apis/x/v1/r39/name", true),
        ("GET", "/apis/x/v1/r40/name", false),
        ("GET", "/apis/a/v1/anything", true),
        ("PATCH", "/apis/b/v1/things/n/status", true),
        ("PATCH", "/apis/b/v1/things/n", false),
        ("GET", "/apis/b/v1/things/n/log", true),
        ("GET", "/x", true),
        ("GET", "/y", false),
    ] {
        assert_eq!(fixture.allows(&dev, method, uri), allowed, "{method} {uri}");
    }
}

#[test]
fn bindings_hold_for_their_subjects_in_their_namespace() {
    let mut fixture = Fixture::new();
    let pods = json!([rule(&[""], &["pods"], &["list"])]);
    fixture.role("a", "r", &pods);
    fixture.role("", "c", &pods);
    let subjects = json!([
        { "kind": "ServiceAccount", "name": "robot" },
        { "kind": "ServiceAccount", "name": "robot", "namespace": "b" },
        { "kind": "Group", "name": "devs" },
        { "kind": "Zork", "name": "alice" },
    ]);
    fixture.bind("a", "own", ("Role", "r"), &subjects);
    fixture.bind("b", "foreign", ("Role", "r"), &subjects);
    fixture.bind("c", "shared", ("ClusterRole", "c"), &subjects);
    fixture.bind("", "none", ("Role", "r"), &subjects);
    for (name, groups, in_a, in_b, in_c) in [
        ("system:serviceaccount:a:robot", &[][..], true, false, false),
        ("system:serviceaccount:b:robot", &[], true, false, true),
        ("system:serviceaccount:c:robot", &[], false, false, true),
        ("robot", &[], false, false, false),
        ("alice", &["devs"], true, false, true),
        ("alice", &[], false, false, false),
    ] {
        let user = user(name, groups);
        for (namespace, allowed) in [("a", in_a), ("b", in_b), ("c", in_c)] {
            let uri = format!("/api/v1/namespaces/{namespace}/pods");
            assert_eq!(fixture.allows(&user, "GET", &uri), allowed, "{name} in {namespace}");
        }
        assert!(!fixture.allows(&user, "GET", "/api/v1/pods"), "{name} in the cluster");
    }
}

#[test]
fn reasons_have_the_words_of_kubernetes() {
    let mut fixture = Fixture::new();
    let pods = json!([rule(&[""], &["pods"], &["list"])]);
    fixture.role("a", "r", &pods);
    fixture.role("", "c", &pods);
    let robot = json!([{ "kind": "ServiceAccount", "name": "robot" }]);
    fixture.bind("a", "b", ("Role", "r"), &robot);
    fixture.bind("", "everyone", ("ClusterRole", "c"), &json!([{ "kind": "Group", "name": "devs" }]));
    fixture.bind("", "quo\"ted", ("ClusterRole", "c"), &json!([{ "kind": "User", "name": "a\\b" }]));
    fixture.bind("", "dangling", ("ClusterRole", "gone"), &json!([{ "kind": "User", "name": "bob" }]));
    fixture.bind("", "dangling2", ("ClusterRole", "gone"), &json!([{ "kind": "User", "name": "bob" }]));
    fixture.bind("a", "dangling", ("Role", "away"), &json!([{ "kind": "User", "name": "bob" }]));
    let reason = |user: &UserInfo, uri: &str| match fixture.decide(user, "GET", uri) {
        Decision::Allow { reason } | Decision::Deny { reason, .. } | Decision::NoOpinion { reason, .. } => {
            reason
        }
    };
    assert_eq!(
        reason(&user("system:serviceaccount:a:robot", &[]), "/api/v1/namespaces/a/pods"),
        r#"RBAC: allowed by RoleBinding "b/a" of Role "r" to ServiceAccount "robot/a""#
    );
    assert_eq!(
        reason(&user("x", &["devs"]), "/api/v1/pods"),
        r#"RBAC: allowed by ClusterRoleBinding "everyone" of ClusterRole "c" to Group "devs""#
    );
    assert_eq!(
        reason(&user("a\\b", &[]), "/api/v1/pods"),
        r#"RBAC: allowed by ClusterRoleBinding "quo\"ted" of ClusterRole "c" to User "a\\b""#
    );
    assert_eq!(reason(&user("x", &[]), "/api/v1/pods"), "");
    let gone = r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#;
    assert_eq!(reason(&user("bob", &[]), "/api/v1/pods"), format!("RBAC: {gone}"));
    assert_eq!(
        reason(&user("bob", &[]), "/api/v1/namespaces/a/pods"),
        format!(r#"RBAC: [{gone}, role.rbac.authorization.k8s.io "away" not found]"#)
    );
}

#[test]
fn changes_take_effect_and_nothing_remains_of_what_they_replace() {
    let mut fixture = Fixture::new();
    let alice = user("alice", &["devs"]);
    let pods = "/api/v1/namespaces/a/pods";
    let subject = |kind: &str, name: &str| json!([{ "kind": kind, "name": name }]);
    fixture.bind("a", "b", ("Role", "r"), &subject("User", "alice"));
    assert!(!fixture.allows(&alice, "GET", pods));
    fixture.role("a", "r", &json!([rule(&[""], &["pods"], &["list"])]));
    assert!(fixture.allows(&alice, "GET", pods));
    fixture.role("a", "r", &json!([rule(&[""], &["pods"], &["get"])]));
    assert!(!fixture.allows(&alice, "GET", pods));
    fixture.role("a", "r", &json!([rule(&[""], &["pods"], &["*"])]));
    fixture.bind("a", "b", ("Role", "r"), &subject("Group", "devs"));
    assert!(fixture.allows(&alice, "GET", pods));
    assert!(!fixture.allows(&user("alice", &[]), "GET", pods));
    fixture.apply("/bindings/a/b", Content::Binding(None));
    assert!(!fixture.allows(&alice, "GET", pods));
    fixture.bind("a", "b", ("Role", "r"), &subject("Group", "devs"));
    fixture.apply("/roles/a/r", Content::Role("a/r".into(), None));
    assert!(!fixture.allows(&alice, "GET", pods));
}

#[test]
fn older_states_never_replace_newer_ones() {
    let fixture = Fixture::new();
    let alice = user("alice", &[]);
    let subjects = json!([{ "kind": "User", "name": "alice" }]);
    let bind = || binding("a", "b", ("ClusterRole", "r"), &subjects);
    let pods = json!([rule(&[""], &["pods"], &["*"])]);
    let allowed = || fixture.allows(&alice, "GET", "/api/v1/namespaces/a/pods");
    fixture.at(5, "/roles/r", role("/r", &pods));
    fixture.at(6, "/bindings/a/b", bind());
    // An informer that is behind delivers what was before.
    fixture.at(4, "/roles/r", role("/r", &json!([])));
    assert!(allowed());
    // The write removes the binding; the informer delivers its last change, and its deletion, afterwards.
    fixture.at(6, "/bindings/a/b", Content::Binding(None));
    assert!(!allowed());
    fixture.at(6, "/bindings/a/b", bind());
    assert!(!allowed(), "a removed binding comes back");
    fixture.at(8, "/bindings/a/b", Content::Binding(None));
    fixture.at(9, "/bindings/a/b", bind());
    assert!(allowed());
    fixture.at(8, "/bindings/a/b", Content::Binding(None));
    assert!(allowed(), "the deletion of an earlier object removes a later one");
    // A list that is behind lacks what was written after it, whose change is delivered later.
    let index = &fixture.rbac.index;
    let reached = |revision: u64| index.reached("/bindings/", revision, |_| Content::Binding(None));
    index.replace("/bindings/", &HashSet::new(), Vec::new());
    reached(8);
    assert!(allowed(), "the list knows nothing of it");
    fixture.at(9, "/bindings/a/b", bind());
    assert!(allowed());
    // A newer list lacks what is gone.
    index.replace("/bindings/", &HashSet::new(), Vec::new());
    reached(9);
    assert!(!allowed());
    fixture.at(10, "/bindings/a/b", bind());
    assert!(allowed());
    reached(11);
    assert!(allowed(), "a list counts once");
    let known = [9, 10, 11].map(|revision| index.knows("/bindings/a/b", revision));
    assert_eq!(known, [true, true, false]);
    assert!(!index.knows("/bindings/a/c", 1));
    // A list has it that is known already.
    index.replace("/bindings/", &HashSet::from(["/bindings/a/b"]), Vec::new());
    reached(12);
    assert!(allowed());
    fixture.at(13, "/bindings/a/b", Content::Binding(None));
    assert!(index.knows("/bindings/a/b", 13), "its end is a state too");
}

#[test]
fn rules_are_listed_once_for_each_binding() {
    let mut fixture = Fixture::new();
    fixture.role(
        "",
        "r",
        &json!([
            rule(&[""], &["pods"], &["get"]),
            { "nonResourceURLs": ["/x"], "verbs": ["get"] },
            { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"], "verbs": ["*"] },
        ]),
    );
    let both = json!([{ "kind": "User", "name": "alice" }, { "kind": "Group", "name": "devs" }]);
    fixture.bind("", "b", ("ClusterRole", "r"), &both);
    fixture.bind("a", "c", ("ClusterRole", "gone"), &both);
    let rules = fixture.rbac.rules_of(&user("alice", &["devs"]), "a");
    assert_eq!((rules.resources.len(), rules.paths.len(), rules.incomplete), (2, 1, false));
    assert_eq!(rules.resources[1].names, ["s"]);
    assert_eq!(rules.error, r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#);
    assert_eq!(fixture.rbac.rules_of(&user("alice", &["devs"]), "").error, "");
    assert_eq!(fixture.rbac.rules_of(&user("bob", &[]), "a"), AccessRules::default());
}

#[test]
fn a_check_looks_at_the_grants_to_its_user_only() {
    let fixture = Fixture::new();
    let rules = json!([
        rule(&["", "apps"], &["pods", "deployments", "replicasets"], &["get", "list", "watch"]),
        rule(&["batch"], &["jobs", "cronjobs"], &["get", "list", "watch", "create"]),
        rule(&["networking.k8s.io"], &["ingresses"], &["*"]),
    ]);
    let mut revision = 0;
    let mut add = |key: String, content: Content| {
        revision += 1;
        fixture.rbac.index.apply(Item { key: key.into(), revision, content });
    };
    for at in 0..1_000 {
        add(format!("/roles/c{at}"), role(&format!("/c{at}"), &rules));
    }
    let everyone = json!([{ "kind": "Group", "name": "system:authenticated" }]);
    for at in 0..3 {
        add(format!("/bindings/all{at}"), binding("", &format!("all{at}"), ("ClusterRole", "c1"), &everyone));
    }
    for at in 0..5_000 {
        let subjects = json!([{ "kind": "User", "name": format!("user{}", at % 2_500) }]);
        let namespace = if at % 2 == 0 { String::new() } else { format!("n{}", at % 100) };
        let to = format!("c{}", at % 1_000);
        add(
            format!("/bindings/{at}"),
            binding(&namespace, &format!("b{at}"), ("ClusterRole", &to), &subjects),
        );
    }
    fixture.rbac.index.publish();
    let alice = user("user1", &["system:authenticated"]);
    for (uri, allowed) in [("/api/v1/namespaces/n1/pods", true), ("/api/v1/namespaces/n1/secrets", false)] {
        assert_eq!(fixture.allows(&alice, "GET", uri), allowed, "{uri}");
    }
    // Of 5,003 bindings, three are to everyone, and two to her in this namespace.
    assert_eq!(fixture.rbac.index.policy().grants(&alice, "n1").count(), 5);
}
