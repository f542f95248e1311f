//! A server in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::Api;

use crate::PATIENCE;

/// A running server. It is killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// The file of its log.
    pub(crate) log: PathBuf,
    stdout: Option<BufReader<ChildStdout>>,
    kubeconfig: PathBuf,
}

// === impl Process ===

impl Process {
    /// Starts a server that keeps everything in a directory, and waits until its port is open.
    pub(crate) fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    pub(crate) fn start_with(directory: &Path, flags: &[&str]) -> Self {
        let mut process = Self::spawn(directory, flags);
        process.announced();
        process
    }

    /// Starts a server without waiting. A file that reaches the size limit is an error instead of a fatal
    /// signal.
    pub(crate) fn spawn(directory: &Path, flags: &[&str]) -> Self {
        let log = std::fs::File::create(directory.with_extension("log")).unwrap();
        Self::spawn_prepared(directory, flags, "trap '' XFSZ", log.into())
    }

    /// Starts a server from a shell that runs a command first, without waiting. It has no controllers, which would add objects
    /// to those that are counted.
    pub(crate) fn spawn_prepared(directory: &Path, flags: &[&str], prepare: &str, stderr: Stdio) -> Self {
        let log = directory.with_extension("log");
        let script = format!("{prepare}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_apiserver")])
            .args(["--secure-port=0", "--controllers=", "--data-dir"])
            .arg(directory)
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, log, stdout, kubeconfig: PathBuf::new() }
    }

    /// Starts a server with exactly these flags, without waiting. It runs in the directory `home/work`, has `home/tmp` for
    /// temporary files, and writes its log beside them.
    pub(crate) fn spawn_in(home: &Path, name: &str, flags: &[&str]) -> Self {
        for directory in ["work", "tmp"] {
            std::fs::create_dir_all(home.join(directory)).unwrap();
        }
        Self::spawn_at(&home.join("work"), home, name, flags)
    }

    /// Does the same in this working directory.
    pub(crate) fn spawn_at(working_directory: &Path, home: &Path, name: &str, flags: &[&str]) -> Self {
        let log = home.join(format!("{name}.log"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_apiserver"))
            .args(flags)
            .current_dir(working_directory)
            .env("TMPDIR", home.join("tmp"))
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, log, stdout, kubeconfig: PathBuf::new() }
    }

    /// Waits until the log contains this.
    pub(crate) async fn says(&self, text: &str) {
        let begun = Instant::now();
        while !self.logged().contains(text) {
            assert!(begun.elapsed() < PATIENCE, "{text:?} is not in {}", self.logged());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until it has ended by itself, because of a failure. Returns its log.
    pub(crate) async fn fails(&mut self) -> String {
        let ended = self.ended().await;
        let logged = self.logged();
        assert_eq!(ended.code(), Some(1), "{logged}");
        logged
    }

    /// Waits until the server's port is open.
    pub(crate) fn announced(&mut self) {
        let stdout = self.stdout.as_mut().unwrap();
        let mut line = String::new();
        while !line.starts_with("export KUBECONFIG=") {
            line.clear();
            let length = stdout.read_line(&mut line).unwrap();
            assert_ne!(length, 0, "{:?}", std::fs::read_to_string(&self.log));
        }
        self.kubeconfig = line.trim_end().trim_start_matches("export KUBECONFIG=").into();
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the server's port.
    pub(crate) fn port(&self) -> u16 {
        let kubeconfig = kube::config::Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let url = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.clone().unwrap();
        url.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Waits for the namespace that is created at the first start.
    pub(crate) async fn config_maps(&self) -> Api<ConfigMap> {
        let client = crate::client(&self.kubeconfig).await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let begun = Instant::now();
        while !matches!(namespaces.get_opt("default").await, Ok(Some(_))) {
            assert!(begun.elapsed() < PATIENCE, "the server does not become ready");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Api::default_namespaced(client)
    }

    /// Returns its log so far.
    pub(crate) fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the server is ready.
    pub(crate) async fn ready(&self, place: &str) {
        let client = crate::client(&self.kubeconfig).await;
        let begun = Instant::now();
        loop {
            let request = http::Request::get("/readyz?verbose").body(Vec::new()).unwrap();
            let Err(error) = client.request_text(request).await else { return };
            assert!(begun.elapsed() < PATIENCE, "{place}: the server does not become ready: {error}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn id(&self) -> String {
        self.child.id().to_string()
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args(["-s", name, &self.id()]).status().unwrap().success());
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns its resident memory, in bytes.
    pub(crate) fn resident_bytes(&self) -> usize {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.id())).unwrap();
        statm.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    /// Returns the maximum of its resident memory so far, in bytes.
    pub(crate) fn peak_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has usually ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
