//! Users and what they may do.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams};
use orlop_test::TestServer;
use serde_json::json;

use crate::support::{code, config_map, create, object};

#[tokio::test]
async fn a_user_may_do_what_its_roles_say() {
    let server = TestServer::start().await.unwrap();
    create(&server, "a", "1").await;
    let maps = |client| Api::<ConfigMap>::default_namespaced(client);

    let nobody = maps(server.user("bob").client().await.unwrap());
    assert_eq!(code(&nobody.get("a").await.unwrap_err()), 403);

    let viewer = maps(server.user("alice").bound_to("view").client().await.unwrap());
    assert!(viewer.get("a").await.is_ok());
    let refused = viewer.create(&PostParams::default(), &config_map("b", "2")).await.unwrap_err();
    assert!(
        refused.to_string().contains("User \"alice\" cannot create resource \"configmaps\""),
        "{refused}"
    );

    let master = maps(server.user("root").in_group("system:masters").client().await.unwrap());
    master.create(&PostParams::default(), &config_map("b", "2")).await.unwrap();
}

#[tokio::test]
async fn a_user_is_bound_in_a_namespace() {
    let server = TestServer::start().await.unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    let namespace = object(json!({"metadata": {"name": "team"}}));
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let client = server.user("carol").bound_in("team", "edit").client().await.unwrap();
    let inside: Api<ConfigMap> = Api::namespaced(client.clone(), "team");
    inside.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let outside: Api<ConfigMap> = Api::default_namespaced(client);
    assert_eq!(code(&outside.list(&ListParams::default()).await.unwrap_err()), 403);
}

#[tokio::test]
async fn a_wrong_user_is_refused() {
    let server = TestServer::start().await.unwrap();
    let role = server.user("dave").bound_to("no-such-role").kubeconfig().await.unwrap_err();
    assert!(role.reason.starts_with("404"), "{role}");
    let unnamed = server.user("").kubeconfig().await.unwrap_err();
    assert!(unnamed.reason.contains("must not be empty"), "{unnamed}");
}
