//! The methods of [`ServerBuilder`] by which an author adds plug-ins, hooks and work. `authored` runs what they add.

use std::sync::Arc;

use axum::BoxError;
#[cfg(feature = "embedded")]
use registry_core::resource::Resource;
#[cfg(feature = "embedded")]
use registry_core::storage::embedded::backend::Backend;

use crate::admission::{MutatingAdmission, ValidatingAdmission};

use super::super::authored::ServerContext;
use super::ServerBuilder;

// === impl ServerBuilder ===

impl ServerBuilder {
    /// Adds a mutating admission plug-in. It runs after Kubernetes' own, for the kinds of this server, and operators can
    /// disable it by its name. See [`admission`](crate::admission).
    pub fn mutating_admission<P: MutatingAdmission>(
        mut self,
        make: impl FnOnce(&ServerContext) -> P + Send + 'static,
    ) -> Self {
        self.authored.mutating.push(Box::new(|context| Arc::new(make(context))));
        self
    }

    /// Adds a validating admission plug-in. Otherwise like [`mutating_admission`](Self::mutating_admission).
    pub fn validating_admission<P: ValidatingAdmission>(
        mut self,
        make: impl FnOnce(&ServerContext) -> P + Send + 'static,
    ) -> Self {
        self.authored.validating.push(Box::new(|context| Arc::new(make(context))));
        self
    }

    /// Adds a task that runs once after the start, and again after each failure. The server is not ready before it succeeds:
    /// health checks show it as `poststarthook/` and its name.
    pub fn post_start_hook<F>(
        mut self,
        name: &'static str,
        run: impl Fn(ServerContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.authored.hooks.push((name, Box::new(move |context| Box::pin(run(context)))));
        self
    }

    /// Adds work that runs beside requests, such as a controller. It has to end soon after
    /// [`ServerContext::stopping`] is cancelled.
    pub fn background<F>(mut self, work: impl FnOnce(ServerContext) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.authored.background.push(Box::new(move |context| Box::pin(work(context))));
        self
    }

    /// Keeps the objects of a resource in a backend, instead of the store of the server: in a table, a directory, or another
    /// API. In everything else they are as other objects. `R` is the version of the kind that is stored.
    #[cfg(feature = "embedded")]
    pub fn backend<R: Resource>(mut self, backend: impl Backend) -> Self {
        self.authored.backends.insert(R::TYPE.resource().group_resource(), Arc::new(backend));
        self
    }
}
