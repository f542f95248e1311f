//! Extension servers: what a forwarded request and a forwarded event cost this server, beside what they cost the extension
//! server.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Method;

use super::super::figures::Limit;
use super::{CLIENTS, Stages};
use crate::Failure;
use crate::client::Connection;
use crate::closed_loop::closed_loop;
use crate::extension::{Extension, GROUP};
use crate::measurement::count;
use crate::process::ServerProcess;

/// Number of watches.
const WATCHES: usize = 16;
/// Maximum time until the extension server is available.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lets a server forward requests for these groups to an extension server.
pub(super) async fn register(
    connection: &mut Connection,
    extension: &Extension,
    groups: &[String],
) -> Result<(), Failure> {
    let services = "/api/v1/namespaces/default/services";
    connection.exchange(Method::POST, services, extension.service().to_string().into()).await?;
    for group in groups {
        let api_services = "/apis/apiregistration.k8s.io/v1/apiservices";
        let object = extension.api_service(group).to_string();
        connection.exchange(Method::POST, api_services, object.into()).await?;
    }
    Ok(())
}

// === impl Stages ===

impl Stages<'_> {
    /// Measures requests and events that an extension server answers.
    pub(super) async fn aggregated(&mut self) -> Result<(), Failure> {
        let extension = Extension::start().await?;
        let place = self.place();
        let server = self.server(&place).await?;
        let client = server.client()?;
        let mut connection = client.connect().await?;
        register(&mut connection, &extension, &[GROUP.to_owned()]).await?;
        let things = format!("/apis/{GROUP}/v1/namespaces/default/things");
        let path = format!("{things}/one");
        let begun = Instant::now();
        while connection.exchange(Method::GET, &path, Bytes::new()).await.is_err() {
            if begun.elapsed() > PATIENCE {
                return Err("the extension server is not available".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let load = self.load(CLIENTS);
        let get = closed_loop(&client, &server, load, "get aggregated", 1, move |mut connection, _| {
            let path = path.clone();
            async move { connection.exchange(Method::GET, &path, Bytes::new()).await }
        });
        let get = get.await?;
        self.fact("CPU of a forwarded GET", get.cpu_micros(), "µs", Limit::Most(40.0));
        self.measured(get);
        // Clients of Kubernetes share a connection between their watches. Each connection costs a write for every event.
        for (connections, words) in [(1, "one connection"), (WATCHES, "a connection each")] {
            let watch = format!("{things}?watch=true");
            let event = self.forwarded_event(&server, &extension, &watch, connections).await?;
            let name = format!(
                "CPU of a forwarded event of 1.2 KB, {WATCHES} watches over {words}, 1,000 a second each"
            );
            self.fact(name, event, "µs", Limit::Most(3.0));
        }
        server.stop().await;
        Ok(())
    }

    /// Returns the CPU time of an event, in microseconds.
    async fn forwarded_event(
        &self,
        server: &ServerProcess,
        extension: &Extension,
        watch: &str,
        connections: usize,
    ) -> Result<f64, Failure> {
        let client = server.client()?;
        let mut watches = Vec::new();
        // The connections must outlive their streams.
        let mut open = Vec::new();
        for _ in 0..connections {
            let mut connection = client.connect().await?;
            for _ in 0..WATCHES / connections {
                let response = connection.open(watch).await?;
                watches.push(tokio::spawn(async move {
                    let mut events = response.into_body();
                    while let Some(Ok(_)) = events.frame().await {}
                }));
            }
            open.push(connection);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (cpu, sent) = (server.cpu_seconds()?, extension.events());
        tokio::time::sleep(Duration::from_secs(self.options.suite_seconds)).await;
        let (cpu, sent) = (server.cpu_seconds()? - cpu, extension.events() - sent);
        watches.iter().for_each(tokio::task::JoinHandle::abort);
        drop(open);
        if sent == 0 {
            return Err("no events".into());
        }
        Ok(cpu * 1e6 / count(sent))
    }
}
