use base64::Engine as _;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use registry_core::api::{GroupVersionKind, GroupVersionResource};
use registry_core::context::UserInfo;
use registry_core::rest::access::NoAccess;
use serde_json::json;

use super::*;
use crate::support::system_writer::SystemWriter;
use crate::testing;

/// A server with the nodes `a` and `b` and the pods `pa` and `pb` on them, as node `a` finds it.
struct Cluster {
    plugin: NodeRestriction,
    installed: InstalledApi,
}

struct Target {
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    operation: Operation,
    name: &'static str,
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn pod(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}})
}

/// Stores a pod of `default`, with defaults.
async fn create_pod(installed: &InstalledApi, mut pod: Value) {
    pod["metadata"]["namespace"] = "default".into();
    SystemWriter::for_resource::<Pods>(installed).unwrap().create(object(pod)).await.unwrap();
}

impl Cluster {
    async fn new() -> Self {
        let plurals = [
            "nodes",
            "pods",
            "serviceaccounts",
            "csidrivers",
            "persistentvolumeclaims",
            "podcertificaterequests",
        ];
        let installed = testing::installed(&plurals);
        for node in ["a", "b"] {
            testing::create::<Nodes>(&installed, json!({"metadata": {"name": node}})).await;
            create_pod(&installed, pod(&format!("p{node}"), node)).await;
        }
        let plugin = NodeRestriction::new(&installed, Arc::new(NoAccess), Features::default()).unwrap();
        Self { plugin, installed }
    }

    /// Returns why node `a` may not do this in a namespace; `None` if it may.
    async fn refusal_in(
        &self,
        namespace: &str,
        target: Target,
        new: Option<Value>,
        old: Option<Value>,
    ) -> Option<String> {
        let Target { group, resource, subresource, operation, name } = target;
        let resource = GroupVersionResource { group, version: "v1", resource };
        let kind = GroupVersionKind { group, version: "v1", kind: "" };
        let attributes = Attributes { subresource, ..Attributes::new(operation, resource, kind, name) };
        let user = UserInfo {
            name: "system:node:a".to_owned(),
            groups: vec!["system:nodes".to_owned()],
            ..UserInfo::default()
        };
        let context = RequestContext::new(user, namespace);
        let mut new = new.map(object);
        let old = old.map(object);
        let admitted =
            self.plugin.admit(&context, ObjectWriteMut::new(&attributes, new.as_mut(), old.as_ref())).await;
        let message = admitted.err().map(|why| why.message)?;
        Some(message.split_once(" is forbidden: ").map_or(message.clone(), |(_, why)| why.to_owned()))
    }

    async fn refusal(&self, target: Target, new: Option<Value>, old: Option<Value>) -> Option<String> {
        self.refusal_in("default", target, new, old).await
    }

    async fn uid<R: registry_core::resource::Resource>(&self, namespace: &str, name: &str) -> String {
        let store = self.installed.store(R::TYPE).unwrap();
        let context = RequestContext::system(namespace);
        let found = crate::support::lookup::read_newest(&store, &context, name).await.unwrap();
        found.uid().to_owned()
    }
}

fn target(
    resource: &'static str,
    subresource: &'static str,
    operation: Operation,
    name: &'static str,
) -> Target {
    let group = match resource {
        "leases" => "coordination.k8s.io",
        "csinodes" => "storage.k8s.io",
        "resourceslices" => "resource.k8s.io",
        "certificatesigningrequests" | "podcertificaterequests" => "certificates.k8s.io",
        _ => "",
    };
    Target { group, resource, subresource, operation, name }
}

