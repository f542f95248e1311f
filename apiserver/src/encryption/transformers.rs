//! The transformers of all resources, built from a configuration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use registry_core::api::GroupResource;
use registry_core::metrics::TransformMetrics;
use registry_core::storage::transform::aes::{Cbc, Gcm, KeySizeError};
use registry_core::storage::transform::kms::Kms;
use registry_core::storage::transform::prefix::{PrefixTransformer, PrefixTransformers};
use registry_core::storage::transform::secretbox::SecretBox;
use registry_core::storage::transform::{Identity, Transformer};
use tokio_util::task::AbortOnDropHandle;

use super::config::{EncryptionConfiguration, Key, KmsConfiguration, ProviderConfiguration, parse_resource};
use super::kms::{EndpointError, KmsClient};

/// Interval between the checks of a service that is healthy, and of one that is not.
const HEALTHY_INTERVAL: Duration = Duration::from_mins(1);
const UNHEALTHY_INTERVAL: Duration = Duration::from_secs(10);

/// Transformers by resource.
pub(super) struct Transformers {
    by_resource: HashMap<(String, String), PrefixTransformers>,
    services: Vec<Arc<Kms>>,
    /// The checks of the services, which end with this configuration.
    _checks: Vec<AbortOnDropHandle<()>>,
}

/// Formats a group and resource as in the configuration.
fn shown(group: &str, resource: &str) -> String {
    if group.is_empty() && resource != "*" { resource.to_owned() } else { format!("{resource}.{group}") }
}

/// Error of a provider that cannot be used. Not retryable. The texts are Kubernetes', where it refuses the same.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("resource {resource:?} is masked by earlier rule {by:?}")]
    Masked { resource: String, by: String },
    #[error("could not use the secret for named key {key}: {source}")]
    Secret { key: String, source: SecretError },
    #[error("KMSv1 is deprecated and not supported by this server. Use KMSv2 instead")]
    KmsVersion,
    #[error("could not configure KMSv2-Plugin's probe {name:?}, error: {source}")]
    KmsEndpoint { name: String, source: EndpointError },
}

/// Error of a secret that is no key.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    #[error(transparent)]
    Size(#[from] KeySizeError),
    #[error("expected key size 32 for secretbox provider, got {0}")]
    SecretBox(usize),
}

// === impl Transformers ===

impl Transformers {
    /// Builds the transformers of a configuration, and begins to check its services.
    ///
    /// # Errors
    /// Fails with Kubernetes' message if a rule has no effect, or a provider is not supported.
    pub(super) fn new(
        configuration: &EncryptionConfiguration,
        metrics: &TransformMetrics,
    ) -> Result<Self, ProviderError> {
        let mut by_resource: HashMap<(String, String), PrefixTransformers> = HashMap::new();
        let mut services = Vec::new();
        for rule in &configuration.resources {
            let built = rule.providers.iter().map(|provider| transformer(provider, &mut services, metrics));
            let built = built.collect::<Result<Vec<_>, _>>()?;
            for text in &rule.resources {
                let (group, resource) = parse_resource(text);
                for (earlier_group, earlier) in [(group, "*"), ("*", "*")] {
                    if by_resource.contains_key(&(earlier_group.to_owned(), earlier.to_owned())) {
                        let by = shown(earlier_group, earlier);
                        return Err(ProviderError::Masked { resource: shown(group, resource), by });
                    }
                }
                by_resource
                    .entry((group.to_owned(), resource.to_owned()))
                    .or_insert_with(|| PrefixTransformers::new(Vec::new(), "no matching prefix found"))
                    .extend(built.iter().cloned());
            }
        }
        let checks = services
            .iter()
            .cloned()
            .map(|service| AbortOnDropHandle::new(tokio::spawn(keep_checking(service))));
        Ok(Self { by_resource, _checks: checks.collect(), services })
    }

    /// Returns the transformers of a resource; `None` if its values are in plain form.
    pub(super) fn for_resource(&self, resource: GroupResource) -> Option<&PrefixTransformers> {
        let is_event = resource.resource == "events" && resource.group == "events.k8s.io";
        let group = if is_event { "" } else { resource.group };
        let found =
            |group: &str, resource: &str| self.by_resource.get(&(group.to_owned(), resource.to_owned()));
        found(group, resource.resource).or_else(|| found(group, "*")).or_else(|| found("*", "*"))
    }

