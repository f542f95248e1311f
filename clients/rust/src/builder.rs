//! Configures a server.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use registry_core::api::clock::Clock;
use registry_core::registry::StorageMap;
use serde::Serialize;

use crate::definitions::{self, Definitions};
use crate::{Faults, StartError, TestServer};

/// Configures a server. [`TestServer::builder`] returns one.
#[must_use = "a builder does nothing until it is started"]
pub struct TestServerBuilder {
    inner: apiserver::testing::TestServerBuilder,
    faults: Arc<Faults>,
    clock: Clock,
    definitions: Definitions,
}

// === impl TestServer: starting ===

impl TestServer {
    /// Starts a server with the default configuration: it keeps its objects in memory, and its controllers run. It is ready when
    /// this returns.
    ///
    /// # Errors
    /// Fails if the server does not start.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Returns a builder of a server.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::new()
    }
}

// === impl TestServerBuilder ===

impl TestServerBuilder {
    fn new() -> Self {
        let (faults, clock) = (Arc::<Faults>::default(), Clock::adjustable());
        let inner = apiserver::testing::TestServer::builder().memory();
        let inner = inner.faults(faults.clone()).clock(clock.clone());
        Self { inner, faults, clock, definitions: Definitions::default() }
    }

    /// Adds the CustomResourceDefinition of a struct with `#[derive(CustomResource)]`.
    #[cfg(feature = "kube")]
    pub fn crd<K: kube::CustomResourceExt>(self) -> Self {
        self.crd_object(K::crd())
    }

    /// Adds a CustomResourceDefinition: a `serde_json::Value`, a struct of any version of `k8s-openapi`, or anything else that
    /// serializes to one.
    ///
    /// # Panics
    /// Panics if the object cannot be serialized.
    pub fn crd_object(mut self, definition: impl Serialize) -> Self {
        match serde_json::to_value(definition) {
            Ok(definition) => self.definitions.objects.push(definition),
            Err(error) => panic!("a CustomResourceDefinition cannot be serialized: {error}"),
        }
        self
    }

    /// Adds the CustomResourceDefinitions of a YAML or JSON file, or of all `.yaml`, `.yml` and `.json` files directly in a
    /// directory. Objects of other kinds are skipped.
    pub fn crds(mut self, path: impl Into<PathBuf>) -> Self {
        self.definitions.paths.push(path.into());
        self
    }

    /// Serves the resources of a storage map, declared with `#[derive(Resource)]`.
    pub fn resources(mut self, map: &'static StorageMap) -> Self {
        self.inner = self.inner.storage_map(map);
        self
    }

    /// Runs no controllers, as in envtest: namespaces stay `Terminating`, objects stay when their owner is deleted.
    pub fn without_controllers(mut self) -> Self {
        self.inner = self.inner.without_controllers();
        self
    }

    /// Adds a command line flag of the server, for example `--disable-admission-plugins=ServiceAccount`.
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.inner = self.inner.flag(flag);
        self
    }

    /// Starts the server. It is ready, and all definitions are established, when the future ends.
    ///
    /// The future is a trait object, so that a test that is spawned has none of the types of a server in its own.
    ///
    /// # Errors
    /// Fails if the server does not start, or refuses a definition.
    pub fn start(self) -> Pin<Box<dyn Future<Output = Result<TestServer, StartError>> + Send>> {
        Box::pin(self.start_unboxed())
    }

    async fn start_unboxed(self) -> Result<TestServer, StartError> {
        let wanted = self.definitions.read()?;
        let started = self.inner.start().await?;
        let server = TestServer::over(started, self.faults, self.clock).await?;
        definitions::establish(&server, &wanted).await?;
        Ok(server)
    }
}