#[tokio::test]
async fn a_node_only_changes_its_own_node() {
    let cluster = Cluster::new().await;
    let node =
        |labels: Value, spec: Value| json!({"metadata": {"name": "a", "labels": labels}, "spec": spec});
    let plain = || node(json!({}), json!({}));
    let other =
        cluster.refusal(target("nodes", "", Operation::Update, "b"), Some(plain()), Some(plain())).await;
    assert_eq!(other.unwrap(), "node \"a\" is not allowed to modify node \"b\"");
    let gone = cluster.refusal(target("nodes", "", Operation::Delete, "b"), None, Some(plain())).await;
    assert!(gone.is_some());
    let update = async |new: Value, old: Value| {
        cluster.refusal(target("nodes", "status", Operation::Update, "a"), Some(new), Some(old)).await
    };
    assert_eq!(
        update(node(json!({"kubernetes.io/hostname": "x", "mine": "y"}), json!({})), plain()).await,
        None
    );
    let restricted = json!({"node-restriction.kubernetes.io/a": "x", "kubernetes.io/z": "y"});
    assert_eq!(
        update(node(restricted.clone(), json!({})), plain()).await.unwrap(),
        "is not allowed to modify labels: kubernetes.io/z, node-restriction.kubernetes.io/a"
    );
    assert!(
        update(plain(), node(restricted.clone(), json!({}))).await.is_some(),
        "labels cannot be removed either"
    );
    let taints = json!({"taints": [{"key": "k", "effect": "NoSchedule"}]});
    assert_eq!(
        update(plain(), node(json!({}), taints)).await.unwrap(),
        "node \"a\" is not allowed to modify taints"
    );
    let created = target("nodes", "", Operation::Create, "a");
    assert_eq!(
        cluster.refusal(created, Some(node(restricted, json!({}))), None).await.unwrap(),
        "node \"a\" is not allowed to set the following labels: kubernetes.io/z, node-restriction.kubernetes.io/a"
    );
}

#[tokio::test]
async fn a_node_only_creates_mirror_pods_of_its_own() {
    let cluster = Cluster::new().await;
    let uid = cluster.uid::<Nodes>("", "a").await;
    let create = async |change: &dyn Fn(&mut Object)| {
        let mut mirror = object(pod("m", "a"));
        let owner =
            json!([{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": uid, "controller": true}]);
        mirror.set(&["metadata", "ownerReferences"], owner);
        mirror.set(&["metadata", "annotations", "kubernetes.io/config.mirror"], "x".into());
        change(&mut mirror);
        cluster.refusal(target("pods", "", Operation::Create, "m"), Some(mirror.into_value()), None).await
    };
    assert_eq!(create(&|_| {}).await, None);
    let plain = create(&|pod| drop(pod.remove(&["metadata", "annotations"]))).await;
    assert_eq!(
        plain.unwrap(),
        "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"a\" can only create mirror pods"
    );
    let elsewhere = create(&|pod| pod.set(&["spec", "nodeName"], "b".into())).await;
    assert_eq!(elsewhere.unwrap(), "node \"a\" can only create pods with spec.nodeName set to itself");
    let volume = json!([{"name": "v", "secret": {"secretName": "s"}}]);
    let secret = create(&|pod| pod.set(&["spec", "volumes"], volume.clone())).await;
    assert_eq!(secret.unwrap(), "node \"a\" can not create pods that reference secrets");
    let claims = create(&|pod| pod.set(&["spec", "resourceClaims"], json!([{"name": "c"}]))).await;
    assert_eq!(claims.unwrap(), "node \"a\" can not create pods that reference resourceclaims");
    let orphan = create(&|pod| drop(pod.remove(&["metadata", "ownerReferences"]))).await;
    assert_eq!(orphan.unwrap(), "node \"a\" can only create pods with an owner reference set to itself");
    let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "x", "controller": true}]);
    let forged = create(&|pod| pod.set(&["metadata", "ownerReferences"], owner.clone())).await;
    assert!(forged.unwrap().starts_with("node a UID mismatch: expected x got "));
    let updated = target("pods", "", Operation::Update, "pa");
    assert_eq!(
        cluster.refusal(updated, Some(pod("pa", "a")), Some(pod("pa", "a"))).await.unwrap(),
        "unexpected operation \"UPDATE\", node \"a\" can only create and delete mirror pods"
    );
}

