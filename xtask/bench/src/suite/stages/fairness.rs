//! A quiet tenant beside a flooding one: the 99th percentile of its reads, alone and during floods. Both are ordinary
//! users, who share the priority level `global-default`.

use bytes::Bytes;
use hyper::Method;

use super::super::figures::Limit;
use super::Stages;
use crate::Failure;
use crate::client::Client;
use crate::closed_loop::{Load, closed_loop};
use crate::flood::Flood;
use crate::measurement::Measurement;
use crate::objects::{self, Kind};
use crate::process::{ServerProcess, TENANT_TOKENS};

const NAMESPACE: &str = "fairness";
/// Number of objects in the lists of the flood.
const OBJECTS: usize = 1_000;
/// The floods: the workload of the quiet tenant, the figure, and whether the flood asks for compressed responses, of which the
/// server has more work than the client.
const FLOODS: [(&str, &str, bool); 2] = [
    ("read, quiet tenant beside a flood", "p99 of a quiet tenant beside a flooding one", false),
    (
        "read, quiet tenant beside compressed lists",
        "p99 of a quiet tenant beside a flood of compressed lists",
        true,
    ),
];

/// Lets the tenants do everything.
const BINDING: &str = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"tenants"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tenants"}]}"#;

impl Stages<'_> {
    /// Measures the reads of a quiet tenant, alone and beside a tenant with many lists at a time.
    pub(in super::super) async fn fairness(&mut self) -> Result<(), Failure> {
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
        let alone_millis = alone.p99_millis();
        self.measured(alone);
        let path = Kind::ConfigMap.collection(NAMESPACE);
        for (workload, figure, is_compressed) in FLOODS {
            let flood = Flood::start(server.url(), flood, &path, is_compressed)?;
            tokio::time::sleep(super::QUIET).await;
            let beside = reads(&quiet, &server, workload, load).await?;
            flood.stop()?;
            let ratio = beside.p99_millis() / alone_millis;
            let processors = beside.processors();
            self.measured(beside);
            self.fact(figure, ratio, "times", Limit::Most(2.0));
            // Otherwise the server had processors to spare, and the figure says nothing.
            self.fact(format!("processors used: {workload}"), processors, "processors", Limit::None);
        }
        server.stop().await;
        Ok(())
    }
}

/// Reads single objects, one after the other.
async fn reads(
    client: &Client,
    server: &ServerProcess,
    workload: &'static str,
    load: Load,
) -> Result<Measurement, Failure> {
    closed_loop(client, server, load, workload, OBJECTS, |mut connection, number| async move {
        let path = format!("{}/item-{}", Kind::ConfigMap.collection(NAMESPACE), number % OBJECTS as u64);
        connection.exchange(Method::GET, &path, Bytes::new()).await
    })
    .await
}
