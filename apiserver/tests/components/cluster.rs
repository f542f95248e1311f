//! A server, kube-controller-manager, kube-scheduler, and kubelets without containers.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use apiserver::testing::Kubectl;
use parking_lot::Mutex;

use crate::PATIENCE;
use crate::audit::Requests;
use crate::program::Program;

/// Records who requested what, without bodies.
const AUDIT_POLICY: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";
/// Interval between looks at a state that is waited for.
const INTERVAL: Duration = Duration::from_millis(200);
/// The file of the administrator's kubeconfig.
const ADMIN: &str = "data/admin.kubeconfig";

/// A cluster. Its programs are killed when it is dropped.
pub(crate) struct Cluster {
    directory: tempfile::TempDir,
    port: u16,
    server: Program,
    /// All other programs.
    clients: Mutex<Vec<Program>>,
}

// === impl Cluster ===

impl Cluster {
    /// Starts the server, and, with credentials of their own, the controllers and the scheduler.
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("policy.yaml"), AUDIT_POLICY).unwrap();
        let port = free_port();
        let server = start_server(directory.path(), port);
        let cluster = Self { directory, port, server, clients: Mutex::default() };
        cluster.eventually("get --raw /readyz", |text| text == "ok").await;
        cluster.start_controllers();
        cluster.start_scheduler();
        cluster
    }

    /// Returns kubectl as the administrator.
    pub(crate) fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.directory.path().join(ADMIN), self.directory.path())
    }

    /// Returns kubectl with the certificate that a node was issued.
    pub(crate) fn kubectl_of(&self, node: &str) -> Kubectl {
        Kubectl::new(&self.directory.path().join(node).join("kubeconfig"), self.directory.path())
    }

    /// Starts a kubelet that has nothing but a bootstrap token.
    pub(crate) fn join(&self, node: &str) {
        let directory = self.directory.path();
        std::fs::create_dir(directory.join(node)).unwrap();
        let administrator = std::fs::read_to_string(directory.join(ADMIN)).unwrap();
        let bootstrap = format!("{node}/bootstrap.kubeconfig");
        std::fs::write(directory.join(&bootstrap), with_token(&administrator)).unwrap();
        let flags = [
            "--morph=kubelet".to_owned(),
            format!("--name={node}"),
            format!("--kubeconfig={node}/kubeconfig"),
            format!("--bootstrap-kubeconfig={bootstrap}"),
            // Absolute: the kubeconfig that the kubelet writes names files in it.
            format!("--cert-dir={}", directory.join(node).display()),
            format!("--kubelet-port={}", free_port()),
            "--kubelet-read-only-port=0".to_owned(),
            "--use-host-image-service=false".to_owned(),
        ];
        self.add("ORLOP_KUBEMARK", node, &flags);
    }

    /// Kills the server, and starts it again on the same port.
    pub(crate) async fn restart_server(&mut self) {
        self.server.kill();
        self.server = start_server(self.directory.path(), self.port);
        self.eventually("get --raw /readyz", |text| text == "ok").await;
    }

    /// Runs kubectl until its output is as expected.
    pub(crate) async fn eventually(&self, arguments: &str, is_expected: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let output = self.kubectl().output(arguments, "").await;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() && is_expected(&text) {
                return;
            }
            self.clients.lock().iter_mut().for_each(Program::check);
            let failure = String::from_utf8_lossy(&output.stderr);
            assert!(begun.elapsed() < PATIENCE, "`kubectl {arguments}`: {text}{failure}");
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Returns the requests so far, from the audit log.
    pub(crate) fn requests(&self) -> Requests {
        Requests::read(&self.directory.path().join("audit.log"))
    }

    fn start_controllers(&self) {
        let kubeconfig = self.kubeconfig_of("system:kube-controller-manager");
        let mut flags = component_flags(&kubeconfig);
        flags.extend(
            [
                "--use-service-account-credentials",
                "--service-account-private-key-file=data/pki/sa.key",
                "--root-ca-file=data/pki/ca.crt",
                "--cluster-signing-cert-file=data/pki/ca.crt",
                "--cluster-signing-key-file=data/pki/ca.key",
                "--allocate-node-cidrs",
                "--cluster-cidr=10.244.0.0/16",
            ]
            .map(str::to_owned),
        );
        self.add("ORLOP_KUBE_CONTROLLER_MANAGER", "kube-controller-manager", &flags);
    }

    fn start_scheduler(&self) {
        let kubeconfig = self.kubeconfig_of("system:kube-scheduler");
        self.add("ORLOP_KUBE_SCHEDULER", "kube-scheduler", &component_flags(&kubeconfig));
    }

    fn add(&self, variable: &str, name: &str, flags: &[String]) {
        let program = Program::start(&program_of(variable), self.directory.path(), name, flags);
        self.clients.lock().push(program);
    }

    /// Mints a client certificate for a user, and returns the name of its kubeconfig.
    fn kubeconfig_of(&self, user: &str) -> String {
        let minted = Command::new(env!("CARGO_BIN_EXE_apiserver"))
            .args(["kubeconfig", "--data-dir=data", "--user", user])
            .current_dir(self.directory.path())
            .output()
            .unwrap();
        assert!(minted.status.success(), "{}", String::from_utf8_lossy(&minted.stderr));
        let name = format!("{}.kubeconfig", user.trim_start_matches("system:"));
        std::fs::write(self.directory.path().join(&name), minted.stdout).unwrap();
        name
    }
}

fn start_server(directory: &Path, port: u16) -> Program {
    let flags = [
        "--data-dir=data",
        "--controllers=",
        &format!("--secure-port={port}"),
        "--enable-bootstrap-token-auth",
        "--enable-admission-plugins=NodeRestriction",
        "--audit-policy-file=policy.yaml",
        "--audit-log-path=audit.log",
    ];
    Program::start(env!("CARGO_BIN_EXE_apiserver").as_ref(), directory, "apiserver", flags)
}

/// Returns the flags that controllers and scheduler have in common.
fn component_flags(kubeconfig: &str) -> Vec<String> {
    let mut flags = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
        .map(|flag| format!("--{flag}={kubeconfig}"))
        .to_vec();
    flags.push("--bind-address=127.0.0.1".to_owned());
    flags.push(format!("--secure-port={}", free_port()));
    flags.push(format!("--cert-dir=certificates-{kubeconfig}"));
    flags
}

/// Returns a kubeconfig for the same server with the bootstrap token instead of the user's certificate.
fn with_token(kubeconfig: &str) -> String {
    let kubeconfig = kube::config::Kubeconfig::from_yaml(kubeconfig).unwrap();
    let mut text = serde_json::to_value(&kubeconfig).unwrap();
    text["users"][0]["user"] = serde_json::json!({ "token": "abcdef.0123456789abcdef" });
    text.to_string()
}

fn program_of(variable: &str) -> OsString {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set; see `cargo xtask components --help`"))
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
