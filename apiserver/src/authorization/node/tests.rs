use registry_core::api::Object;
use registry_core::codec::json::Parts;
use registry_core::codec::stored;
use request_info::RequestInfo;
use serde_json::{Value, json};

use super::graph::{OnNode, Reference};
use super::*;

fn node_authorizer() -> NodeAuthorizer {
    let graph = Arc::<NodeGraph>::default();
    let pod = json!({
        "metadata": { "name": "web", "namespace": "a" },
        "spec": {
            "nodeName": "n1",
            "serviceAccountName": "robot",
            "imagePullSecrets": [{ "name": "pull" }],
            "containers": [{
                "envFrom": [{ "secretRef": { "name": "env-from" } }],
                "env": [{ "valueFrom": { "configMapKeyRef": { "name": "env" } } }],
            }],
            "volumes": [
                { "name": "s", "secret": { "secretName": "mounted" } },
                { "name": "p", "projected": { "sources": [{ "configMap": { "name": "projected" } }] } },
                { "name": "c", "persistentVolumeClaim": { "claimName": "claim" } },
                { "name": "e", "ephemeral": {} },
            ],
            "resourceClaims": [{ "name": "gpu" }, { "name": "own", "resourceClaimName": "named" }],
        },
        "status": { "resourceClaimStatuses": [{ "name": "gpu", "resourceClaimName": "generated" }] },
    });
    set_pod(&graph, "web", &pod);
    let mirror = json!({
        "metadata": {
            "name": "mirror", "namespace": "a", "annotations": { "kubernetes.io/config.mirror": "x" },
        },
        "spec": { "nodeName": "n2", "volumes": [{ "secret": { "secretName": "stolen" } }] },
    });
    set_pod(&graph, "mirror", &mirror);
    let volume = json!({
        "metadata": { "name": "v" },
        "spec": {
            "claimRef": { "namespace": "a", "name": "claim" },
            "csi": { "nodeStageSecretRef": { "name": "stage", "namespace": "store" },
                     "controllerPublishSecretRef": { "name": "controller", "namespace": "store" } },
        },
    });
    let volume = references::volume_references(&Object::from_value(volume).unwrap());
    graph.set_volume(Reference::new(Kind::Volume, "", "v"), volume);
    NodeAuthorizer::new(graph, Role::new(&resources::bootstrap::default_rules("system:node", &[])))
}

fn set_pod(graph: &NodeGraph, name: &str, pod: &Value) {
    let parts = Parts::Only(references::POD_PARTS);
    let pod = stored::decode_parts(pod.to_string().as_bytes(), parts).unwrap();
    graph.set(Reference::new(Kind::Pod, "a", name), references::pod_references(&pod));
}

fn node(name: &str) -> UserInfo {
    UserInfo { name: format!("system:node:{name}"), groups: vec![NODES.to_owned()], ..UserInfo::default() }
}

fn decide(node_authorizer: &NodeAuthorizer, user: &UserInfo, method: &str, uri: &str) -> Decision {
    let info = RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap());
    node_authorizer.authorize(&Attributes::from_request(user, &info))
}

#[test]
fn a_node_reads_what_its_pods_refer_to() {
    let authorizer = node_authorizer();
    for uri in [
        "/api/v1/namespaces/a/secrets/pull",
        "/api/v1/namespaces/a/secrets/env-from",
        "/api/v1/namespaces/a/secrets/mounted",
        "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dmounted&watch=1",
        "/api/v1/namespaces/a/configmaps/env",
        "/api/v1/namespaces/a/configmaps/projected",
        "/api/v1/namespaces/a/persistentvolumeclaims/claim",
        "/api/v1/namespaces/a/persistentvolumeclaims/web-e",
        "/api/v1/persistentvolumes/v",
        "/api/v1/namespaces/store/secrets/stage",
        "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/generated",
        "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/named",
        "/api/v1/namespaces/a/serviceaccounts/robot",
        "/api/v1/namespaces/a/pods/web",
    ] {
        assert!(decide(&authorizer, &node("n1"), "GET", uri).is_allow(), "{uri}");
        let refused = decide(&authorizer, &node("n2"), "GET", uri);
        let reason = "no relationship found between node 'n2' and this object".to_owned();
        assert_eq!(refused, Decision::undecided(reason), "{uri}");
        let may_delete = uri == "/api/v1/namespaces/a/pods/web";
        assert_eq!(decide(&authorizer, &node("n1"), "DELETE", uri).is_allow(), may_delete, "{uri}");
    }
}