#[tokio::test]
async fn a_node_only_touches_pods_on_it() {
    let cluster = Cluster::new().await;
    let deleted = |name| target("pods", "", Operation::Delete, name);
    assert_eq!(cluster.refusal(deleted("pa"), None, Some(pod("pa", "a"))).await, None);
    assert!(
        cluster
            .refusal(deleted("pb"), None, Some(pod("pb", "b")))
            .await
            .unwrap()
            .contains("only delete pods")
    );
    // Of a collection, each pod is checked.
    assert!(cluster.refusal(deleted(""), None, Some(pod("pb", "b"))).await.is_some());
    let evicted = |name| target("pods", "eviction", Operation::Create, name);
    assert_eq!(cluster.refusal(evicted("pa"), Some(json!({})), None).await, None);
    assert_eq!(
        cluster.refusal(evicted("pb"), Some(json!({})), None).await.unwrap(),
        "node a can only evict pods with spec.nodeName set to itself"
    );
    let reported = || target("pods", "status", Operation::Update, "p");
    assert_eq!(cluster.refusal(reported(), Some(pod("pa", "a")), Some(pod("pa", "a"))).await, None);
    // The node in the update does not count, but that of the stored pod.
    assert!(cluster.refusal(reported(), Some(pod("pb", "a")), Some(pod("pb", "b"))).await.is_some());
    let mut labelled = pod("pa", "a");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(
        cluster.refusal(reported(), Some(labelled), Some(pod("pa", "a"))).await.unwrap(),
        "node \"a\" cannot update labels through pod status"
    );
    let bound =
        cluster.refusal(target("pods", "binding", Operation::Create, "pa"), Some(json!({})), None).await;
    assert!(bound.unwrap().starts_with("unexpected pod subresource \"binding\""));
}

