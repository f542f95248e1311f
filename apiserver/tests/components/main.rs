//! Kubernetes' own controllers, scheduler and kubelets against a server with default flags: each controller with its own service
//! account, each kubelet with the certificate that it was issued.
//!
//! The programs are no part of this project, and no package contains them: `cargo xtask components` says how to build them, and
//! runs these tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

mod audit;
mod cluster;
mod program;

use std::time::Duration;

use audit::Requests;
use cluster::Cluster;

/// Maximum time for what controllers do, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

const WORKLOADS: &str = include_str!("workloads.yaml");
const BOOTSTRAP: &str = include_str!("bootstrap.yaml");

#[tokio::test]
#[ignore = "needs Kubernetes' own programs; run by `cargo xtask components`"]
async fn controllers_scheduler_and_kubelets_work_with_their_own_credentials() {
    let cluster = Cluster::start().await;
    let kubectl = cluster.kubectl();
    // Bootstrap token, certificate signing request, approval, client certificate, Node authorizer.
    kubectl.run_with_input("apply -f -", BOOTSTRAP).await;
    cluster.join("node-1");
    cluster.join("node-2");
    cluster
        .eventually("get nodes node-1 node-2 --no-headers", |text| text.matches(" Ready ").count() == 2)
        .await;
    let requests = kubectl.run("get csr --no-headers").await;
    assert_eq!(requests.matches("system:bootstrap:abcdef").count(), 2, "{requests}");
    assert_eq!(requests.matches("Approved,Issued").count(), 2, "{requests}");

    kubectl.run("create namespace work").await;
    kubectl.run_with_input("apply -n work -f -", WORKLOADS).await;
    for (what, path, expected) in [
        ("deployment/web", "{.status.availableReplicas}", "4"),
        ("statefulset/database", "{.status.readyReplicas}", "2"),
        ("daemonset/agent", "{.status.numberAvailable}", "2"),
        ("replicationcontroller/old", "{.status.readyReplicas}", "1"),
        ("job/once", "{.status.active}", "1"),
        ("pvc/claim", "{.status.phase}", "Bound"),
        ("pdb/web", "{.status.disruptionsAllowed}", "3"),
        ("quota/limits", "{.status.used.pods}", "10"),
        ("endpoints/web", "{.subsets[0].ports[0].port}", "80"),
        ("configmap/kube-root-ca.crt", "{.metadata.name}", "kube-root-ca.crt"),
    ] {
        cluster.eventually(&format!("get {what} -n work -o jsonpath={path}"), |text| text == expected).await;
    }
    kubectl.run("patch cronjob each-minute -n work -p {\"spec\":{\"suspend\":false}}").await;
    let scheduled = "get cronjob each-minute -n work -o jsonpath={.status.lastScheduleTime}";
    cluster.eventually(scheduled, |text| !text.is_empty()).await;
    kubectl.run("rollout restart deployment/web -n work").await;
    kubectl.run("rollout status deployment/web -n work --timeout=120s").await;
    kubectl.run("drain node-2 --ignore-daemonsets --force --timeout=120s").await;
    kubectl.run("uncordon node-2").await;
    node_reads_only_what_its_pods_refer_to(&cluster).await;
    kubectl.run("delete namespace work --timeout=120s").await;

    let requests = cluster.requests();
    only_expected_requests_were_refused(&requests);
    every_controller_used_its_own_account(&requests);
}

/// The controllers go on where they were, with the same credentials.
#[tokio::test]
#[ignore = "needs Kubernetes' own programs; run by `cargo xtask components`"]
async fn controllers_go_on_after_the_server_was_killed() {
    let mut cluster = Cluster::start().await;
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", BOOTSTRAP).await;
    cluster.join("node-1");
    cluster
        .eventually("get node node-1 --no-headers --ignore-not-found", |text| text.contains(" Ready "))
        .await;
    kubectl.run("create deployment before --image=i --replicas=2").await;
    let available = |name: &str| format!("get deployment/{name} -o jsonpath={{.status.availableReplicas}}");
    cluster.eventually(&available("before"), |text| text == "2").await;
    for round in 0..3 {
        cluster.restart_server().await;
        let name = format!("after-{round}");
        kubectl.run(&format!("create deployment {name} --image=i --replicas=2")).await;
        cluster.eventually(&available(&name), |text| text == "2").await;
    }
    kubectl.run("delete deployment before --timeout=120s").await;
    cluster.eventually("get pods -l app=before --no-headers --ignore-not-found", str::is_empty).await;
}

/// With the certificate of one node: what its pods refer to, and nothing else.
async fn node_reads_only_what_its_pods_refer_to(cluster: &Cluster) {
    let node = cluster.kubectl_of("node-1");
    for arguments in ["get secret password -n work", "get configmap settings -n work", "get node node-1"] {
        node.run(arguments).await;
    }
    for (arguments, reason) in [
        ("get secret unused -n work", "no relationship found between node 'node-1' and this object"),
        ("get secrets -n work", "No Object name found"),
        ("get secrets -A", "can only read namespaced object of this type"),
        ("get secret bootstrap-token-abcdef -n kube-system", "no relationship found"),
        ("get node node-2", "node 'node-1' cannot read 'node-2', only its own Node object"),
        ("get nodes", "node 'node-1' cannot read all nodes, only its own Node object"),
        ("delete node node-1", "cannot delete resource"),
        ("get clusterroles", "cannot list resource"),
        ("create token default -n work", "node requested token not bound to a pod"),
        (
            "create clusterrolebinding own --clusterrole=cluster-admin --user=system:node:node-1",
            "cannot create",
        ),
    ] {
        let refused = node.fail(arguments).await;
        assert!(refused.contains(reason), "{arguments}: {refused}");
    }
}

/// Controllers are refused nothing but writes to a namespace that is being deleted, which they try in a usual cluster too.
fn only_expected_requests_were_refused(requests: &Requests) {
    let unexpected: Vec<_> = requests
        .refused()
        .filter(|request| {
            request.user != "system:node:node-1" && !request.message.contains("is being terminated")
        })
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

fn every_controller_used_its_own_account(requests: &Requests) {
    let users = requests.users();
    for account in [
        "certificate-controller",
        "cronjob-controller",
        "daemon-set-controller",
        "deployment-controller",
        "disruption-controller",
        "endpoint-controller",
        "endpointslice-controller",
        "generic-garbage-collector",
        "horizontal-pod-autoscaler",
        "job-controller",
        "namespace-controller",
        "node-controller",
        "persistent-volume-binder",
        "replicaset-controller",
        "replication-controller",
        "resourcequota-controller",
        "root-ca-cert-publisher",
        "service-account-controller",
        "statefulset-controller",
    ] {
        let user = format!("system:serviceaccount:kube-system:{account}");
        assert!(users.contains(&user), "{user} made no request; {users:?}");
    }
    let administrators = requests.agents_of("admin");
    assert!(administrators.iter().all(|agent| agent.starts_with("kubectl")), "{administrators:?}");
}
