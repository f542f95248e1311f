//! Commands of a page, run as a reader runs them: in one shell, in an empty directory, in order.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use apiserver::testing::KUBECTL_VARIABLE;
use tempfile::TempDir;

/// Environment variable with the path of etcd, as in `registry_core::storage::testing`, which not every program is built with.
const ETCD_VARIABLE: &str = "ORLOP_ETCD";

/// Seconds after which the commands of a page are ended.
const TIMEOUT_SECONDS: &str = "180";

/// The ports that pages name: those of the server, of an extension server, and of etcd for clients and for other members.
const PORTS: [u16; 4] = [6443, 7555, 2379, 2380];

/// A command, and the output that the page shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) shown: Vec<String>,
}

/// A file that a page shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: String,
}

/// A server that pages start.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Its name in the commands.
    pub(crate) name: &'static str,
    /// The built file.
    pub(crate) path: PathBuf,
}

/// The place in which the commands run.
pub(crate) struct Session {
    home: TempDir,
    /// For each of [`PORTS`] one that is free.
    ports: Vec<u16>,
}

// === impl Session ===

impl Session {
    /// Prepares an empty directory, and programs of the names that pages use.
    pub(crate) fn new(files: &[File], programs: &[Program]) -> Self {
        let home = TempDir::new().unwrap();
        for directory in ["work", "programs"] {
            std::fs::create_dir(home.path().join(directory)).unwrap();
        }
        let free: Vec<TcpListener> = PORTS.map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).into();
        let ports = free.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        let session = Self { home, ports };
        session.provide("kubectl", std::env::var_os(KUBECTL_VARIABLE));
        session.provide("etcd", std::env::var_os(ETCD_VARIABLE));
        for program in programs {
            session.provide_server(program);
        }
        for file in files {
            let content = session.with_free_ports(&file.content);
            std::fs::write(session.work().join(&file.name), content).unwrap();
        }
        session
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn programs(&self) -> PathBuf {
        self.home.path().join("programs")
    }

    fn provide(&self, name: &str, program: Option<OsString>) {
        if let Some(program) = program {
            symlink(program, self.programs().join(name)).unwrap();
        }
    }

    /// Provides a server whose default port is free.
    fn provide_server(&self, program: &Program) {
        let script = format!(
            "#!/bin/sh\nfor argument; do\n  case $argument in\n    storage|kubeconfig|token|test|manifests|help|--help|--version|--secure-port=*) \
             exec '{server}' \"$@\";;\n  esac\ndone\nexec '{server}' --secure-port={port} \"$@\"\n",
            server = program.path.display(),
            port = self.ports[0],
        );
        let path = self.programs().join(program.name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Runs the commands, and returns the output of each. What they started ends with them.
    pub(crate) fn run(&self, steps: &[Step]) -> Vec<String> {
        if steps.iter().any(|step| step.command.starts_with("etcd ")) {
            let etcd = std::env::var_os(ETCD_VARIABLE).unwrap_or_else(|| "etcd".into());
            let found = Command::new(etcd).arg("--version").output();
            assert!(found.is_ok(), "no etcd: `cargo xtask test` provides one, or set {ETCD_VARIABLE} to one");
        }
        let outputs = self.home.path().join("outputs");
        std::fs::create_dir(&outputs).unwrap();
        let script = self.home.path().join("script");
        std::fs::write(&script, self.script(steps, &outputs)).unwrap();
        let mut path = OsString::from(self.programs());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let work = self.work();
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", TIMEOUT_SECONDS, "bash"]).arg(&script).current_dir(&work);
        command.env_remove("KUBECONFIG").env("PATH", path).env("HOME", self.home.path().join("work"));
        command.env("KUBECACHEDIR", self.home.path().join("cache")).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        let finished = command.output().unwrap();
        let output = String::from_utf8_lossy(&finished.stderr);
        let results = steps.iter().enumerate().map(|(number, step)| {
            assert!(
                outputs.join(format!("{number}.end")).exists(),
                "`{}` did not end: {output}",
                step.command
            );
            let output = std::fs::read(outputs.join(format!("{number}"))).unwrap();
            self.with_named_ports(&String::from_utf8_lossy(&output))
        });
        results.collect()
    }

    fn script(&self, steps: &[Step], outputs: &Path) -> String {
        let mut script = String::from("trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n");
        for (number, step) in steps.iter().enumerate() {
            let command = self.with_free_ports(&step.command);
            let output = outputs.join(format!("{number}"));
            let output = output.display();
            // Writing to a string cannot fail.
            let _ = writeln!(script, "{{\n{command}\n}} > {output} 2>&1\n: > {output}.end");
        }
        script
    }

    fn with_free_ports(&self, text: &str) -> String {
        let pairs = PORTS.iter().zip(&self.ports);
        pairs.fold(text.to_owned(), |text, (named, free)| text.replace(&named.to_string(), &free.to_string()))
    }

    /// Replaces the ports and the directory by those that a page names.
    fn with_named_ports(&self, text: &str) -> String {
        let work = self.work().display().to_string();
        let pairs = PORTS.iter().zip(&self.ports);
        let text = text.replace(&work, "/home/ada");
        pairs.fold(text, |text, (named, free)| text.replace(&free.to_string(), &named.to_string()))
    }
}
