use std::sync::Arc;

use request_info::RequestInfo;

use super::chain::{Measured, Member};
use super::*;
use registry_core::context::AUTHENTICATED;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..UserInfo::default()
    }
}

fn info(method: &str, uri: &str) -> RequestInfo {
    RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap())
}

#[test]
fn refusals_are_told_in_kubernetes_words() {
    let alice = user("alice", &[AUTHENTICATED]);
    for (method, uri, message) in [
        (
            "GET",
            "/api/v1/namespaces/x/pods",
            r#"pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "x""#,
        ),
        (
            "GET",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            r#"customresourcedefinitions.apiextensions.k8s.io is forbidden: User "alice" cannot list resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope"#,
        ),
        (
            "POST",
            "/api/v1/namespaces/default/pods/x/exec",
            r#"pods "x" is forbidden: User "alice" cannot create resource "pods/exec" in API group "" in the namespace "default""#,
        ),
        ("GET", "/metrics", r#"forbidden: User "alice" cannot get path "/metrics""#),
    ] {
        let info = info(method, uri);
        let refusal = Attributes::from_request(&alice, &info).forbidden("");
        assert_eq!(refusal.message, message);
        let details = refusal.details.expect("details, even if empty");
        let resource = info.resource.unwrap_or_default();
        assert_eq!(
            (details.group, details.kind, details.name),
            (resource.group, resource.resource, resource.name)
        );
    }
    let info = info("GET", "/zork");
    let refusal = Attributes::from_request(&alice, &info).forbidden("no");
    assert_eq!(refusal.message, r#"forbidden: User "alice" cannot get path "/zork": no"#);
}

/// Answers with a fixed decision.
struct Fixed(Decision);

#[async_trait]
impl Authorizer for Fixed {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        self.0.clone()
    }
}

async fn decide(decisions: Vec<Decision>, user: &UserInfo, method: &str, uri: &str) -> Decision {
    let members = decisions
        .into_iter()
        .map(|decision| Measured { member: Member::Other(Arc::new(Fixed(decision))), decisions: None });
    let chain = AuthorizerChain::new(members.collect());
    chain.authorize(&Attributes::from_request(user, &info(method, uri))).await
}

fn no_opinion(reason: &'static str, error: &'static str) -> Decision {
    Decision::NoOpinion { reason: reason.into(), error: error.into() }
}

#[tokio::test]
async fn the_first_decision_of_a_chain_counts() {
    let alice = user("alice", &[AUTHENTICATED]);
    let deny = || Decision::Deny { reason: "never".into(), error: "".into() };
    let decided = decide(vec![no_opinion("a", ""), Decision::allow("b"), deny()], &alice, "GET", "/x").await;
    assert_eq!(decided, Decision::allow("b"));
    let decided = decide(vec![no_opinion("a", ""), deny(), Decision::allow("b")], &alice, "GET", "/x").await;
    assert_eq!(decided, deny());
    let none = vec![no_opinion("a", "e"), no_opinion("", "f"), no_opinion("b", "e")];
    let decided = decide(none, &alice, "GET", "/x").await;
    assert_eq!(decided, no_opinion("a\nb", "[e, f]"));
}

#[tokio::test]
async fn only_administrators_and_the_server_towards_kubelets_do_not_depend_on_policy() {
    let deny = || vec![Decision::Deny { reason: "never".into(), error: "".into() }];
    let anonymous = user("system:anonymous", &["system:unauthenticated"]);
    let alice = user("alice", &[AUTHENTICATED]);
    let nobody = user("nobody", &[]);
    let admin = user("admin", &[MASTERS]);
    for (method, path) in [
        ("GET", "/healthz"),
        ("HEAD", "/livez"),
        ("GET", "/readyz"),
        ("GET", "/readyz/ping"),
        ("POST", "/healthz"),
        ("GET", "/version"),
        ("GET", "/api/v1/nodes/n/proxy/healthz"),
        ("DELETE", "/api/v1/namespaces/x/pods/y"),
    ] {
        for (user, expected) in [(&anonymous, false), (&alice, false), (&nobody, false), (&admin, true)] {
            let decision = decide(deny(), user, method, path).await;
            assert_eq!(decision.is_allow(), expected, "{method} {path} {}", user.name);
        }
    }
    let own = user(KUBELET_CLIENT, &[AUTHENTICATED]);
    assert!(decide(deny(), &own, "GET", "/api/v1/nodes/n/log").await.is_allow());
    assert!(!decide(deny(), &own, "GET", "/api/v1/nodes/n").await.is_allow());
}

#[test]
fn a_name_counts_only_if_the_handlers_see_it_too() {
    let name = |query: &str| {
        let info = info("GET", &format!("/api/v1/namespaces/n/secrets?{query}"));
        info.resource.unwrap().name
    };
    assert_eq!(name("fieldSelector=metadata.name%3Da"), "a");
    assert_eq!(name("fieldSelector=metadata.name==a,type=b"), "a");
    for trick in [
        // The comma belongs to the value of `type`.
        "fieldSelector=type!=x\\,metadata.name=a",
        "fieldSelector=metadata.name!=a",
        "fieldSelector=type=x&fieldSelector=metadata.name=a",
        "fieldSelector=metadata.name=",
        "fieldSelector=metadata.name=..",
        "fieldSelector=metadata.name=a%2Fb",
        "labelSelector=metadata.name=a",
    ] {
        assert_eq!(name(trick), "", "{trick}");
    }
}

#[test]
fn selectors_are_attributes_of_requests_that_select() {
    let alice = user("alice", &[]);
    let query = "fieldSelector=spec.nodeName%3Dn&labelSelector=a%20in%20(b)";
    for (method, path, count) in [
        ("GET", "/api/v1/pods", 1),
        ("GET", "/api/v1/namespaces/x/pods", 1),
        ("DELETE", "/api/v1/namespaces/x/pods", 1),
        ("GET", "/api/v1/namespaces/x/pods/y", 0),
        ("DELETE", "/api/v1/namespaces/x/pods/y", 0),
        ("POST", "/api/v1/namespaces/x/pods", 0),
        ("GET", "/api/v1/watch/pods", 0),
        ("GET", "/healthz", 0),
    ] {
        let info = info(method, &format!("{path}?{query}"));
        let attributes = Attributes::from_request(&alice, &info);
        let counts = attributes.selectors.map_or((0, 0), |found| (found.fields.len(), found.labels.len()));
        assert_eq!(counts, (count, count), "{method} {path}");
    }
}