#[tokio::test]
async fn a_node_gets_tokens_for_its_pods_and_their_audiences() {
    let cluster = Cluster::new().await;
    let mut projected = pod("pv", "a");
    projected["spec"]["serviceAccountName"] = "default".into();
    projected["spec"]["volumes"] = json!([{"name": "t", "projected": {"sources": [
        {"serviceAccountToken": {"path": "t", "audience": "vault"}},
    ]}}]);
    create_pod(&cluster.installed, projected).await;
    let token = async |pod: &str, uid: &str, audiences: Value| {
        let reference = json!({"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid});
        let request = json!({"spec": {"boundObjectRef": reference, "audiences": audiences}});
        let target = target("serviceaccounts", "token", Operation::Create, "default");
        cluster.refusal(target, Some(request), None).await
    };
    let uid = cluster.uid::<Pods>("default", "pv").await;
    assert_eq!(token("pv", &uid, json!(["vault"])).await, None);
    assert_eq!(
        token("pv", &uid, json!(["bank"])).await.unwrap(),
        "audience \"bank\" not found in pod spec volume, system:node:a is not authorized to request tokens for this audience"
    );
    assert_eq!(
        token("pv", &uid, json!(["vault", "bank"])).await.unwrap(),
        "node may only request 0 or 1 audiences"
    );
    let without: Features = Feature::ALL
        .iter()
        .copied()
        .filter(|feature| *feature != Feature::ServiceAccountNodeAudienceRestriction)
        .collect();
    let free = NodeRestriction::new(&cluster.installed, Arc::new(NoAccess), without).unwrap();
    assert!(free.audiences.is_none(), "any audiences may be requested");
    assert!(
        token("pv", "x", json!([])).await.unwrap().starts_with("the UID in the bound object reference (x)")
    );
    assert_eq!(token("", "x", json!([])).await.unwrap(), "node requested token not bound to a pod");
    // Errors name resources in the singular, as Kubernetes' caches do.
    assert_eq!(token("gone", "x", json!([])).await.unwrap(), "pod \"gone\" not found");
    let missing = [
        (json!({"csi": {"driver": "d"}}), "csidriver.storage.k8s.io \"d\" not found"),
        (json!({"persistentVolumeClaim": {"claimName": "c"}}), "persistentvolumeclaim \"c\" not found"),
    ];
    for (number, (source, expected)) in missing.into_iter().enumerate() {
        let name = format!("volume{number}");
        let mut mounted = pod(&name, "a");
        mounted["spec"]["volumes"] = json!([source]);
        mounted["spec"]["volumes"][0]["name"] = "v".into();
        create_pod(&cluster.installed, mounted).await;
        let uid = cluster.uid::<Pods>("default", &name).await;
        let message = token(&name, &uid, json!(["vault"])).await.unwrap();
        assert_eq!(message, format!("error validating audience \"vault\": {expected}"));
    }
    let other = cluster.uid::<Pods>("default", "pb").await;
    assert_eq!(
        token("pb", &other, json!([])).await.unwrap(),
        "node requested token bound to a pod scheduled on a different node"
    );
}

#[tokio::test]
async fn a_node_only_writes_its_own_lease_slices_and_requests() {
    let cluster = Cluster::new().await;
    let lease = async |namespace: &str, name: &'static str| {
        let new = json!({"metadata": {"name": name}});
        cluster.refusal_in(namespace, target("leases", "", Operation::Update, name), Some(new), None).await
    };
    assert_eq!(lease("kube-node-lease", "a").await, None);
    assert!(lease("kube-node-lease", "b").await.unwrap().contains("same name as the requesting node"));
    assert!(lease("kube-system", "a").await.unwrap().contains("\"kube-node-lease\" system namespace"));
    assert!(
        cluster
            .refusal(target("csinodes", "", Operation::Create, "b"), Some(json!({})), None)
            .await
            .is_some()
    );
    let slice = |node: &str| json!({"metadata": {"name": "s"}, "spec": {"nodeName": node}});
    let slices = |operation| target("resourceslices", "", operation, "s");
    assert_eq!(cluster.refusal(slices(Operation::Create), Some(slice("a")), None).await, None);
    assert!(cluster.refusal(slices(Operation::Create), Some(slice("b")), None).await.is_some());
    assert!(cluster.refusal(slices(Operation::Delete), None, Some(slice("b"))).await.is_some());
    let claim = |storage: &str, phase: &str| json!({"metadata": {"name": "c"}, "status": {"phase": phase, "capacity": {"storage": storage}}});
    let claims = || target("persistentvolumeclaims", "status", Operation::Update, "c");
    assert_eq!(
        cluster.refusal(claims(), Some(claim("2Gi", "Bound")), Some(claim("1Gi", "Bound"))).await,
        None
    );
    assert!(
        cluster.refusal(claims(), Some(claim("1Gi", "Lost")), Some(claim("1Gi", "Bound"))).await.is_some()
    );
}

#[tokio::test]
async fn a_node_requests_certificates_for_itself_only() {
    let cluster = Cluster::new().await;
    let refusal = async |user: &str, signer: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, user);
        let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let text = base64::engine::general_purpose::STANDARD.encode(request);
        let new = json!({"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": text}});
        let target = target("certificatesigningrequests", "", Operation::Create, "r");
        cluster.refusal(target, Some(new), None).await
    };
    let [serving, client] = KUBELET_SIGNERS;
    assert_eq!(refusal("system:node:a", serving).await, None);
    assert_eq!(
        refusal("system:node:b", client).await.unwrap(),
        "can only create a node CSR with CN=system:node:a"
    );
    assert_eq!(refusal("system:node:b", "example.com/other").await, None);
}

