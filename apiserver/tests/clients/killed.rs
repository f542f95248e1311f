//! The server as a process that ends: killed in the middle of writes, again and again, and by SIGTERM.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;
use tempfile::TempDir;

const ROUNDS: u64 = 50;
const CLIENTS: u64 = 8;

/// Names and resource versions of what was acknowledged.
type Acknowledged = BTreeMap<String, u64>;

struct Process {
    child: Child,
    kubeconfig: PathBuf,
    _stdout: BufReader<ChildStdout>,
}

// === impl Process ===

impl Process {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_apiserver"))
            .args(["--secure-port=0", "--data-dir"])
            .arg(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("export KUBECONFIG=") {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the server does not start");
        }
        let kubeconfig = line.trim_end().trim_start_matches("export KUBECONFIG=").into();
        Self { child, kubeconfig, _stdout: stdout }
    }

    /// Waits for the namespace that is made at the first start.
    async fn config_maps(&self) -> Api<ConfigMap> {
        let client = super::client(&self.kubeconfig).await;
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        let begun = Instant::now();
        while !matches!(namespaces.get_opt("default").await, Ok(Some(_))) {
            assert!(begun.elapsed() < Duration::from_secs(20), "the server does not become ready");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Api::default_namespaced(client)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates config maps until the server is gone; each call counts what it was acknowledged.
async fn create_until_it_is_gone(
    maps: Api<ConfigMap>,
    round: u64,
    client: u64,
    count: Arc<AtomicU64>,
) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    for turn in 0.. {
        let name = format!("r{round}-c{client}-{turn}");
        let labels = json!({"round": round.to_string()});
        let map = json!({"metadata": {"name": name, "labels": labels}, "data": {"name": name}});
        let created = maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await;
        let Ok(created) = created else { break };
        let version = created.metadata.resource_version.unwrap().parse().unwrap();
        acknowledged.insert(name, version);
        count.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

async fn assert_present(maps: &Api<ConfigMap>, selector: &ListParams, acknowledged: &Acknowledged) {
    let mut found = Acknowledged::new();
    for map in maps.list(selector).await.unwrap() {
        let name = map.metadata.name.unwrap();
        assert_eq!(map.data.unwrap()["name"], name);
        found.insert(name, map.metadata.resource_version.unwrap().parse().unwrap());
    }
    for (name, version) in acknowledged {
        assert_eq!(found.get(name), Some(version), "{name} was acknowledged");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_object_is_lost_however_often_the_server_is_killed() {
    let directory = TempDir::new().unwrap();
    let (mut all, mut highest) = (Acknowledged::new(), 0);
    for round in 0..ROUNDS {
        let mut server = Process::start(directory.path());
        let maps = server.config_maps().await;
        let count = Arc::new(AtomicU64::new(0));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(create_until_it_is_gone(maps.clone(), round, client, count.clone())))
            .collect();
        let begun = Instant::now();
        // At a moment of each round's own in the stream of writes.
        while count.load(Ordering::Relaxed) < 1 + round * 7 % 40 {
            assert!(begun.elapsed() < Duration::from_secs(20), "round {round}: nothing is written");
            assert!(server.child.try_wait().unwrap().is_none(), "round {round}: the server has ended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.kill();
        let acknowledged: Acknowledged =
            join_all(clients).await.into_iter().flat_map(Result::unwrap).collect();
        let lowest = acknowledged.values().min().copied().unwrap();
        assert!(lowest > highest, "round {round}: resource version {lowest} was given twice");
        highest = acknowledged.values().max().copied().unwrap();

        let server = Process::start(directory.path());
        let selector = ListParams::default().labels(&format!("round={round}"));
        assert_present(&server.config_maps().await, &selector, &acknowledged).await;
        server.kill();
        all.extend(acknowledged);
    }
    let server = Process::start(directory.path());
    assert_present(&server.config_maps().await, &ListParams::default(), &all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_the_server_in_order() {
    let directory = TempDir::new().unwrap();
    let mut server = Process::start(directory.path());
    let maps = server.config_maps().await;
    let count = Arc::new(AtomicU64::new(0));
    let writing = tokio::spawn(create_until_it_is_gone(maps.clone(), 0, 0, count.clone()));
    while count.load(Ordering::Relaxed) < 5 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begun = Instant::now();
    let process = server.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &process]).status().unwrap().success());
    let acknowledged = writing.await.unwrap();
    let ended = tokio::task::spawn_blocking(move || server.child.wait().unwrap()).await.unwrap();
    assert!(ended.success(), "{ended}");
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    let again = Process::start(directory.path());
    assert_present(&again.config_maps().await, &ListParams::default(), &acknowledged).await;
}
