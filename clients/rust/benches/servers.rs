//! The start and the end of servers in the process of a test, their snapshots, and the controllers that tests wait for: the median
//! of the time, and the mean of the processor time of the whole process, client included. Run with `cargo bench -p orlop-test`.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench ends at what is missing")]

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::{self, BoxStream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchParams};
use orlop_test::{TestServer, TestServerBuilder};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The number of objects of snapshots.
const OBJECTS: usize = 10_000;
/// The number of objects in a namespace that ends.
const IN_NAMESPACE: usize = 1_000;
/// Time for the work of controllers that a preparation causes.
const QUIET: Duration = Duration::from_millis(200);

fn main() {
    println!("| | median | processor time |\n|---|---|---|");
    let runtime = Runtime::new().unwrap();
    runtime.block_on(starts());
    runtime.block_on(ends());
    runtime.block_on(snapshots());
    runtime.block_on(controllers());
}

/// Measures an operation on what its preparation returns.
async fn measure<T>(what: &str, rounds: u32, prepare: impl AsyncFn() -> T, operate: impl AsyncFn(T)) {
    let (mut times, mut processor_time) = (Vec::new(), Duration::ZERO);
    for _ in 0..rounds {
        let prepared = prepare().await;
        tokio::time::sleep(QUIET).await;
        let (before, begun) = (processor_clock(), Instant::now());
        operate(prepared).await;
        times.push(begun.elapsed());
        processor_time += processor_clock().saturating_sub(before);
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("| {what} | {:.1?} | {:.1?} |", median, processor_time / rounds);
}

/// Returns the processor time of this process so far.
fn processor_clock() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap()
}

async fn starts() {
    let start = async |()| drop(TestServer::start().await.unwrap());
    measure("start", 8, async || (), start).await;
    let definitions = async || (0..20).map(definition).collect::<Vec<_>>();
    let start = async |definitions: Vec<Value>| {
        let builder = TestServer::builder();
        let builder = definitions.into_iter().fold(builder, TestServerBuilder::crd_object);
        drop(Box::pin(builder.start()).await.unwrap());
    };
    measure("start with 20 definitions", 8, definitions, start).await;
    let start = async |()| {
        let servers = join_all((0..20).map(|_| tokio::spawn(TestServer::start()))).await;
        drop(servers);
    };
    measure("20 starts at once", 3, async || (), start).await;
}

async fn ends() {
    let stop = async |server: TestServer| server.stop().await;
    measure("stop", 8, async || TestServer::start().await.unwrap(), stop).await;
    let watched = async || {
        let server = TestServer::start().await.unwrap();
        let maps: Api<ConfigMap> = Api::all(server.client());
        let parameters = WatchParams::default();
        let watches = join_all((0..100).map(|_| maps.watch(&parameters, "0"))).await;
        let open: Vec<BoxStream<'static, _>> = stream::iter(watches.into_iter().map(Result::unwrap))
            .then(async |watch| {
                let mut watch = watch.boxed();
                watch.next().await.unwrap().unwrap();
                watch
            })
            .collect()
            .await;
        (server, open)
    };
    let stop = async |(server, _open): (TestServer, Vec<BoxStream<'static, _>>)| server.stop().await;
    Box::pin(measure("stop with 100 open watches", 5, watched, stop)).await;
}

async fn snapshots() {
    let server = TestServer::start().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    create(&maps, "kept", OBJECTS).await;
    let snapshot = async |()| drop(server.snapshot().await.unwrap());
    measure("snapshot of 10,000 objects", 8, async || (), snapshot).await;
    let snapshot = server.snapshot().await.unwrap();
    let restore = async |()| server.restore(&snapshot).await.unwrap();
    measure("restore, no change", 8, async || (), &restore).await;
    measure("restore, 100 new objects", 8, async || create(&maps, "new", 100).await, &restore).await;
    let change = async || {
        let patch = Patch::Merge(json!({"data": {"value": "changed"}}));
        let patched = stream::iter(0..OBJECTS).map(async |number| {
            maps.patch(&format!("kept-{number}"), &PatchParams::default(), &patch).await.unwrap();
        });
        patched.buffer_unordered(64).for_each(async |()| ()).await;
    };
    measure("restore, 10,000 changed objects", 3, change, &restore).await;
}

async fn controllers() {
    let server = TestServer::start().await.unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    let full = async || {
        let namespace = serde_json::from_value(json!({"metadata": {"name": "ending"}})).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        create(&Api::namespaced(server.client(), "ending"), "object", IN_NAMESPACE).await;
    };
    let end = async |()| {
        namespaces.delete("ending", &DeleteParams::default()).await.unwrap();
        while namespaces.get_opt("ending").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    measure("a namespace of 1,000 objects, from its deletion to its end", 5, full, end).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    for (name, parameters) in
        [("background", DeleteParams::background()), ("foreground", DeleteParams::foreground())]
    {
        let tree = async || {
            let root = owned(&maps, "root", None).await;
            for child in 0..3 {
                let middle = owned(&maps, &format!("root-{child}"), Some(&root)).await;
                for leaf in 0..3 {
                    owned(&maps, &format!("root-{child}-{leaf}"), Some(&middle)).await;
                }
            }
        };
        let delete = async |()| {
            maps.delete("root", &parameters).await.unwrap();
            for name in ["root", "root-0-0", "root-1-1", "root-2-2"] {
                while maps.get_opt(name).await.unwrap().is_some() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        };
        measure(&format!("a tree of 13 objects in three levels, in the {name}"), 8, tree, delete).await;
    }
}

/// Creates objects of 1 kB.
async fn create(maps: &Api<ConfigMap>, prefix: &str, count: usize) {
    let post = PostParams::default();
    let created = stream::iter(0..count).map(async |number| {
        let object =
            json!({"metadata": {"name": format!("{prefix}-{number}")}, "data": {"value": "x".repeat(800)}});
        maps.create(&post, &serde_json::from_value(object).unwrap()).await.unwrap();
    });
    created.buffer_unordered(64).for_each(async |()| ()).await;
}

async fn owned(maps: &Api<ConfigMap>, name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners: Vec<Value> = owner
        .map(|owner| {
            let (name, uid) = (&owner.metadata.name, &owner.metadata.uid);
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
        })
        .into_iter()
        .collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
    maps.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

fn definition(number: usize) -> Value {
    let names = json!({"plural": format!("things{number}"), "singular": format!("thing{number}"), "kind": format!("Thing{number}")});
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things{number}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": names,
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}
