//! A server in a process of its own: spans are exported by process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running server, which is killed when dropped.
pub(crate) struct Process {
    child: Child,
    client: kube::Client,
}

impl Process {
    /// Starts a server with this tracing configuration.
    pub(crate) async fn start(directory: &Path, configuration: &str) -> Self {
        let file = directory.join("tracing.yaml");
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n";
        std::fs::write(&file, format!("{head}{configuration}")).unwrap();
        let log = std::fs::File::create(directory.join("log")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_apiserver"))
            .args(["--secure-port=0", "--storage-backend=memory", "--tracing-config-file"])
            .arg(&file)
            .arg("--data-dir")
            .arg(directory.join("data"))
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("export KUBECONFIG=") {
            line.clear();
            let length = stdout.read_line(&mut line).unwrap();
            assert_ne!(length, 0, "{:?}", std::fs::read_to_string(directory.join("log")));
        }
        let kubeconfig = line.trim_end().trim_start_matches("export KUBECONFIG=");
        let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let process = Self { child, client: kube::Client::try_from(config).unwrap() };
        let begun = std::time::Instant::now();
        while process
            .client
            .request_text(http::Request::get("/readyz").body(Vec::new()).unwrap())
            .await
            .is_err()
        {
            assert!(begun.elapsed() < crate::PATIENCE, "it does not become ready");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        process
    }

    /// Sends a body to a path, with a `traceparent` unless it is empty.
    pub(crate) async fn post(&self, path: &str, body: &Value, traceparent: &str) -> Value {
        let mut request = http::Request::post(path)
            .header("content-type", "application/json")
            .header("user-agent", "tracing-test");
        if !traceparent.is_empty() {
            request = request.header("traceparent", traceparent);
        }
        self.client.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    /// Asks the server to stop, and waits until it has.
    pub(crate) async fn stop(mut self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        let begun = std::time::Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < crate::PATIENCE, "it does not end");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
