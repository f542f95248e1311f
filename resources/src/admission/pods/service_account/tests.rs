use registry_core::api::{GroupVersionKind, GroupVersionResource};

use super::*;
use crate::testing;

fn attributes(operation: Operation, subresource: &'static str) -> Attributes<'static> {
    let resource = GroupVersionResource { group: "", version: "v1", resource: "pods" };
    let kind = GroupVersionKind { group: "", version: "v1", kind: "Pod" };
    Attributes { subresource, ..Attributes::new(operation, resource, kind, "p") }
}

fn pod(spec: Value) -> Object {
    let mut pod = json!({"metadata": {"name": "p"}});
    pod["spec"] = spec;
    Object::from_value(pod).unwrap()
}

async fn plugin() -> ServiceAccountAdmission {
    let installed = testing::installed(&["serviceaccounts", "pods"]);
    testing::create::<ServiceAccounts>(&installed, json!({"metadata": {"name": "default"}})).await;
    let marked = json!({
        "metadata": {"name": "marked", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        "secrets": [{"name": "own"}], "imagePullSecrets": [{"name": "pull"}],
    });
    testing::create::<ServiceAccounts>(&installed, marked).await;
    ServiceAccountAdmission::new(&installed).unwrap()
}

#[test]
fn the_token_is_mounted_where_nothing_else_is() {
    let mut pod = pod(json!({"containers": [
        {"name": "plain"},
        {"name": "own", "volumeMounts": [{"name": "x", "mountPath": TOKEN_DIRECTORY}]},
    ]}));
    mount_token(&mut pod);
    let mounts =
        |pod: &Object, index: usize| pod.get(&["spec", "containers"]).unwrap()[index]["volumeMounts"].clone();
    let volume = pod.get(&["spec", "volumes"]).unwrap()[0]["name"].clone();
    assert!(volume.as_str().unwrap().starts_with("kube-api-access-"));
    assert_eq!(mounts(&pod, 0)[0]["name"], volume);
    assert_eq!(mounts(&pod, 1).as_array().unwrap().len(), 1);
    // The volume of a pod that is created again from its stored form is used again.
    pod.set(&["spec", "containers"], json!([{"name": "plain"}]));
    mount_token(&mut pod);
    assert_eq!(mounts(&pod, 0)[0]["name"], volume);
    assert_eq!(pod.get(&["spec", "volumes"]).unwrap().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_mirror_pod_uses_nothing_of_the_cluster() {
    let plugin = plugin().await;
    let attributes = attributes(Operation::Create, "");
    let context = RequestContext::system("default");
    let refusal = async |spec: Value| {
        let mut pod = pod(spec);
        pod.set(&["metadata", "annotations", "kubernetes.io/config.mirror"], "x".into());
        let admitted = plugin.admit(&context, ObjectWriteMut::new(&attributes, Some(&mut pod), None)).await;
        let validated = plugin.validate(&context, ObjectWrite::new(&attributes, Some(&pod), None)).await;
        assert_eq!(admitted.is_ok(), validated.is_ok());
        assert!(admitted.is_err() || pod.get(&["spec", "volumes"]).is_none());
        admitted.err().map(|why| why.message)
    };
    assert_eq!(refusal(json!({"containers": [{"name": "c"}]})).await, None);
    assert_eq!(
        refusal(json!({"serviceAccountName": "default"})).await.unwrap(),
        "pods \"p\" is forbidden: a mirror pod may not reference service accounts"
    );
    let secret = json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]});
    assert!(refusal(secret).await.unwrap().ends_with("a mirror pod may not reference secrets"));
    let from = json!([{"name": "c", "envFrom": [{"secretRef": {"name": "s"}}]}]);
    assert!(refusal(json!({"initContainers": from})).await.unwrap().ends_with("may not reference secrets"));
    let token = json!({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}]});
    assert!(refusal(token).await.unwrap().ends_with("may not use ServiceAccountToken volume projections"));
}

#[tokio::test]
async fn pods_of_a_marked_account_use_only_its_secrets() {
    let plugin = plugin().await;
    let context = RequestContext::system("default");
    let refusal = async |spec: Value, operation, subresource| {
        let mut pod = pod(spec);
        pod.set(&["spec", "serviceAccountName"], "marked".into());
        let attributes = attributes(operation, subresource);
        plugin
            .validate(&context, ObjectWrite::new(&attributes, Some(&pod), None))
            .await
            .err()
            .map(|why| why.message)
    };
    let create = |spec| refusal(spec, Operation::Create, "");
    let volume = |name: &str| json!({"volumes": [{"name": "v", "secret": {"secretName": name}}]});
    assert_eq!(create(volume("own")).await, None);
    assert_eq!(
        create(volume("other")).await.unwrap(),
        "pods \"p\" is forbidden: volume with secret.secretName=\"other\" is not allowed because service account \
         marked does not reference that secret"
    );
    let env =
        json!([{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other"}}}]}]);
    let refused = create(json!({"containers": env})).await.unwrap();
    assert!(
        refused.contains("container c with envVar E referencing secret.secretName=\"other\""),
        "{refused}"
    );
    let images = json!({"imagePullSecrets": [{"name": "pull"}, {"name": "own"}]});
    assert!(create(images).await.unwrap().contains("imagePullSecrets[1].name=\"own\" is not allowed"));
    let ephemeral = json!({"ephemeralContainers": env});
    let refused = refusal(ephemeral, Operation::Update, "ephemeralcontainers").await.unwrap();
    assert!(refused.starts_with("ephemeral container c with envVar E"), "{refused}");
}

#[tokio::test]
async fn the_default_account_is_waited_for() {
    let plugin = plugin().await;
    let context = RequestContext::system("elsewhere");
    let attributes = attributes(Operation::Create, "");
    let started = std::time::Instant::now();
    let mut waiting = pod(json!({}));
    let refused =
        plugin.admit(&context, ObjectWriteMut::new(&attributes, Some(&mut waiting), None)).await.unwrap_err();
    assert_eq!(
        refused.message,
        "pods \"p\" is forbidden: error looking up service account elsewhere/default: serviceaccount \"default\" not \
         found"
    );
    assert!(started.elapsed() >= BETWEEN_ATTEMPTS * (DEFAULT_ATTEMPTS - 1));
    let started = std::time::Instant::now();
    let mut named = pod(json!({"serviceAccountName": "other"}));
    assert!(plugin.admit(&context, ObjectWriteMut::new(&attributes, Some(&mut named), None)).await.is_err());
    assert!(started.elapsed() < BETWEEN_ATTEMPTS);
}
