//! The objects of the workloads, and the creation and removal of their collections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use hyper::Method;

use super::client::Client;
use crate::Failure;

/// Pads a ConfigMap to about 1.4 KB of JSON as the server stores it.
const CONFIG_MAP_PADDING_BYTES: usize = 1_000;

/// Pads a pod to about 4 KB of JSON as the server stores it.
const POD_PADDING_BYTES: usize = 2_000;

/// A kind of object to fill a collection with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 1.4 KB, with hardly any validation.
    ConfigMap,
    /// 4 KB, defaulted and validated, with as many fields as a small pod of a Deployment.
    Pod,
}

// === impl Kind ===

impl Kind {
    /// Returns the path of the collection in a namespace.
    pub(crate) fn collection(self, namespace: &str) -> String {
        match self {
            Self::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps"),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
        }
    }

    fn body(self, name: &str) -> Bytes {
        match self {
            Self::ConfigMap => config_map(name, "0"),
            Self::Pod => pod(name),
        }
    }
}

/// Returns a ConfigMap of about 1.4 KB as the server stores it; `sent` is for its receivers.
pub(crate) fn config_map(name: &str, sent: &str) -> Bytes {
    let padding = "x".repeat(CONFIG_MAP_PADDING_BYTES);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"padding":"{padding}","sent":"{sent}"}}}}"#
    )
    .into()
}

fn pod(name: &str) -> Bytes {
    let padding = "x".repeat(POD_PADDING_BYTES);
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","labels":{{"app":"bench"}},"annotations":{{"bench/padding":"{padding}"}}}},"spec":{{"automountServiceAccountToken":false,"nodeName":"node-{}","containers":[{{"name":"main","image":"registry.example/main:1.0","ports":[{{"containerPort":8080}}],"env":[{{"name":"MODE","value":"bench"}}],"resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}}}}}}]}}}}"#,
        name.len() + name.bytes().map(usize::from).sum::<usize>() % 100
    )
    .into()
}

/// Creates a namespace.
pub(crate) async fn make_namespace(client: &Client, name: &str) -> Result<(), Failure> {
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
    client.connect().await?.exchange(Method::POST, "/api/v1/namespaces", body.into()).await?;
    // Pods need it; created here if no controller does.
    let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#;
    let accounts = format!("/api/v1/namespaces/{name}/serviceaccounts");
    let _made_by_a_controller =
        client.connect().await?.exchange(Method::POST, &accounts, account.into()).await;
    Ok(())
}

/// Removes a namespace and its ConfigMaps. Failures are ignored: the measurement is done, and the remaining objects are
/// in a namespace of their own.
pub(crate) async fn remove_namespace(client: &Client, name: &str) {
    let Ok(mut connection) = client.connect().await else { return };
    let objects = Kind::ConfigMap.collection(name);
    let _ = connection.exchange(Method::DELETE, &objects, Bytes::new()).await;
    let _ = connection.exchange(Method::DELETE, &format!("/api/v1/namespaces/{name}"), Bytes::new()).await;
}

/// Creates the objects number `from` to `to` in a namespace's collection.
pub(crate) async fn fill(
    client: &Client,
    kind: Kind,
    namespace: &str,
    from: usize,
    to: usize,
) -> Result<(), Failure> {
    const WRITERS: usize = 64;
    let next = Arc::new(AtomicUsize::new(from));
    let mut writers = Vec::new();
    for _ in 0..WRITERS.min(to.saturating_sub(from)) {
        let mut connection = client.connect().await?;
        let next = next.clone();
        let path = kind.collection(namespace);
        writers.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    return Ok::<_, Failure>(());
                }
                connection.exchange(Method::POST, &path, kind.body(&format!("item-{number}"))).await?;
            }
        }));
    }
    for writer in writers {
        writer.await??;
    }
    Ok(())
}
