//! A quiet tenant beside a flooding one: the 99th percentile of its reads, alone and during the flood. Both are ordinary
//! users, who share the priority level `global-default`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use hyper::Method;

use super::super::super::client::Client;
use super::super::super::closed_loop::{Load, closed_loop};
use super::super::super::measurement::Measurement;
use super::super::super::objects::{self, Kind};
use super::super::super::process::{ServerProcess, TENANT_TOKENS};
use super::super::figures::Limit;
use super::Stages;

const NAMESPACE: &str = "fairness";
/// Number of objects in the lists of the flood.
const OBJECTS: usize = 1_000;
/// Number of connections of the flooding tenant, each with a list at a time.
const FLOODING: usize = 128;

/// Lets the tenants do everything.
const BINDING: &str = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"tenants"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tenants"}]}"#;

impl Stages<'_> {
    /// Measures the reads of a quiet tenant, alone and beside a tenant with many lists at a time.
    pub(in super::super) async fn fairness(&mut self) -> Result<(), String> {
        let place = self.place();
        let server = self.server(&place).await?;
        let admin = server.client()?;
        objects::make_namespace(&admin, NAMESPACE).await?;
        objects::fill(&admin, Kind::ConfigMap, NAMESPACE, 0, OBJECTS).await?;
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        admin.connect().await?.exchange(Method::POST, bindings, BINDING.into()).await?;
        // Until the binding is in force.
        tokio::time::sleep(super::QUIET).await;
        let [quiet, flood] = TENANT_TOKENS;
        let quiet = server.client_of(quiet)?;
        let load = self.load(1);
        let alone = reads(&quiet, &server, "read, quiet tenant alone", load).await?;
        let flood = Flood::start(&server.client_of(flood)?).await?;
        tokio::time::sleep(super::QUIET).await;
        let beside = reads(&quiet, &server, "read, quiet tenant beside a flood", load).await?;
        flood.stop().await?;
        server.stop().await;
        let ratio = beside.p99_millis() / alone.p99_millis();
        self.measured(alone);
        self.measured(beside);
        self.fact("p99 of a quiet tenant beside a flooding one", ratio, "times", Limit::Most(2.0));
        Ok(())
    }
}

/// Reads single objects, one after the other.
async fn reads(
    client: &Client,
    server: &ServerProcess,
    workload: &'static str,
    load: Load,
) -> Result<Measurement, String> {
    closed_loop(client, server, load, workload, OBJECTS, |mut connection, number| async move {
        let path = format!("{}/item-{}", Kind::ConfigMap.collection(NAMESPACE), number % OBJECTS as u64);
        connection.exchange(Method::GET, &path, Bytes::new()).await
    })
    .await
}

/// Connections that list as fast as they can.
struct Flood {
    is_over: Arc<AtomicBool>,
    connections: Vec<tokio::task::JoinHandle<Result<(), String>>>,
}

impl Flood {
    async fn start(client: &Client) -> Result<Self, String> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut connections = Vec::new();
        for _ in 0..FLOODING {
            let mut connection = client.connect().await?;
            let is_over = is_over.clone();
            connections.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let path = Kind::ConfigMap.collection(NAMESPACE);
                    let answer = connection.exchange(Method::GET, &path, Bytes::new()).await;
                    // That some are refused is the point; any other failure is one.
                    answer
                        .map(drop)
                        .or_else(|error| if error.contains("429") { Ok(()) } else { Err(error) })?;
                }
                Ok(())
            }));
        }
        Ok(Self { is_over, connections })
    }

    async fn stop(self) -> Result<(), String> {
        self.is_over.store(true, Ordering::Relaxed);
        for connection in self.connections {
            connection.await.map_err(|error| error.to_string())??;
        }
        Ok(())
    }
}
