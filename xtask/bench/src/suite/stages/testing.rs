//! Servers for tests: in memory, started for each test process.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::figures::Limit;
use super::{QUIET, Stages, custom, median};
use crate::Failure;
use crate::client::{Connection, Request};
use crate::objects::{self, Kind};
use crate::process::{Launch, ServerProcess};

/// Number of definitions that a test project has.
const DEFINITIONS: usize = 20;
/// Number of servers that start at once.
const SERVERS: usize = 20;
/// Number of watches that are open when a server ends.
const WATCHES: usize = 100;
/// Number of objects in the namespace that is deleted.
const OBJECTS: usize = 1_000;
/// Number of dependents of each object of a tree of three levels.
const DEPENDENTS: usize = 3;
/// Number of times that a namespace and a tree are deleted; the median counts.
const ROUNDS: usize = 5;
/// Maximum time until something is gone.
const PATIENCE: Duration = Duration::from_mins(1);
const NAMESPACES: &str = "/api/v1/namespaces";

// === impl Stages ===

impl Stages<'_> {
    /// Measures the start and the end of servers in memory, and the controllers that tests wait for.
    pub(super) async fn testing(&mut self) -> Result<(), Failure> {
        let (mut starts, mut defined) = (Vec::new(), Vec::new());
        for _ in 0..self.options.starts {
            let begun = Instant::now();
            let server = self.in_memory().await?;
            starts.extend(server.ready_after().map(millis));
            let mut connection = server.client()?.connect().await?;
            custom::define(&mut connection, DEFINITIONS).await?;
            defined.push(millis(begun.elapsed()));
            server.stop().await;
        }
        self.fact("in memory: start to ready", median(starts), "ms", Limit::Most(100.0));
        let name = format!("in memory: start to {DEFINITIONS} definitions of 30 kB established");
        self.fact(name, median(defined), "ms", Limit::Most(250.0));
        self.at_once().await?;
        let server = self.in_memory().await?;
        tokio::time::sleep(QUIET).await;
        self.fact("in memory: resident memory, idle", server.resident_mebibytes(), "MiB", Limit::Most(40.0));
        self.namespaces(&server).await?;
        self.trees(&server).await?;
        self.end_with_watches(server).await
    }

    async fn in_memory(&mut self) -> Result<ServerProcess, Failure> {
        let place = self.place();
        self.server_with(&place, &["--storage-backend=memory".to_owned()]).await
    }

    /// Starts many servers at once.
    async fn at_once(&mut self) -> Result<(), Failure> {
        let mut starting = JoinSet::new();
        for _ in 0..SERVERS {
            let data = self.place().data;
            starting.spawn(async move {
                let flags = ["--storage-backend=memory".to_owned()];
                ServerProcess::start(Launch { data: &data, etcd: None, main: None, flags: &flags }).await
            });
        }
        let mut slowest = 0.0_f64;
        let mut servers = Vec::new();
        while let Some(started) = starting.join_next().await {
            let server = started??;
            slowest = slowest.max(server.ready_after().map_or(0.0, |after| after.as_secs_f64()));
            servers.push(server);
        }
        let name = format!("in memory: start to ready, the slowest of {SERVERS} at once");
        self.fact(name, slowest, "s", Limit::Most(2.0));
        for server in servers {
            server.stop().await;
        }
        Ok(())
    }

    /// Deletes namespaces with objects.
    async fn namespaces(&mut self, server: &ServerProcess) -> Result<(), Failure> {
        let client = server.client()?;
        let mut connection = client.connect().await?;
        let (mut times, mut cpu) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let name = format!("ending-{round}");
            objects::make_namespace(&client, &name).await?;
            objects::fill(&client, Kind::ConfigMap, &name, 0, OBJECTS).await?;
            let path = format!("{NAMESPACES}/{name}");
            let before = server.cpu_seconds()?;
            times.push(until_gone(&mut connection, &path, &path, "Background").await?);
            cpu.push((server.cpu_seconds()? - before) * 1e3);
        }
        let name = format!("a namespace of {OBJECTS} objects, from its deletion to its end");
        self.fact(name.clone(), median(times), "ms", Limit::Most(100.0));
        self.fact(format!("CPU of {name}"), median(cpu), "ms", Limit::None);
        Ok(())
    }

    /// Deletes trees of owners.
    async fn trees(&mut self, server: &ServerProcess) -> Result<(), Failure> {
        let client = server.client()?;
        objects::make_namespace(&client, "trees").await?;
        let mut connection = client.connect().await?;
        for propagation in ["Background", "Foreground"] {
            let mut times = Vec::new();
            for round in 0..ROUNDS {
                let name = format!("{}-{round}", propagation.to_lowercase());
                let root = owned(&mut connection, &name, None).await?;
                let mut last = root.clone();
                for child in 0..DEPENDENTS {
                    let middle = owned(&mut connection, &format!("{name}-{child}"), Some(&root)).await?;
                    for leaf in 0..DEPENDENTS {
                        last =
                            owned(&mut connection, &format!("{name}-{child}-{leaf}"), Some(&middle)).await?;
                    }
                }
                // The collector knows the tree when it knows the last one.
                tokio::time::sleep(Duration::from_millis(100)).await;
                let end = if propagation == "Background" { &last } else { &root };
                times.push(until_gone(&mut connection, &path(&root), &path(end), propagation).await?);
            }
            let name = format!("a tree of three levels, {propagation}, from its deletion to its end");
            self.fact(name, median(times), "ms", Limit::Most(50.0));
        }
        Ok(())
    }

    /// Ends a server that has watches.
    async fn end_with_watches(&mut self, server: ServerProcess) -> Result<(), Failure> {
        let client = server.client()?;
        let mut watches = Vec::new();
        for _ in 0..WATCHES {
            let mut connection = client.connect().await?;
            let path = "/api/v1/configmaps?watch=true";
            watches.push(connection.open(path).await?);
        }
        let begun = Instant::now();
        server.stop().await;
        let name = format!("in memory: end with {WATCHES} open watches");
        self.fact(name, millis(begun.elapsed()), "ms", Limit::Most(100.0));
        Ok(())
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn path(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    format!("{NAMESPACES}/trees/configmaps/{name}")
}

/// Creates an object that this owner waits for when it is deleted in the foreground.
async fn owned(connection: &mut Connection, name: &str, owner: Option<&Value>) -> Result<Value, Failure> {
    let owners: Vec<Value> = owner
        .map(|owner| {
            let field = |path| owner.pointer(path).cloned().unwrap_or_default();
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": field("/metadata/name"), "uid": field("/metadata/uid"),
                "blockOwnerDeletion": true,
            })
        })
        .into_iter()
        .collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
    let path = format!("{NAMESPACES}/trees/configmaps");
    let request = Request::write(Method::POST, &path, object.to_string().into());
    Ok(serde_json::from_slice(&connection.fetch(request).await?)?)
}

/// Deletes an object, and returns the milliseconds until another one is gone.
async fn until_gone(
    connection: &mut Connection,
    deleted: &str,
    last: &str,
    propagation: &str,
) -> Result<f64, Failure> {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation});
    let begun = Instant::now();
    connection.exchange(Method::DELETE, deleted, options.to_string().into()).await?;
    loop {
        let response = connection.open(last).await?;
        if response.status() == hyper::StatusCode::NOT_FOUND {
            return Ok(millis(begun.elapsed()));
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{last} stays").into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