#[test]
fn a_node_gets_nothing_else() {
    let authorizer = node_authorizer();
    for (method, uri, reason) in [
        ("GET", "/api/v1/namespaces/a/secrets", "No Object name found"),
        ("GET", "/api/v1/secrets", "can only read namespaced object of this type"),
        (
            "GET",
            "/api/v1/namespaces/a/secrets/stolen",
            "no relationship found between node 'n1' and this object",
        ),
        (
            "GET",
            "/api/v1/namespaces/b/secrets/mounted",
            "no relationship found between node 'n1' and this object",
        ),
        (
            "GET",
            "/api/v1/namespaces/store/secrets/controller",
            "no relationship found between node 'n1' and this object",
        ),
        ("PUT", "/api/v1/namespaces/a/secrets/mounted", "can only read resources of this type"),
        ("GET", "/api/v1/persistentvolumes", "can only get individual resources of this type"),
        ("GET", "/api/v1/nodes", "node 'n1' cannot read all nodes, only its own Node object"),
        ("GET", "/api/v1/nodes/n2", "node 'n1' cannot read 'n2', only its own Node object"),
        ("GET", "/api/v1/pods", "can only list/watch pods with spec.nodeName field selector"),
        (
            "GET",
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2",
            "can only list/watch pods with spec.nodeName field selector",
        ),
        (
            "GET",
            "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1",
            "can only list/watch pods with spec.nodeName field selector",
        ),
        (
            "POST",
            "/api/v1/namespaces/a/serviceaccounts/other/token",
            "no relationship found between node 'n1' and this object",
        ),
        (
            "POST",
            "/api/v1/namespaces/a/serviceaccounts",
            "can only create tokens for individual service accounts",
        ),
        (
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2",
            "can only access node lease with the same name as the requesting node",
        ),
        (
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/n1",
            "can only access leases in the \"kube-node-lease\" system namespace",
        ),
        (
            "GET",
            "/apis/storage.k8s.io/v1/csinodes/n2",
            "can only access CSINode with the same name as the requesting node",
        ),
        (
            "GET",
            "/apis/resource.k8s.io/v1/resourceslices",
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        ("DELETE", "/api/v1/nodes/n1", ""),
        ("DELETE", "/api/v1/namespaces/a/pods", ""),
        ("POST", "/api/v1/namespaces/a/configmaps", "can only read resources of this type"),
        ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", ""),
    ] {
        let decided = decide(&authorizer, &node("n1"), method, uri);
        assert_eq!(decided, Decision::undecided(reason.to_owned()), "{method} {uri}");
    }
}

#[test]
fn a_node_does_what_kubelets_do() {
    let authorizer = node_authorizer();
    for (method, uri) in [
        ("POST", "/api/v1/nodes"),
        ("PATCH", "/api/v1/nodes/n1/status"),
        ("GET", "/api/v1/nodes/n1"),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&watch=1"),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&watch=1"),
        ("PATCH", "/api/v1/namespaces/a/pods/web/status"),
        ("POST", "/api/v1/namespaces/a/serviceaccounts/robot/token"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"),
        ("POST", "/apis/storage.k8s.io/v1/csinodes"),
        ("GET", "/api/v1/services"),
        ("POST", "/api/v1/namespaces/a/events"),
        ("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ] {
        assert!(decide(&authorizer, &node("n1"), method, uri).is_allow(), "{method} {uri}");
        let without_group = UserInfo { groups: Vec::new(), ..node("n1") };
        assert_eq!(
            decide(&authorizer, &without_group, method, uri),
            Decision::no_opinion(""),
            "{method} {uri}"
        );
    }
    let unnamed = decide(&authorizer, &node(""), "GET", "/api/v1/services");
    assert_eq!(unnamed, Decision::undecided("unknown node for user \"system:node:\"".to_owned()));
}

#[test]
fn access_ends_with_the_pod_that_gave_it() {
    let authorizer = node_authorizer();
    let secret = "/api/v1/namespaces/a/secrets/mounted";
    let other = json!({
        "metadata": { "name": "other", "namespace": "a" },
        "spec": { "nodeName": "n1", "volumes": [{ "secret": { "secretName": "mounted" } }] },
    });
    set_pod(&authorizer.graph, "other", &other);
    set_pod(&authorizer.graph, "web", &json!({ "metadata": { "name": "web", "namespace": "a" } }));
    assert!(decide(&authorizer, &node("n1"), "GET", secret).is_allow(), "the other pod still refers to it");
    assert!(!decide(&authorizer, &node("n1"), "GET", "/api/v1/persistentvolumes/v").is_allow());
    assert!(!decide(&authorizer, &node("n1"), "GET", "/api/v1/namespaces/store/secrets/stage").is_allow());
    authorizer.graph.set(Reference::new(Kind::Pod, "a", "other"), None);
    assert!(!decide(&authorizer, &node("n1"), "GET", secret).is_allow());
    assert_eq!(authorizer.graph.recorded(Kind::Pod).len(), 1, "the mirror pod");
}

/// A pod in the model: its node, and the ConfigMaps that it refers to.
type ModelPod = Option<(String, Vec<String>)>;

fn set_model_pod(graph: &NodeGraph, name: &str, pod: &ModelPod) {
    let on_node = pod.as_ref().map(|(node, config_maps)| OnNode {
        node: node.as_str().into(),
        references: config_maps.iter().map(|name| Reference::new(Kind::ConfigMap, "a", name)).collect(),
    });
    graph.set(Reference::new(Kind::Pod, "a", name), on_node);
}

#[test]
fn the_graph_agrees_with_a_search_of_all_pods_after_each_change() {
    let graph = NodeGraph::default();
    let mut pods: Vec<ModelPod> = vec![None; 6];
    let mut seed = 7_u64;
    let mut below = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % limit
    };
    for _ in 0..2_000 {
        let changed = usize::try_from(below(6)).unwrap();
        let config_maps = (0..below(4)).map(|_| format!("c{}", below(4))).collect();
        pods[changed] = (below(3) > 0).then(|| (format!("n{}", below(4)), config_maps));
        set_model_pod(&graph, &format!("p{changed}"), &pods[changed]);
        for node in ["n0", "n1", "n2", "n3"] {
            let on_node = || pods.iter().flatten().filter(|(own, _)| own == node);
            for config_map in ["c0", "c1", "c2", "c3"] {
                let expected = on_node().any(|(_, names)| names.iter().any(|name| name == config_map));
                assert_eq!(graph.belongs(Kind::ConfigMap, "a", config_map, node), expected);
            }
            let own = pods[changed].as_ref().is_some_and(|(own, _)| own == node);
            assert_eq!(graph.belongs(Kind::Pod, "a", &format!("p{changed}"), node), own);
        }
    }
    for pod in 0..6 {
        set_model_pod(&graph, &format!("p{pod}"), &None);
    }
    assert!(graph.is_empty(), "{:?}", graph.recorded(Kind::Pod));
}

#[test]
fn a_namespace_and_a_name_are_not_confused() {
    assert_ne!(Reference::new(Kind::Secret, "ab", "c"), Reference::new(Kind::Secret, "a", "bc"));
}
