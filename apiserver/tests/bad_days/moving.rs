//! The move of a store's objects to another one while the server writes and clients watch.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use registry_core::storage::testing::etcd::Etcd;
use tempfile::TempDir;

use crate::process::Process;
use crate::{config_map, converge, reflect, watched};

/// The command, which is killed when it is dropped.
struct Migration {
    child: Child,
    lines: BufReader<std::process::ChildStderr>,
    output: String,
}

// === impl Migration ===

impl Migration {
    fn start(from: &str, to: &str, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apiserver"));
        let stores = [format!("--from={from}"), format!("--to={to}")];
        command.args(["storage", "migrate", "--follow"]).args(stores).args(flags);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self { child, lines, output: String::new() }
    }

    fn caught_up(&mut self) {
        while !self.output.contains("caught up") {
            let length = self.output.len();
            assert_ne!(self.lines.read_line(&mut self.output).unwrap(), 0, "it has ended: {}", self.output);
            assert!(self.output.len() > length);
        }
        let signal = format!("kill -USR1 {}", self.child.id());
        while !self.output.contains(&signal) {
            assert_ne!(self.lines.read_line(&mut self.output).unwrap(), 0, "it has ended: {}", self.output);
        }
    }

    /// Ends the move, and returns whether that succeeded, with all that was told.
    fn end(mut self) -> (bool, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-USR1", &id]).status().unwrap().success());
        std::io::Read::read_to_string(&mut self.lines, &mut self.output).unwrap();
        let mut stdout = self.child.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut stdout, &mut self.output).unwrap();
        (self.child.wait().unwrap().success(), std::mem::take(&mut self.output))
    }

    /// Waits for the end of a command that was not asked to end.
    fn wait(mut self) -> (bool, String) {
        std::io::Read::read_to_string(&mut self.lines, &mut self.output).unwrap();
        (self.child.wait().unwrap().success(), std::mem::take(&mut self.output))
    }
}

impl Drop for Migration {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates and changes maps until it is told to stop. Returns the names that were acknowledged.
async fn write_on(maps: Api<ConfigMap>, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut names = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let name = format!("written{:05}", names.len());
        let mut made = maps.create(&PostParams::default(), &config_map(&name, "1")).await.unwrap();
        made.data = config_map(&name, "2").data;
        maps.replace(&name, &PostParams::default(), &made).await.unwrap();
        names.push(name);
    }
    names
}

fn serve(home: &Path, etcd: Option<&str>, port: Option<u16>) -> Process {
    serve_in(&home.join("data"), home, etcd, port)
}

fn serve_in(directory: &Path, home: &Path, etcd: Option<&str>, port: Option<u16>) -> Process {
    let mut flags = Vec::new();
    flags.extend(etcd.map(|url| format!("--etcd-servers={url}")));
    flags.extend(port.map(|port| format!("--secure-port={port}")));
    let certificates = format!("--cert-dir={}", home.join("pki").display());
    flags.push(certificates);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Process::start_with(directory, &flags)
}

