use super::*;

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
        let refusal = Attributes::of(&alice, &info).forbidden("");
        assert_eq!(refusal.message, message);
        let details = refusal.details.expect("details, even if empty");
        let resource = info.resource.unwrap_or_default();
        assert_eq!(
            (details.group, details.kind, details.name),
            (resource.group, resource.resource, resource.name)
        );
    }
    let info = info("GET", "/zork");
    let refusal = Attributes::of(&alice, &info).forbidden("no");
    assert_eq!(refusal.message, r#"forbidden: User "alice" cannot get path "/zork": no"#);
}

#[tokio::test]
async fn the_baseline_opens_health_version_and_discovery_only() {
    let anonymous = user("system:anonymous", &["system:unauthenticated"]);
    let alice = user("a", &[AUTHENTICATED]);
    let admin = user("admin", &[MASTERS]);
    for (method, path, for_anonymous, for_alice) in [
        ("GET", "/healthz", true, true),
        ("GET", "/readyz/ping", true, true),
        ("GET", "/version/", true, true),
        ("POST", "/healthz", false, false),
        ("GET", "/healthzork", false, false),
        ("GET", "/api", false, true),
        ("GET", "/apis/apps/v1", false, true),
        ("GET", "/openapi/v3", false, true),
        ("GET", "/metrics", false, false),
        ("GET", "/api/v1/pods", false, false),
        ("DELETE", "/api/v1/namespaces/x/pods/y", false, false),
    ] {
        let info = info(method, path);
        for (user, expected) in [(&anonymous, for_anonymous), (&alice, for_alice), (&admin, true)] {
            let decision = BaselineAuthorizer.authorize(&Attributes::of(user, &info)).await;
            assert_eq!(matches!(decision, Decision::Allow { .. }), expected, "{method} {path} {}", user.name);
        }
    }
}