#[tokio::test]
async fn a_user_with_the_name_of_a_node_outside_of_its_group_is_none() {
    let user = |name: &str, groups: &[&str]| UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..UserInfo::default()
    };
    assert_eq!(node_identity::node_name(&user("system:node:a", &["system:nodes"])), Some("a"));
    assert_eq!(node_identity::node_name(&user("system:node:a", &["system:masters"])), None);
    assert_eq!(node_identity::node_name(&user("alice", &["system:nodes"])), None);
    // A node without a name may do nothing.
    let cluster = Cluster::new().await;
    let context = RequestContext::new(user("system:node:", &["system:nodes"]), "default");
    let resource = GroupVersionResource { group: "", version: "v1", resource: "configmaps" };
    let kind = GroupVersionKind { group: "", version: "v1", kind: "ConfigMap" };
    let attributes = Attributes::new(Operation::Create, resource, kind, "m");
    let refused =
        cluster.plugin.admit(&context, ObjectWriteMut::new(&attributes, None, None)).await.unwrap_err();
    assert!(refused.message.ends_with("could not determine node from user \"system:node:\""));
}

#[tokio::test]
async fn a_node_requests_certificates_for_its_pods_only() {
    let cluster = Cluster::new().await;
    testing::create::<ServiceAccounts>(&cluster.installed, json!({"metadata": {"name": "web"}})).await;
    for (name, node) in [("pc", "a"), ("pd", "b"), ("pm", "a")] {
        let mut pod = pod(name, node);
        pod["spec"]["serviceAccountName"] = "web".into();
        if name == "pm" {
            pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        }
        create_pod(&cluster.installed, pod).await;
    }
    let request = async |pod: &str| {
        json!({"spec": {
            "nodeName": "a", "nodeUID": cluster.uid::<Nodes>("", "a").await,
            "podName": pod, "podUID": cluster.uid::<Pods>("default", pod).await,
            "serviceAccountName": "web",
            "serviceAccountUID": cluster.uid::<ServiceAccounts>("default", "web").await,
        }})
    };
    let refusal = async |request: Value| {
        let target = target("podcertificaterequests", "", Operation::Create, "r");
        cluster.refusal(target, Some(request), None).await
    };
    assert_eq!(refusal(request("pc").await).await, None);
    let of_b = refusal(request("pd").await).await.unwrap();
    assert_eq!(of_b, "pod \"default/pd\" is not running on node \"a\" named in the PodCertificateRequest");
    assert_eq!(refusal(request("pm").await).await.unwrap(), "pod \"default/pm\" is a mirror pod");
    for (field, value, expected) in [
        (
            "nodeName",
            "b",
            "PodCertificateRequest.Spec.NodeName=\"b\", which is not the requesting node \"a\"",
        ),
        (
            "nodeUID",
            "x",
            "PodCertificateRequest for pod \"default/pc\" names node UID \"x\", inconsistent with",
        ),
        (
            "podName",
            "gone",
            "while retrieving pod \"default/gone\" named in the PodCertificateRequest: pod \"gone\" not found",
        ),
        (
            "podUID",
            "x",
            "PodCertificateRequest for pod \"default/pc\" contains pod UID (\"x\") which differs",
        ),
        (
            "serviceAccountName",
            "x",
            "PodCertificateRequest for pod \"default/pc\" contains serviceAccountName (\"x\") that differs",
        ),
        (
            "serviceAccountUID",
            "x",
            "PodCertificateRequest for pod \"default/pc\" names service account UID \"x\"",
        ),
    ] {
        let mut changed = request("pc").await;
        changed["spec"][field] = value.into();
        let message = refusal(changed).await.unwrap();
        assert!(message.starts_with(expected), "{field}: {message}");
    }
    let updated = target("podcertificaterequests", "", Operation::Update, "r");
    let message = cluster.refusal(updated, Some(request("pc").await), Some(request("pc").await)).await;
    assert_eq!(message.unwrap(), "unexpected operation UPDATE");

    // Without the feature, they are not served.
    let installed = testing::installed(&["nodes", "pods", "serviceaccounts"]);
    let plugin = NodeRestriction::new(&installed, Arc::new(NoAccess), Features::default()).unwrap();
    let cluster = Cluster { plugin, installed };
    let target = target("podcertificaterequests", "", Operation::Create, "r");
    let message = cluster.refusal(target, Some(json!({})), None).await.unwrap();
    assert_eq!(message, "PodCertificateRequest feature gate is disabled");
}
