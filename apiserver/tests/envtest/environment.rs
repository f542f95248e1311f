//! A test environment: its directories, certificates and processes.

use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::until;

/// The built program, under its own name.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_apiserver");

/// A test environment. Its processes are killed when it is dropped.
pub struct Environment {
    home: TempDir,
    assets: PathBuf,
    pub etcd_port: u16,
    pub server_port: u16,
    clients: Authority,
    serving_pem: String,
    processes: Vec<Child>,
}

/// A certificate authority, as envtest creates one.
pub struct Authority {
    pub pem: String,
    key_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

// === impl Authority ===

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = name("envtest-environment", "envtest");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        let key_pem = key.serialize_pem();
        assert!(key_pem.starts_with("-----BEGIN PRIVATE KEY-----"), "PKCS#8");
        Self { pem, key_pem, issuer: Issuer::new(parameters, key) }
    }

    /// Returns a certificate and its key, as PEM.
    fn issue(&self, names: &[&str], common_name: &str, organization: &str) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.distinguished_name = name(common_name, organization);
        let key = KeyPair::generate().unwrap();
        (parameters.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn name(common_name: &str, organization: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name.push(DnType::OrganizationName, organization);
    name
}

/// Returns a port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

// === impl Environment ===

impl Environment {
    /// Creates the directories and the certificates. The programs are links to the built one.
    pub fn new() -> Self {
        let home = TempDir::new().unwrap();
        let assets = home.path().join("assets");
        std::fs::create_dir(&assets).unwrap();
        for name in ["kube-apiserver", "etcd"] {
            symlink(PROGRAM, assets.join(name)).unwrap();
        }
        Self::with_assets(home, assets)
    }

    /// Does the same with programs in this directory.
    pub fn with_assets(home: TempDir, assets: PathBuf) -> Self {
        let mut environment = Self {
            home,
            assets,
            etcd_port: free_port(),
            server_port: free_port(),
            clients: Authority::new(),
            serving_pem: String::new(),
            processes: Vec::new(),
        };
        for directory in [environment.work(), environment.etcd_directory(), environment.server_directory()] {
            std::fs::create_dir_all(directory).unwrap();
        }
        environment.write_certificates();
        environment
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// Returns the directory of temporary files of the processes.
    pub fn temporary(&self) -> PathBuf {
        self.home().join("tmp")
    }

    pub fn etcd_directory(&self) -> PathBuf {
        self.temporary().join("k8s_test_framework_1")
    }

    pub fn server_directory(&self) -> PathBuf {
        self.temporary().join("k8s_test_framework_2")
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.assets.join(name)
    }

    fn write_certificates(&mut self) {
        let directory = self.server_directory();
        let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
        let serving = Authority::new();
        let (certificate, key) = serving.issue(&["localhost", "127.0.0.1"], "localhost", "envtest");
        write("apiserver.crt", &certificate);
        write("apiserver.key", &key);
        let accounts = Authority::new();
        write("sa-signer.crt", &accounts.pem);
        write("sa-signer.key", &accounts.key_pem);
        write("client-cert-auth-ca.crt", &self.clients.pem);
        self.serving_pem = serving.pem;
    }

    /// Returns the arguments of etcd.
    pub fn etcd_flags(&self) -> Vec<String> {
        vec![
            format!("--advertise-client-urls=http://127.0.0.1:{}", self.etcd_port),
            format!("--data-dir={}", self.etcd_directory().display()),
            format!("--listen-client-urls=http://127.0.0.1:{}", self.etcd_port),
            format!("--listen-peer-urls=http://127.0.0.1:{}", free_port()),
            "--unsafe-no-fsync=true".to_owned(),
        ]
    }

    /// Returns the arguments of kube-apiserver beside the etcd at this URL.
    pub fn server_flags(&self, etcd: &str) -> Vec<String> {
        let directory = self.server_directory();
        let file = |name: &str| directory.join(name).display().to_string();
        vec![
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", directory.display()),
            format!("--client-ca-file={}", file("client-cert-auth-ca.crt")),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            format!("--etcd-servers={etcd}"),
            format!("--secure-port={}", self.server_port),
            format!("--service-account-issuer=https://127.0.0.1:{}/", self.server_port),
            format!("--service-account-key-file={}", file("sa-signer.crt")),
            format!("--service-account-signing-key-file={}", file("sa-signer.key")),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ]
    }

    pub fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_port)
    }

    /// Starts a program of the assets. Its log is `NAME.log` in the home directory. Returns its index.
    pub fn start(&mut self, name: &str, flags: &[String]) -> usize {
        let program = self.program(name);
        self.start_program(&program, name, flags)
    }

    /// Starts any program.
    pub fn start_program(&mut self, program: &Path, name: &str, flags: &[String]) -> usize {
        let log = std::fs::File::create(self.home().join(format!("{name}.log"))).unwrap();
        let started = Command::new(program)
            .args(flags)
            .current_dir(self.work())
            .env("TMPDIR", self.temporary())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.processes.push(started.unwrap());
        self.processes.len() - 1
    }

    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.home().join(format!("{name}.log"))).unwrap()
    }

    pub fn id(&self, process: usize) -> u32 {
        self.processes[process].id()
    }

    pub fn signal(&self, process: usize, name: &str) {
        let id = self.id(process).to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the end of a process.
    pub async fn ended(&mut self, process: usize) -> ExitStatus {
        let mut ended = None;
        until("the process ends", async || {
            ended = self.processes[process].try_wait().unwrap();
            ended.is_some()
        })
        .await;
        ended.unwrap()
    }

    /// Starts etcd, and waits until it is healthy.
    pub async fn start_etcd(&mut self) -> usize {
        let process = self.start("etcd", &self.etcd_flags());
        self.etcd_is_healthy().await;
        process
    }

    pub async fn etcd_is_healthy(&self) {
        let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
        until("etcd is healthy", async || {
            ask(self.etcd_port, request).await.is_some_and(|answer| answer.starts_with("HTTP/1.1 200 OK\r\n"))
        })
        .await;
    }

    /// Starts kube-apiserver beside this etcd, and waits until it is healthy.
    pub async fn start_server(&mut self) -> usize {
        let process = self.start("kube-apiserver", &self.server_flags(&self.etcd_url()));
        self.server_is_healthy().await;
        process
    }

    /// Asks `/healthz` without credentials, as envtest does.
    pub async fn server_is_healthy(&self) {
        let url = format!("https://127.0.0.1:{}", self.server_port);
        let mut config = kube::Config::new(url.parse().unwrap());
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        until("kube-apiserver is healthy", async || {
            let request = http::Request::get("/healthz").body(Vec::new()).unwrap();
            client.request_text(request).await.is_ok_and(|text| text == "ok")
        })
        .await;
    }

    /// Returns a client of an administrator, who trusts the authority of the certificate in `--cert-dir` only.
    pub async fn client(&self) -> kube::Client {
        let (certificate, key) = self.clients.issue(&[], "admin", "system:masters");
        self.client_with(&json!({
            "client-certificate-data": BASE64_STANDARD.encode(certificate),
            "client-key-data": BASE64_STANDARD.encode(key),
        }))
        .await
    }

    pub async fn client_with(&self, user: &serde_json::Value) -> kube::Client {
        let server = format!("https://127.0.0.1:{}", self.server_port);
        let authority = BASE64_STANDARD.encode(&self.serving_pem);
        let kubeconfig: Kubeconfig = serde_json::from_value(json!({
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": user}],
        }))
        .unwrap();
        let options = KubeConfigOptions::default();
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        config.default_retry = false;
        kube::Client::try_from(config).unwrap()
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // It has usually ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Sends bytes to a port of this machine, and returns the whole answer, if there is one.
pub async fn ask(port: u16, request: &[u8]) -> Option<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    connection.write_all(request).await.ok()?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}
