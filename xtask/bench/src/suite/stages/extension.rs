//! An extension server of this project behind the main server: its start, its memory, and what it costs that another server
//! knows its users and their permissions; and what many APIServices cost the main server at rest.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;

use super::super::backend::Backend;
use super::super::figures::Limit;
use super::aggregated::register;
use super::{CLIENTS, QUIET, Stages, StoragePlace, median};
use crate::Failure;
use crate::client::Client;
use crate::closed_loop::closed_loop;
use crate::extension::{Extension, GROUP};
use crate::process::{Launch, ServerProcess, TENANT_TOKENS};

/// Number of APIServices.
const API_SERVICES: usize = 50;
/// Time after which each of them has been checked, and its documents have been fetched.
const SETTLED: Duration = Duration::from_secs(5);
/// Number of times that requests of both users are measured, in turn. The medians count, also of the differences.
const ROUNDS: usize = 7;

const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
const NAME: &str = "read-me";
/// Allows the tenants to read the zoo's objects, at the main server.
const ROLE: &str = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"zoo"},"rules":[{"apiGroups":["zoo.example.dev"],"resources":["enclosures"],"verbs":["get"]}]}"#;
const BINDING: &str = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"zoo"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"zoo"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tenants"}]}"#;

// === impl Stages ===

impl Stages<'_> {
    /// Measures an extension server, and the main server with many APIServices.
    pub(super) async fn extension(&mut self) -> Result<(), Failure> {
        // An extension server's own store is the embedded one; the store of its main server makes no difference to it.
        if self.backend == Backend::Embedded {
            self.behind_main_server().await?;
        }
        self.at_rest().await
    }

    async fn behind_main_server(&mut self) -> Result<(), Failure> {
        let place = self.place();
        let main = self.server(&place).await?;
        let mut times = Vec::new();
        let mut idle_mebibytes = 0.0;
        for number in 1..=self.options.starts {
            let own = self.place();
            let extension = start(&own, &place).await?;
            times.extend(extension.ready_after().map(|after| after.as_secs_f64() * 1e3));
            if number == self.options.starts {
                tokio::time::sleep(QUIET).await;
                idle_mebibytes = extension.resident_mebibytes();
            }
            extension.stop().await;
        }
        let name = "start to ready, an extension server behind a ready main server";
        self.fact(name, median(times), "ms", Limit::Most(100.0));
        self.fact("resident memory, idle extension server", idle_mebibytes, "MiB", Limit::Most(20.0));
        self.delegated(&main, &place).await?;
        main.stop().await;
        Ok(())
    }

    /// Compares requests of a user of the main server, whose permissions the main server decides, with requests of a user of
    /// the extension server itself, who may do everything.
    async fn delegated(&mut self, main: &ServerProcess, main_place: &StoragePlace) -> Result<(), Failure> {
        let mut connection = main.client()?.connect().await?;
        let group = "/apis/rbac.authorization.k8s.io/v1";
        connection.exchange(Method::POST, &format!("{group}/clusterroles"), ROLE.into()).await?;
        connection.exchange(Method::POST, &format!("{group}/clusterrolebindings"), BINDING.into()).await?;
        let own = self.place();
        let extension = start(&own, main_place).await?;
        let admin = extension.client()?;
        let object = format!(
            r#"{{"apiVersion":"zoo.example.dev/v1","kind":"Enclosure","metadata":{{"name":"{NAME}","annotations":{{"padding":"{}"}}}},"spec":{{"species":"penguin"}}}}"#,
            "x".repeat(1_000)
        );
        admin.connect().await?.exchange(Method::POST, ENCLOSURES, object.into()).await?;
        let [tenant, _] = TENANT_TOKENS;
        let tenant = extension.client_of(tenant)?;
        // Until the permission is in force.
        tokio::time::sleep(QUIET).await;
        let (mut of_own, mut differences) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let own = self.reads(&admin, &extension, "get, user of the server").await?;
            let delegated = self.reads(&tenant, &extension, "get, user of the main server").await?;
            of_own.push(own);
            differences.push(delegated - own);
        }
        let name = "CPU of a GET at an extension server, user of its own";
        self.fact(name, median(of_own), "µs", Limit::None);
        let name = "CPU added to it by authentication and authorization by the main server, from the caches";
        self.fact(name, median(differences), "µs", Limit::Most(3.0));
        extension.stop().await;
        Ok(())
    }

    /// Returns the CPU time of a request, in microseconds.
    async fn reads(
        &self,
        client: &Client,
        server: &ServerProcess,
        workload: &'static str,
    ) -> Result<f64, Failure> {
        let read =
            closed_loop(client, server, self.load(CLIENTS), workload, 1, |mut connection, _| async move {
                connection.exchange(Method::GET, &format!("{ENCLOSURES}/{NAME}"), Bytes::new()).await
            });
        Ok(read.await?.cpu_micros())
    }

    /// Compares two idle servers, one of them with APIServices.
    async fn at_rest(&mut self) -> Result<(), Failure> {
        let extension = Extension::start().await?;
        let (place, other) = (self.place(), self.place());
        let with = self.server(&place).await?;
        let without = self.server(&other).await?;
        let groups: Vec<String> = (0..API_SERVICES).map(|number| format!("g{number}.{GROUP}")).collect();
        let mut connection = with.client()?.connect().await?;
        register(&mut connection, &extension, &groups).await?;
        tokio::time::sleep(SETTLED).await;
        for group in &groups {
            // Fails unless it is available.
            connection.exchange(Method::GET, &format!("/apis/{group}/v1/things/one"), Bytes::new()).await?;
        }
        drop(connection);
        let before = [with.cpu_seconds()?, without.cpu_seconds()?];
        let seconds = self.options.idle_seconds.max(1);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let per_minute = 60.0 / Duration::from_secs(seconds).as_secs_f64();
        let [with_millis, without_millis] = [(&with, before[0]), (&without, before[1])]
            .map(|(server, before)| server.cpu_seconds().map(|now| (now - before) * 1e3 * per_minute));
        let (with_millis, without_millis) = (with_millis?, without_millis?);
        self.fact("CPU of an idle server", without_millis, "ms a minute", Limit::None);
        let name = format!("CPU added to it by {API_SERVICES} APIServices");
        // A thousandth of a processor.
        self.fact(name, with_millis - without_millis, "ms a minute", Limit::Most(60.0));
        with.stop().await;
        without.stop().await;
        Ok(())
    }
}

/// Starts an extension server behind a main server, with the rights of the main server's administrator.
async fn start(own: &StoragePlace, main: &StoragePlace) -> Result<ServerProcess, Failure> {
    let kubeconfig = main.data.join("admin.kubeconfig");
    ServerProcess::start(Launch { data: &own.data, etcd: None, main: Some(&kubeconfig), flags: &[] }).await
}