/// The server is stopped for the end of the move only. A reflector goes on by itself, an older version is answered with 410, and
/// everything that was acknowledged is there. The way back is into a directory, and from there into another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_moves_under_writes_and_clients_go_on() {
    let home = TempDir::new().unwrap();
    let (first, second) = (Etcd::start().await.unwrap(), Etcd::start().await.unwrap());
    let urls = [&first, &second].map(|etcd| etcd.options().endpoints[0].clone());
    let stores = [&first, &second].map(|etcd| format!("etcd={}", etcd.options().endpoints[0]));
    let mut process = serve(home.path(), Some(&urls[0]), None);
    let port = process.port();
    let maps = process.config_maps().await;
    let (reader, _reflecting) = reflect(&maps);
    let data = home.path().join("data");
    let directory = format!("embedded:{}", data.display());
    let elsewhere = home.path().join("elsewhere");
    let to_elsewhere = format!("embedded:{}", elsewhere.display());
    let ways = [
        (&stores[0], &stores[1], data.clone(), Some(urls[1].as_str())),
        (&stores[1], &directory, data, None),
        (&directory, &to_elsewhere, elsewhere, None),
    ];
    let mut all = Vec::new();
    for (from, to, directory, etcd) in ways {
        let stop = Arc::new(AtomicBool::new(false));
        let writer = tokio::spawn(write_on(maps.clone(), stop.clone()));
        let mut migration = Migration::start(from, to, &[]);
        tokio::task::block_in_place(|| migration.caught_up());
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop.store(true, Ordering::Relaxed);
        let names = writer.await.unwrap();
        assert!(names.len() > 5, "{}", names.len());
        let known = maps.list(&ListParams::default()).await.unwrap();
        converge(&maps, &reader).await;

        let stopped = Instant::now();
        process.kill();
        let (succeeded, output) = tokio::task::block_in_place(|| migration.end());
        assert!(succeeded && output.contains("read back\nstart the new servers with --"), "{output}");
        process = serve_in(&directory, home.path(), etcd, Some(port));
        process.ready("moved").await;
        println!("not served for {:?}: {output}", stopped.elapsed());

        let version = known.metadata.resource_version.unwrap();
        let next = config_map(&format!("after{}", all.len()), "1");
        maps.create(&PostParams::default(), &next).await.unwrap();
        // Either it is gone, or the next change is the one that was just made.
        let code = watched(&maps, &version).await;
        assert!(matches!(code, Some(410) | None), "{code:?}");
        converge(&maps, &reader).await;
        let there = maps.list(&ListParams::default()).await.unwrap();
        for map in &known.items {
            let arrived = there.items.iter().find(|other| other.metadata.name == map.metadata.name);
            let arrived = arrived.expect("it was acknowledged");
            assert_eq!((&arrived.data, &arrived.metadata.uid), (&map.data, &map.metadata.uid));
        }
        assert_eq!(there.items.len(), known.items.len() + 1);
        // An old version of an object is a conflict, or still its version.
        let mut old = known.items[0].clone();
        old.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        let name = old.metadata.name.clone().unwrap();
        if let Err(error) = maps.replace(&name, &PostParams::default(), &old).await {
            assert!(matches!(&error, kube::Error::Api(status) if status.code == 409), "{error}");
        }
        for name in &names {
            maps.delete(name, &kube::api::DeleteParams::default()).await.unwrap();
        }
        all.extend(names);
    }
    process.kill();
}

/// A move that ends while the server still writes fails, and is resumed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_move_is_resumed() {
    let home = TempDir::new().unwrap();
    let (first, second) = (Etcd::start().await.unwrap(), Etcd::start().await.unwrap());
    let urls = [&first, &second].map(|etcd| etcd.options().endpoints[0].clone());
    let to = format!("etcd={}", urls[1]);
    let from = format!("etcd={}", urls[0]);
    let process = serve(home.path(), Some(&urls[0]), None);
    let mut migration = Migration::start(&from, &to, &[]);
    tokio::task::block_in_place(|| migration.caught_up());
    drop(migration);
    resumes(process, &from, &to).await;
    let process = serve(home.path(), Some(&urls[1]), None);
    process.config_maps().await.get("meanwhile").await.unwrap();
    process.kill();
}

/// The server is killed too while it is followed, and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_store_moves_into_an_etcd_although_move_and_server_are_killed() {
    let home = TempDir::new().unwrap();
    let etcd = Etcd::start().await.unwrap();
    let url = etcd.options().endpoints[0].clone();
    let (from, to) = (format!("embedded:{}", home.path().join("data").display()), format!("etcd={url}"));
    let output = refused(&from, &to);
    assert!(output.contains("there is no store"), "{output}");
    let process = serve(home.path(), None, None);
    process.ready("first").await;
    process.kill();
    let output = refused(&from, &to);
    assert!(output.contains("leave --follow out"), "{output}");

    let process = serve(home.path(), None, None);
    let mut migration = Migration::start(&from, &to, &[]);
    tokio::task::block_in_place(|| migration.caught_up());
    process.kill();
    let process = serve(home.path(), None, None);
    let map = config_map("after-the-kill", "1");
    process.config_maps().await.create(&PostParams::default(), &map).await.unwrap();
    drop(migration);
    resumes(process, &from, &to).await;
    let process = serve_in(&home.path().join("other"), home.path(), Some(&url), None);
    let maps = process.config_maps().await;
    maps.get("after-the-kill").await.unwrap();
    maps.get("meanwhile").await.unwrap();
    process.kill();
}

/// Goes on with a move that was killed, and stops the server meanwhile.
async fn resumes(process: Process, from: &str, to: &str) {
    let output = refused(from, to);
    assert!(output.contains("--resume"), "{output}");
    let mut migration = Migration::start(from, to, &["--resume"]);
    tokio::task::block_in_place(|| migration.caught_up());
    let maps = process.config_maps().await;
    maps.create(&PostParams::default(), &config_map("meanwhile", "1")).await.unwrap();
    process.kill();
    let (succeeded, output) = tokio::task::block_in_place(|| migration.end());
    assert!(succeeded, "{output}");
}

/// Returns the error of a move that does not begin.
fn refused(from: &str, to: &str) -> String {
    let (succeeded, output) = tokio::task::block_in_place(|| Migration::start(from, to, &[]).wait());
    assert!(!succeeded, "{output}");
    output
}
