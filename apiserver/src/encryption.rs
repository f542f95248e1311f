//! Encryption of values at rest, as `--encryption-provider-config` says.
//!
//! ```text
//! file ─ transformers: resource → providers ─ Encryption::transformer(resource) ─ VersionedStore
//!      └ reload, every 10 s       └ kms: gRPC over a Unix socket
//! ```
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `reload` | changes of the file |
//! | `current` | the configuration in force |
//! | `transformers` | the providers of each resource, ready to read and write values |
//! | `probe` | the health of a key management service |
//! | `kms_v1` | a key management service of version 1 |
//! | `kms` | a key management service |
//! | `file` | reads and validates the file |
//! | `validation` | the errors of a configuration |
//! | `config` | a configuration, as written in the file |
//!
//! Keys, prefixes and formats are those of kube-apiserver: either server reads what the other wrote. The algorithms are in
//! [`registry_core::storage::transform`].
//!
//! Kubernetes concept: [encrypting data at rest](https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use registry_core::api::GroupResource;
use registry_core::api::go_text::aggregate;
use registry_core::metrics::TransformMetrics;
use registry_core::storage::transform::{Identity, Plain, TransformError, Transformer};
use tokio_util::task::AbortOnDropHandle;

use crate::health::{Check, Unhealthy};

mod config;
mod current;
mod file;
mod kms;
mod kms_v1;
mod probe;
mod reload;
mod services;
#[cfg(test)]
mod tests;
mod transformers;
mod validation;

use current::Current;
use file::FileError;
use probe::Probe;
use reload::Reload;
pub(crate) use services::Services;
use transformers::{ProviderError, Transformers};

/// An encryption configuration cannot be used. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum EncryptionError {
    /// The file cannot be read, or is not valid.
    #[error("error while parsing file: {0}")]
    File(#[from] FileError),
    /// A provider of the file cannot be used.
    #[error("error while building transformers: {0}")]
    Transformers(#[from] ProviderError),
}

/// The encryption of one server's values.
pub(crate) struct Encryption {
    current: Arc<Current>,
    metrics: TransformMetrics,
    /// Reads the file again, as long as this exists.
    reload: Option<AbortOnDropHandle<()>>,
}

/// Encrypts the values of one resource by the current configuration.
struct ResourceTransformer {
    resource: GroupResource,
    /// The resource, as metrics name it.
    label: String,
    current: Arc<Current>,
    metrics: TransformMetrics,
}

/// `kms-providers`: the key management services are healthy.
struct KmsChecks(Arc<Current>);

/// `kms-provider-0`, …: one key management service is healthy.
struct KmsCheck(Arc<Probe>);

/// Returns the name of a service in health checks.
fn service_name(number: usize) -> String {
    format!("kms-provider-{number}")
}

/// Checks a configuration, without calling its key management services.
///
/// # Errors
/// Fails if the configuration is not valid.
pub(crate) fn check(path: &Path) -> Result<(), EncryptionError> {
    file::read(path)?;
    Ok(())
}

// === impl Encryption ===

impl Encryption {
    /// Reads a configuration, and calls its key management services a first time. Must be called within a Tokio runtime.
    /// If it `reloads`, the file is read again when it changes.
    ///
    /// # Errors
    /// Fails if the configuration is not valid. A service that does not answer is not an error.
    pub(crate) async fn load(
        path: &Path,
        reloads: bool,
        services: Services,
    ) -> Result<Arc<Self>, EncryptionError> {
        let loaded = file::read(path)?;
        let transformers = Transformers::new(&loaded.configuration, &services)?;
        for (_, failure) in transformers.check().await {
            tracing::warn!("{failure}");
        }
        let metrics = services.metrics.clone();
        if let Some(reloads) = metrics.reloads() {
            reloads.configured(&loaded.content);
        }
        let current = Arc::new(Current::new(transformers));
        let reload = reloads.then(|| {
            let reload = Reload::new(path, loaded.content, current.clone(), services);
            AbortOnDropHandle::new(tokio::spawn(reload.run()))
        });
        Ok(Arc::new(Self { current, metrics, reload }))
    }

    /// Returns the transformer of a resource's values.
    pub(crate) fn transformer(&self, resource: GroupResource) -> Arc<dyn Transformer> {
        Arc::new(ResourceTransformer {
            resource,
            label: resource.to_string(),
            current: self.current.clone(),
            metrics: self.metrics.clone(),
        })
    }

    /// Returns the health checks of the key management services, with their names: as in Kubernetes, one for all, or one for
    /// each if one of them has version 1 and the configuration does not change.
    pub(crate) fn checks(&self) -> Vec<(String, Arc<dyn Check>)> {
        let transformers = self.current.load();
        if self.reload.is_none() && transformers.has_kms_v1() {
            let probes = transformers.probes().iter().enumerate();
            let named = |(number, probe): (usize, &Arc<Probe>)| {
                (service_name(number), Arc::new(KmsCheck(probe.clone())) as Arc<dyn Check>)
            };
            return probes.map(named).collect();
        }
        if self.reload.is_none() && transformers.probes().is_empty() {
            return Vec::new();
        }
        vec![("kms-providers".to_owned(), Arc::new(KmsChecks(self.current.clone())))]
    }

    /// Whether changes of the configuration are used.
    pub(crate) const fn reloads(&self) -> bool {
        self.reload.is_some()
    }
}

#[async_trait]
impl Transformer for ResourceTransformer {
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError> {
        let current = self.current.load_full();
        let Some(transformers) = current.for_resource(self.resource) else {
            return Identity.from_storage(stored, context).await;
        };
        let begun = Instant::now();
        let read = transformers.read(&stored, context).await;
        let prefix = match read.prefix {
            None => "unknown",
            Some("") => "identity",
            Some(prefix) => prefix,
        };
        let is_ok = read.result.is_ok();
        self.metrics.transformed(&self.label, "from_storage", prefix, begun.elapsed(), is_ok);
        if let Err(error) = &read.result {
            tracing::error!(key = context, "failed to decrypt data: {error}");
        }
        read.result
    }

    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError> {
        let current = self.current.load_full();
        let Some(transformers) = current.for_resource(self.resource) else { return Ok(plain) };
        let begun = Instant::now();
        let written = transformers.write(plain, context).await;
        let prefix = written.prefix.unwrap_or("unknown");
        let is_ok = written.result.is_ok();
        self.metrics.transformed(&self.label, "to_storage", prefix, begun.elapsed(), is_ok);
        if let Err(error) = &written.result {
            tracing::error!(key = context, "failed to encrypt data: {error}");
        }
        written.result
    }

    /// The number is that of the configuration; 0 if it has no rule for the resource.
    async fn changed(&self, from: Option<u64>) -> u64 {
        let mut numbers = self.current.numbers();
        loop {
            let number = *numbers.borrow_and_update();
            let number = self.current.load().for_resource(self.resource).map_or(0, |_| number);
            if from != Some(number) {
                return number;
            }
            if numbers.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

#[async_trait]
impl Check for KmsChecks {
    async fn check(&self) -> Result<(), Unhealthy> {
        let failures = self.0.load_full().check().await;
        if failures.is_empty() {
            return Ok(());
        }
        let failures =
            failures.iter().map(|(number, failure)| format!("{}: {failure}", service_name(*number)));
        Err(Unhealthy(aggregate(failures)))
    }
}

#[async_trait]
impl Check for KmsCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        self.0.check().await.map_err(|failure| Unhealthy(failure.to_string()))
    }
}
