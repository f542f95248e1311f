//! Pods and leases: what the components of a cluster write and read most.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::client::{Client, Request};
use super::closed_loop::{Load, closed_loop};
use super::measurement::Measurement;
use super::objects::{Kind, make_namespace};
use super::process::ServerProcess;
use crate::Failure;

/// The media type of a table, as `kubectl get` asks for it.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// The media type of Kubernetes' protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Number of objects among which successive writes rotate, so that clients rarely write the same object at once.
const WRITTEN: u64 = 256;

/// Number of pods in the lists of the budget.
pub(crate) const LISTED: usize = 4_000;

/// The conditions of a pod that runs.
const CONDITIONS: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// The namespace of the objects.
const NAMESPACE: &str = "pods-of-the-bench";

/// Runs all workloads of pods and leases: writes first, then lists of `listed` pods.
pub(crate) async fn all(
    client: &Client,
    server: &ServerProcess,
    listed: usize,
    load: Load,
) -> Result<Vec<Measurement>, Failure> {
    make_namespace(client, NAMESPACE).await?;
    let lists = Load { clients: 1, ..load };
    let mut measured = Vec::new();
    fill(client, listed).await?;
    measured.push(list(client, server, "pods as JSON", "application/json", listed, lists).await?);
    measured.push(list(client, server, "pods as protobuf", PROTOBUF, listed, lists).await?);
    measured.push(list(client, server, "pods as table", TABLE, listed, lists).await?);
    measured.push(status_patch(client, server, listed, load).await?);
    measured.push(lease_update(client, server, load).await?);
    measured.push(create(client, server, listed, load).await?);
    Ok(measured)
}

/// Creates the pods that are listed and patched.
async fn fill(client: &Client, listed: usize) -> Result<(), Failure> {
    let mut connection = client.connect().await?;
    let collection = Kind::Pod.collection(NAMESPACE);
    for number in 0..listed {
        connection.exchange(Method::POST, &collection, usual_pod(&format!("item-{number}"))).await?;
    }
    Ok(())
}

/// Clients create pods.
async fn create(
    client: &Client,
    server: &ServerProcess,
    size: usize,
    load: Load,
) -> Result<Measurement, Failure> {
    let path: Arc<str> = Kind::Pod.collection(NAMESPACE).into();
    closed_loop(client, server, load, "pod create", size, move |mut connection, number| {
        let path = path.clone();
        let body = usual_pod(&format!("made-{number}"));
        async move { connection.exchange(Method::POST, &path, body).await }
    })
    .await
}

/// Clients patch the status of pods, as kubelets do.
async fn status_patch(
    client: &Client,
    server: &ServerProcess,
    size: usize,
    load: Load,
) -> Result<Measurement, Failure> {
    let collection: Arc<str> = Kind::Pod.collection(NAMESPACE).into();
    let pods = WRITTEN.min(size as u64).max(1);
    closed_loop(client, server, load, "pod status patch", size, move |mut connection, number| {
        let path = format!("{collection}/item-{}/status", number % pods);
        let body = status_of(number + 1);
        async move { connection.exchange_as(Request::merge_patch(&path, body)).await }
    })
    .await
}

/// Clients renew leases, as kubelets do: each renewal is based on the one before.
async fn lease_update(client: &Client, server: &ServerProcess, load: Load) -> Result<Measurement, Failure> {
    let collection: Arc<str> = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases").into();
    let mut connection = client.connect().await?;
    let mut versions = Vec::new();
    for number in 0..WRITTEN {
        let made = lease(&format!("node-{number}"), 0, "");
        let made = connection.fetch(Request::write(Method::POST, &collection, made)).await?;
        versions.push(Mutex::new(version_of(&made)?));
    }
    let versions: Arc<[_]> = versions.into();
    let size = versions.len();
    closed_loop(client, server, load, "lease update", size, move |mut connection, number| {
        let versions = versions.clone();
        let name = format!("node-{}", number % WRITTEN);
        let path = format!("{collection}/{name}");
        async move {
            let place = usize::try_from(number % WRITTEN).unwrap_or_default();
            let Some(version) = versions.get(place) else { return Err("no such lease".into()) };
            let mut version = version.lock().await;
            let body = lease(&name, number + 1, &version);
            let renewed = connection.fetch(Request::write(Method::PUT, &path, body)).await?;
            *version = version_of(&renewed)?;
            Ok(renewed.len())
        }
    })
    .await
}