    /// Checks all services, and returns the failures.
    pub(super) async fn check(&self) -> Vec<String> {
        let checks = join_all(self.services.iter().map(|service| service.check())).await;
        let failures = checks.into_iter().filter_map(Result::err);
        let failures: Vec<String> = failures.map(|failure| failure.to_string()).collect();
        for failure in &failures {
            tracing::warn!("{failure}");
        }
        failures
    }

    /// Returns the failures of the last checks.
    pub(super) fn failures(&self) -> Vec<String> {
        let services = self.services.iter().enumerate();
        services
            .filter_map(|(number, service)| Some(format!("kms-provider-{number}: {}", service.failure()?)))
            .collect()
    }
}

/// Checks a service again and again; the first check has been made.
async fn keep_checking(service: Arc<Kms>) {
    loop {
        let interval = if service.failure().is_some() { UNHEALTHY_INTERVAL } else { HEALTHY_INTERVAL };
        tokio::time::sleep(interval).await;
        if let Err(failure) = service.check().await {
            tracing::warn!("{failure}");
        }
    }
}

fn transformer(
    provider: &ProviderConfiguration,
    services: &mut Vec<Arc<Kms>>,
    metrics: &TransformMetrics,
) -> Result<PrefixTransformer, ProviderError> {
    const AES: &str = "no matching key was found for the provided AES transformer";
    const SECRETBOX: &str = "no matching key was found for the provided Secretbox transformer";
    if let Some(keys) = &provider.aesgcm {
        let gcm = |secret: &[u8]| Ok(Arc::new(Gcm::new(secret)?) as _);
        return keyed("k8s:enc:aesgcm:v1:", &keys.keys, AES, gcm);
    }
    if let Some(keys) = &provider.aescbc {
        let cbc = |secret: &[u8]| Ok(Arc::new(Cbc::new(secret)?) as _);
        return keyed("k8s:enc:aescbc:v1:", &keys.keys, AES, cbc);
    }
    if let Some(keys) = &provider.secretbox {
        let secretbox = |secret: &[u8]| {
            let secret = secret.try_into().map_err(|_| SecretError::SecretBox(secret.len()))?;
            Ok(Arc::new(SecretBox::new(secret)) as _)
        };
        return keyed("k8s:enc:secretbox:v1:", &keys.keys, SECRETBOX, secretbox);
    }
    if let Some(configuration) = &provider.kms {
        let service = service(configuration, metrics)?;
        services.push(service.clone());
        let prefix = format!("k8s:enc:kms:v2:{}:", configuration.name);
        return Ok(PrefixTransformer { prefix, transformer: service });
    }
    Ok(PrefixTransformer { prefix: String::new(), transformer: Arc::new(Identity) })
}

fn keyed(
    prefix: &str,
    keys: &[Key],
    no_match: &'static str,
    make: impl Fn(&[u8]) -> Result<Arc<dyn Transformer>, SecretError>,
) -> Result<PrefixTransformer, ProviderError> {
    let mut transformers = Vec::with_capacity(keys.len());
    for Key { name, secret } in keys {
        let transformer = STANDARD.decode(secret).map_err(SecretError::from).and_then(|secret| make(&secret));
        let transformer =
            transformer.map_err(|source| ProviderError::Secret { key: name.clone(), source })?;
        transformers.push(PrefixTransformer { prefix: format!("{name}:"), transformer });
    }
    let transformer = Arc::new(PrefixTransformers::new(transformers, no_match));
    Ok(PrefixTransformer { prefix: prefix.to_owned(), transformer })
}

fn service(configuration: &KmsConfiguration, metrics: &TransformMetrics) -> Result<Arc<Kms>, ProviderError> {
    if configuration.api_version != "v2" {
        return Err(ProviderError::KmsVersion);
    }
    let client = KmsClient::new(&configuration.endpoint, configuration.timeout, metrics.clone());
    let name = || configuration.name.clone();
    let client = client.map_err(|source| ProviderError::KmsEndpoint { name: name(), source })?;
    Ok(Arc::new(Kms::new(configuration.name.as_str(), Arc::new(client))))
}
