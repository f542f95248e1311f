//! A main server, and an extension server behind it, in the process of a test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use registry_core::context::ServiceAccountName;
use registry_core::registry::StorageMap;
use serde_json::{Value, json};

use crate::ServerBuilder;
use crate::manifests::{Manifests, Serving};
use crate::options::{KubeconfigCommand, Options, OptionsError};
use crate::pki::{Moment, issue_serving, now, write_private};
use crate::run::kubeconfig;
use crate::server::error::ServerError;

use super::{CallError, Kubectl, TestDirectory, TestServer, TestServerBuilder};

/// The name of the extension server's service, in the namespace `default`.
const NAME: &str = "extension";
const NAMESPACE: &str = "default";
/// Maximum time until the main server serves an extension server.
const AVAILABLE_TIMEOUT: Duration = Duration::from_mins(1);
/// For how long the certificates of a test are valid.
const LIFETIME: Duration = Duration::from_hours(24);

/// A main server and an extension server behind it, connected as in a cluster: over TLS, with the permissions of the printed
/// manifests, through an `APIService` for each group version.
pub struct TestCluster {
    main: TestServer,
    extension: Option<TestServer>,
    maps: Vec<&'static StorageMap>,
    customize: fn(ServerBuilder) -> ServerBuilder,
    directory: Arc<TestDirectory>,
    /// The data of the extension server.
    data: Arc<TestDirectory>,
    port: u16,
}

// === impl TestCluster ===