/// Returns the resource version of an object in JSON.
pub(crate) fn version_of(object: &[u8]) -> Result<String, Failure> {
    let object: Value = serde_json::from_slice(object)?;
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.map(str::to_owned).ok_or_else(|| "an object has no resource version".into())
}

/// Clients list the pods in a format.
async fn list(
    client: &Client,
    server: &ServerProcess,
    workload: &'static str,
    accept: &'static str,
    size: usize,
    load: Load,
) -> Result<Measurement, Failure> {
    // Only the pods of this list are in the namespace: other workloads follow.
    let path: Arc<str> = Kind::Pod.collection(NAMESPACE).into();
    closed_loop(client, server, load, workload, size, move |mut connection, _| {
        let path = path.clone();
        async move { connection.exchange_as(Request::get(&path, accept)).await }
    })
    .await
}

/// Returns a pod as a controller creates it: 2.6 KB as it is sent, 7.4 KB as the server stores it.
pub(crate) fn usual_pod(name: &str) -> Bytes {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {
                "app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "frontend",
                "app.kubernetes.io/version": "1.14.2", "pod-template-hash": "7d4f8b9c6d",
            },
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9102"},
        },
        "spec": {
            "nodeName": format!("node-{}", name.len() % 100),
            "terminationGracePeriodSeconds": 45,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 2000},
            "affinity": affinity(),
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "shop", "effect": "NoSchedule"}],
            "containers": [
                container("main", "registry.example.com/shop/frontend:1.14.2", 8080),
                container("metrics", "registry.example.com/shop/exporter:0.9.1", 9102),
            ],
            "volumes": [
                {"name": "config", "configMap": {"name": "frontend-config"}},
                {"name": "cache", "emptyDir": {"sizeLimit": "256Mi"}},
                {"name": "certificates", "secret": {"secretName": "frontend-certificates", "defaultMode": 288}},
            ],
        },
    });
    pod.to_string().into()
}

fn affinity() -> Value {
    let same_app = json!({"matchLabels": {"app.kubernetes.io/name": "shop"}});
    json!({
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]}]},
        ]}},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": {"labelSelector": same_app, "topologyKey": "kubernetes.io/hostname"}},
        ]},
    })
}

fn container(name: &str, image: &str, port: u16) -> Value {
    json!({
        "name": name, "image": image,
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "env": [
            {"name": "MODE", "value": "production"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {
            "requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"},
        },
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 20},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "initialDelaySeconds": 3},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config", "readOnly": true},
            {"name": "cache", "mountPath": "/var/cache"},
        ],
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    })
}

/// Returns a patch with the status of a pod that runs; `number` makes it different from others.
pub(crate) fn status_of(number: u64) -> Bytes {
    let since = "2026-01-05T10:00:00Z";
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": since});
    let container = |name: &str, image: &str| {
        json!({
            "name": name, "image": image, "imageID": format!("{image}@sha256:{:064x}", 7),
            "containerID": format!("containerd://{number:064x}"),
            "ready": true, "started": true, "restartCount": 0, "lastState": {},
            "state": {"running": {"startedAt": since}},
        })
    };
    let conditions = CONDITIONS.map(condition);
    let status = json!({"status": {
        "phase": "Running", "qosClass": "Burstable", "startTime": since,
        "hostIP": "10.0.0.7", "hostIPs": [{"ip": "10.0.0.7"}],
        "podIP": "10.244.1.17", "podIPs": [{"ip": "10.244.1.17"}],
        "conditions": conditions,
        "containerStatuses": [
            container("main", "registry.example.com/shop/frontend:1.14.2"),
            container("metrics", "registry.example.com/shop/exporter:0.9.1"),
        ],
    }});
    status.to_string().into()
}

/// Returns a node's lease; `number` makes it different from others.
pub(crate) fn lease(name: &str, number: u64, version: &str) -> Bytes {
    let renewed =
        format!("2026-01-05T10:{:02}:{:02}.{:06}Z", number / 60 % 60, number % 60, number % 1_000_000);
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "resourceVersion": version},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed},
    });
    lease.to_string().into()
}
