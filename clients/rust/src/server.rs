//! A running server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use registry_core::api::clock::Clock;
use serde_json::Value;

use crate::{Faults, RequestError, Snapshot, SnapshotError, StartError, Verb};

/// A running server, with the rights of an administrator. Dropping it ends it, and removes its temporary directory;
/// [`stop`](Self::stop) also waits until it has ended.
pub struct TestServer {
    inner: apiserver::testing::TestServer,
    kubeconfig: String,
    faults: Arc<Faults>,
    clock: Clock,
    #[cfg(feature = "kube")]
    client: kube::Client,
}

// === impl TestServer ===

impl TestServer {
    pub(crate) async fn over(
        inner: apiserver::testing::TestServer,
        faults: Arc<Faults>,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let path = inner.kubeconfig_path();
        let kubeconfig = tokio::fs::read_to_string(path)
            .await
            .map_err(|error| StartError::File { path: path.to_owned(), reason: error.to_string() })?;
        Ok(Self {
            #[cfg(feature = "kube")]
            client: crate::client::client(&kubeconfig).await?,
            inner,
            kubeconfig,
            faults,
            clock,
        })
    }

    /// Returns a client of kube-rs.
    #[cfg(feature = "kube")]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Returns a kubeconfig, with all certificates and keys in it.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Returns the path of a file with the kubeconfig, which lasts as long as the server.
    pub fn kubeconfig_path(&self) -> &Path {
        self.inner.kubeconfig_path()
    }

    /// Returns `https://127.0.0.1:` and the port.
    pub fn url(&self) -> &str {
        self.inner.url()
    }

    /// Returns the certificate authority (PEM) that clients verify the server with.
    pub fn ca_pem(&self) -> &str {
        self.inner.ca_pem()
    }

    /// Sends a request, with a JSON body unless it is `null`, and returns the answer.
    ///
    /// # Errors
    /// Fails with the status and the body of an answer without success.
    pub async fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, RequestError> {
        self.inner.call(method, path, body).await.map_err(|error| RequestError {
            method: method.to_owned(),
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Returns the state of all objects, to which [`restore`](Self::restore) returns. It can be restored any number of times, in
    /// other servers too.
    ///
    /// # Errors
    /// Fails if the server has stopped.
    pub async fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        self.inner.snapshot().await.map_err(|error| SnapshotError(error.to_string()))
    }

    /// Returns to a snapshot. Open watches see the deletion of what came after it, and then the return of what was there: with new
    /// resource versions, because those never go back, and with the uids of the snapshot. Objects that have not changed since then
    /// keep their resource versions. Reads that begin afterwards see the state of the snapshot.
    ///
    /// Whatever the server follows by watches (custom resources, roles, policies) is the former one a moment later. Work that a
    /// controller has begun may still end after it.
    ///
    /// # Errors
    /// Fails if the server has stopped.
    pub async fn restore(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let restored = self.inner.restore(snapshot).await;
        restored.map(drop).map_err(|error| SnapshotError(error.to_string()))
    }

    /// Like [`restore`](Self::restore), but open watches end before it with 410, so that clients list again.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub async fn restore_expiring_watches(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.faults.on(Verb::Watch, "*").expire_open_watches();
        self.restore(snapshot).await
    }

    /// Returns the rules by which requests fail; there are none at first. They apply to all clients, but not to the server's own
    /// controllers.
    pub fn faults(&self) -> &Arc<Faults> {
        &self.faults
    }

    /// Advances the time by which objects with a time to live (events), tokens of service accounts and finished jobs end. The time
    /// of everything else is the machine's: timestamps in objects, certificates, timeouts.
    pub fn advance(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Ends the server, and waits until it has ended and its directory is removed. Requests in flight are completed, watches end.
    pub async fn stop(self) {
        self.inner.stop().await;
    }

    pub(crate) fn inner(&self) -> &apiserver::testing::TestServer {
        &self.inner
    }
}
