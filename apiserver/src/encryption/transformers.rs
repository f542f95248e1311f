//! The transformers of all resources, built from a configuration.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use registry_core::api::GroupResource;
use registry_core::storage::transform::aes::{Cbc, Gcm, KeySizeError};
use registry_core::storage::transform::kms::Kms;
use registry_core::storage::transform::kms_v1::KmsV1;
use registry_core::storage::transform::prefix::{PrefixTransformer, PrefixTransformers};
use registry_core::storage::transform::secretbox::SecretBox;
use registry_core::storage::transform::{Identity, Transformer};
use tokio_util::task::AbortOnDropHandle;

use super::config::{EncryptionConfiguration, Key, KmsConfiguration, ProviderConfiguration, parse_resource};
use super::kms::{EndpointError, KmsClient};
use super::kms_v1::KmsV1Client;
use super::probe::{Probe, ProbeError, Service};
use super::services::Services;

/// Interval between the checks of a service that is healthy, and of one that is not.
const HEALTHY_INTERVAL: Duration = Duration::from_mins(1);
const UNHEALTHY_INTERVAL: Duration = Duration::from_secs(10);

/// Number of keys of a service of version 1 that are kept by default.
const DEFAULT_CACHE_SIZE: i32 = 1000;

/// Transformers by resource.
pub(super) struct Transformers {
    by_resource: HashMap<(String, String), PrefixTransformers>,
    /// The services, in the order of the configuration.
    probes: Vec<Arc<Probe>>,
    /// Whether there is a service of version 1.
    has_kms_v1: bool,
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
    #[error(
        "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set \
         --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
    )]
    KmsV1,
    #[error("could not configure KMS{version}-Plugin's probe {name:?}, error: {source}")]
    KmsEndpoint { version: String, name: String, source: EndpointError },
}

/// Error of a secret that is not a key.
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
        services: &Services,
    ) -> Result<Self, ProviderError> {
        let mut by_resource: HashMap<(String, String), PrefixTransformers> = HashMap::new();
        let mut probes = Vec::new();
        for rule in &configuration.resources {
            let built = rule.providers.iter().map(|provider| transformer(provider, &mut probes, services));
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
        let probes: Vec<Arc<Probe>> =
            probes.into_iter().map(|service| Arc::new(Probe::new(service))).collect();
        let has_kms_v1 = probes.iter().any(|probe| !probe.needs_checks());
        let checked = probes.iter().filter(|probe| probe.needs_checks()).cloned();
        let checks = checked.map(|probe| AbortOnDropHandle::new(tokio::spawn(keep_checking(probe))));
        Ok(Self { by_resource, _checks: checks.collect(), probes, has_kms_v1 })
    }

    /// Returns the transformers of a resource; `None` if its values are in plain form.
    pub(super) fn for_resource(&self, resource: GroupResource) -> Option<&PrefixTransformers> {
        let is_event = resource.resource == "events" && resource.group == "events.k8s.io";
        let group = if is_event { "" } else { resource.group };
        let found =
            |group: &str, resource: &str| self.by_resource.get(&(group.to_owned(), resource.to_owned()));
        found(group, resource.resource).or_else(|| found(group, "*")).or_else(|| found("*", "*"))
    }

    /// Returns the services.
    pub(super) fn probes(&self) -> &[Arc<Probe>] {
        &self.probes
    }

    /// Whether there is a service of version 1.
    pub(super) const fn has_kms_v1(&self) -> bool {
        self.has_kms_v1
    }

    /// Checks all services, unless this was done just before, and returns the failures, each with the number of its service.
    pub(super) async fn check(&self) -> Vec<(usize, ProbeError)> {
        let checks = join_all(self.probes.iter().map(|probe| probe.check())).await;
        let checks = checks.into_iter().enumerate();
        checks.filter_map(|(number, checked)| Some((number, checked.err()?))).collect()
    }
}

/// Checks a service again and again.
async fn keep_checking(probe: Arc<Probe>) {
    loop {
        let mut interval = HEALTHY_INTERVAL;
        if let Err(failure) = probe.check().await {
            tracing::warn!("{failure}");
            interval = UNHEALTHY_INTERVAL;
        }
        tokio::time::sleep(interval).await;
    }
}

fn transformer(
    provider: &ProviderConfiguration,
    probes: &mut Vec<Service>,
    services: &Services,
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
        let service = services.client(configuration)?;
        probes.push(service.clone());
        let prefix = format!("k8s:enc:kms:{}:{}:", configuration.api_version, configuration.name);
        let transformer: Arc<dyn Transformer> = match service {
            Service::V1(service) => service,
            Service::V2(service) => service,
        };
        return Ok(PrefixTransformer { prefix, transformer });
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

// === impl Services ===

impl Services {
    /// Creates the client of a service.
    fn client(&self, configuration: &KmsConfiguration) -> Result<Service, ProviderError> {
        let KmsConfiguration { api_version, name, endpoint, timeout, cache_size } = configuration;
        let unusable =
            |source| ProviderError::KmsEndpoint { version: api_version.clone(), name: name.clone(), source };
        if api_version == "v2" {
            let client = KmsClient::new(endpoint, *timeout, self.metrics.clone()).map_err(unusable)?;
            return Ok(Service::V2(Arc::new(Kms::new(name.as_str(), Arc::new(client)))));
        }
        if !self.kms_v1 {
            return Err(ProviderError::KmsV1);
        }
        tracing::warn!(
            name,
            "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead"
        );
        let client = KmsV1Client::new(endpoint, *timeout, self.metrics.clone()).map_err(unusable)?;
        // A negative size: no keys are kept.
        let kept_keys = usize::try_from(cache_size.unwrap_or(DEFAULT_CACHE_SIZE)).ok();
        let kept_keys = kept_keys.and_then(NonZeroUsize::new);
        Ok(Service::V1(Arc::new(KmsV1::new(name.as_str(), Arc::new(client), kept_keys))))
    }
}