impl TestCluster {
    /// Starts both; the main server serves the extension server's API when this returns.
    ///
    /// # Errors
    /// Fails if one of them does not start.
    pub async fn start(maps: &[&'static StorageMap]) -> Result<Self, ServerError> {
        Self::start_customized(maps, |server| server).await
    }

    /// Like [`start`](Self::start), with whatever `customize` adds to the extension server.
    ///
    /// # Errors
    /// Fails if one of them does not start.
    pub async fn start_customized(
        maps: &[&'static StorageMap],
        customize: fn(ServerBuilder) -> ServerBuilder,
    ) -> Result<Self, ServerError> {
        let directory = Arc::new(TestDirectory::create()?);
        let main = with_front_proxy(TestServer::builder(), directory.path())?;
        let main = main.reach_local_workloads().start().await?;
        let data = Arc::new(TestDirectory::create()?);
        let mut cluster =
            Self { main, extension: None, maps: maps.to_vec(), customize, directory, data, port: 0 };
        cluster.write_kubeconfig()?;
        let ca_pem = cluster.renew_certificate()?;
        cluster.create(cluster.manifests("").permissions()).await?;
        cluster.start_extension().await?;
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": NAME, "namespace": NAMESPACE },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        });
        cluster.create(vec![service]).await?;
        cluster.create(cluster.api_services(&ca_pem)).await?;
        cluster.wait_until_available().await?;
        Ok(cluster)
    }

    /// Returns the main server, which clients use.
    pub fn main(&self) -> &TestServer {
        &self.main
    }

    /// Returns the extension server, while it runs.
    pub fn extension(&self) -> Option<&TestServer> {
        self.extension.as_ref()
    }

    /// Returns a kubectl for the main server with the rights of an administrator.
    pub fn kubectl(&self) -> Kubectl {
        self.main.kubectl()
    }

    /// Stops the extension server.
    pub async fn stop_extension(&mut self) {
        if let Some(extension) = self.extension.take() {
            extension.stop().await;
        }
    }

    /// Starts the extension server again, with its objects.
    ///
    /// # Errors
    /// Fails if it does not start.
    pub async fn start_extension(&mut self) -> Result<(), ServerError> {
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.path(name).display());
        let mut builder = TestServer::builder().directory(&self.data).extension().customize(self.customize);
        for map in &self.maps {
            builder = builder.storage_map(map);
        }
        // The last flag counts.
        let builder = builder
            .flag(format!("--secure-port={}", self.port))
            .flag(file("kubeconfig", "extension.kubeconfig"))
            .flag(file("tls-cert-file", "tls.crt"))
            .flag(file("tls-private-key-file", "tls.key"));
        let extension = builder.start().await?;
        self.port = extension.address().port();
        self.extension = Some(extension);
        Ok(())
    }

    /// Replaces the serving certificate of the extension server by one of a new authority, and returns that authority (PEM).
    ///
    /// # Errors
    /// Fails if the certificate cannot be made or written.
    pub fn renew_certificate(&self) -> Result<String, ServerError> {
        self.write_certificate(LIFETIME, now())
    }

    /// Like [`renew_certificate`](Self::renew_certificate), with a certificate that has expired a minute ago.
    ///
    /// # Errors
    /// Fails if the certificate cannot be made or written.
    pub fn expire_certificate(&self) -> Result<String, ServerError> {
        self.write_certificate(Duration::from_mins(1), now() - 2 * 60)
    }

    fn write_certificate(&self, lifetime: Duration, at: Moment) -> Result<String, ServerError> {
        let made = issue_serving(NAME, NAMESPACE, lifetime, at)?;
        write_private(&self.path("tls.key"), &made.leaf.key_pem)?;
        write_private(&self.path("tls.crt"), &made.leaf.certificate_pem)?;
        Ok(made.ca_pem)
    }

    /// Waits until the main server serves every group version of the extension server.
    ///
    /// # Errors
    /// Fails with the conditions if it takes too long.
    pub async fn wait_until_available(&self) -> Result<(), ServerError> {
        let begun = Instant::now();
        for service in self.api_services("") {
            let path = format!("{}/{}", collection(&service), text(&service, "/metadata/name"));
            loop {
                let found =
                    self.main.call("GET", &path, &Value::Null).await.map_err(|error| not_ready(&error))?;
                let conditions = found.pointer("/status/conditions").and_then(Value::as_array);
                let is_available =
                    |condition: &Value| condition["type"] == "Available" && condition["status"] == "True";
                if conditions.is_some_and(|conditions| conditions.iter().any(is_available)) {
                    break;
                }
                if begun.elapsed() > AVAILABLE_TIMEOUT {
                    return Err(ServerError::NotReady(format!("{path}: {found}")));
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(())
    }

    /// Stops both servers.
    pub async fn stop(mut self) {
        self.stop_extension().await;
        self.main.stop().await;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn manifests<'m>(&'m self, ca_pem: &'m str) -> Manifests<'m> {
        let serving = Serving::Secret("");
        Manifests { name: NAME, namespace: NAMESPACE, image: "", ca_pem, serving, maps: &self.maps }
    }

    fn api_services(&self, ca_pem: &str) -> Vec<Value> {
        let mut services = self.manifests(ca_pem).api_services();
        for service in &mut services {
            if let Some(port) = service.pointer_mut("/spec/service/port") {
                *port = self.port.into();
            }
        }
        services
    }

    /// Writes the kubeconfig of the extension server, with the user name that its pod has.
    fn write_kubeconfig(&self) -> Result<(), ServerError> {
        let data_dir = format!("--data-dir={}", self.main.directory().path().display());
        let options = Options::from_arguments(["apiserver", &data_dir]);
        let options = options.map_err(OptionsError::from)?;
        let command = KubeconfigCommand {
            user: ServiceAccountName { namespace: NAMESPACE, name: NAME }.user_name(),
            group: vec!["system:serviceaccounts".to_owned()],
            expires: LIFETIME,
            server: None,
        };
        let text = kubeconfig::kubeconfig(&options, &command);
        let text = text.map_err(|error| ServerError::NotReady(error.to_string()))?;
        write_private(&self.path("extension.kubeconfig"), &text)?;
        Ok(())
    }

    async fn create(&self, objects: Vec<Value>) -> Result<(), ServerError> {
        for object in objects {
            let created = self.main.call("POST", &collection(&object), &object).await;
            created.map_err(|error| not_ready(&error))?;
        }
        Ok(())
    }
}

fn not_ready(error: &CallError) -> ServerError {
    ServerError::NotReady(error.to_string())
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the path of the list that an object of the manifests is in.
fn collection(object: &Value) -> String {
    let api_version = text(object, "/apiVersion");
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let mut plural = text(object, "/kind").to_lowercase();
    plural.push('s');
    match text(object, "/metadata/namespace") {
        "" => format!("{root}/{api_version}/{plural}"),
        namespace => format!("{root}/{api_version}/namespaces/{namespace}/{plural}"),
    }
}

/// Gives a main server the certificate of a front proxy, as kubeadm does.
fn with_front_proxy(builder: TestServerBuilder, directory: &Path) -> Result<TestServerBuilder, ServerError> {
    let made = crate::pki::issue_front_proxy(LIFETIME, now())?;
    let path = |name: &str| directory.join(name);
    write_private(&path("front-proxy-ca.crt"), &made.ca_pem)?;
    write_private(&path("front-proxy.crt"), &made.leaf.certificate_pem)?;
    write_private(&path("front-proxy.key"), &made.leaf.key_pem)?;
    let file = |flag: &str, name: &str| format!("--{flag}={}", path(name).display());
    Ok(builder
        .flag(file("requestheader-client-ca-file", "front-proxy-ca.crt"))
        .flag("--requestheader-allowed-names=front-proxy-client")
        .flag("--requestheader-username-headers=X-Remote-User")
        .flag("--requestheader-uid-headers=X-Remote-Uid")
        .flag("--requestheader-group-headers=X-Remote-Group")
        .flag("--requestheader-extra-headers-prefix=X-Remote-Extra-")
        .flag(file("proxy-client-cert-file", "front-proxy.crt"))
        .flag(file("proxy-client-key-file", "front-proxy.key")))
}
