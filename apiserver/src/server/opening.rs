//! Everything that the server opens before its stores, in an order that leaves nothing half made: flags and the files
//! that they name are checked, the address is bound, the data directory is locked, and only then anything is written.

use std::net::SocketAddr;
use std::sync::Arc;

use clients::egress::Egress;
use registry_core::api::clock::Clock;
use registry_core::features::Feature;
use registry_core::resource::ResourceDescription;
use resources::bootstrap::server_identity;
use tokio::net::TcpListener;

use crate::aggregator::{PeerTrust, ProxyIdentity};
use crate::audit::Auditor;
use crate::audit::policy::Policy;
use crate::authentication::{self, ClientTrust, ExternalSigner};
use crate::authorization::{Authorization, Authorizer};
use crate::encryption::{self, Encryption, EncryptionError, Services};
use crate::metrics::ServerMetrics;
use crate::options::{Options, StorageChoice};
use crate::server::error::ServerError;
use crate::shares::TurnBounds;
use crate::storage::{Engine, EngineOpening, Overrides};
use crate::telemetry::Sampler;
use crate::webhooks::CALLS as WEBHOOK_CALLS;

use super::address::listen;
use super::data_directory::DataDirectory;
use super::long_work::LongWork;
use super::manifests;
use super::renewal::ServingTls;
use crate::pki;

/// The flags and the files that they name, checked.
pub(super) struct Checked {
    pub(super) storage_choice: StorageChoice,
    sampler: Option<Sampler>,
    metrics: Arc<ServerMetrics>,
    authorization: Option<Authorization>,
    egress: Egress,
    host_name: Option<String>,
    /// The audit policy, if there is one.
    audit_policy: Option<Policy>,
}

/// Everything that the server opens before its stores: the address, files, keys and the engine.
pub(super) struct Opened {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) data_directory: DataDirectory,
    pub(super) metrics: Arc<ServerMetrics>,
    pub(super) engine: Engine,
    pub(super) overrides: Overrides,
    /// The program that signs tokens, if there is one.
    pub(super) signer: Option<Arc<ExternalSigner>>,
    pub(super) identities: pki::Identities,
    pub(super) tls: Arc<ServingTls>,
    pub(super) encryption: Option<Arc<Encryption>>,
    pub(super) auditor: Option<Arc<Auditor>>,
    pub(super) proxy_identity: Arc<ProxyIdentity>,
    pub(super) sampler: Option<Sampler>,
    pub(super) long_work: Arc<LongWork>,
    /// The time of day that leases, tokens and finished jobs end by.
    pub(super) clock: Clock,
    /// The calls of each webhook.
    pub(super) webhook_calls: TurnBounds,
    /// `None` if the main server authorizes.
    pub(super) authorization: Option<Authorization>,
    /// The ways to other servers.
    pub(super) egress: Egress,
    /// The authorities of the other servers of the cluster, if requests are forwarded to them.
    pub(super) peer_trust: Option<Arc<PeerTrust>>,
    /// The name of this machine, if it is known.
    pub(super) host_name: Option<String>,
}

// === impl Checked ===

impl Checked {
    /// Checks the flags and the files that they name, as far as that is possible without opening anything. With plug-ins
    /// of the server's author, the names of admission plug-ins are checked later.
    pub(super) fn new(
        options: &Options,
        authorizer: Option<Arc<dyn Authorizer>>,
        is_extension: bool,
        has_authored_plugins: bool,
        host_name: Option<String>,
    ) -> Result<Self, ServerError> {
        let storage_choice = options.validate()?;
        let egress = Egress::read(options.egress_selector_config_file.as_deref())?;
        let sampler = options.tracing()?.map(|configuration| Sampler::new(&configuration));
        options.admission.check(has_authored_plugins, options.feature_gates().features())?;
        manifests::directories(options)?;
        let audit_policy = options.audit.audit_policy_file.as_deref().map(Policy::from_file).transpose()?;
        if let Some(path) = &options.encryption.encryption_provider_config {
            encryption::check(path)?;
        }
        authentication::check(&options.authentication, &options.service_accounts)?;
        pki::check_given(options)?;
        let metrics = match &host_name {
            Some(host_name) => ServerMetrics::for_server(&server_identity(host_name))?,
            None => ServerMetrics::new()?,
        };
        metrics.show(&options.metrics)?;
        metrics.note_release(options.emulation.releases(), &options.feature_gates());
        let authorization = if is_extension {
            options.validate_delegation()?;
            None
        } else {
            Some(Authorization::new(
                &options.authorization,
                &options.feature_gates().enabled(),
                authorizer,
                metrics.authorization(),
                &egress.control_plane,
            )?)
        };
        Ok(Self { storage_choice, sampler, metrics, authorization, egress, host_name, audit_policy })
    }
}

// === impl Opened ===

impl Opened {
    /// Opens everything. A temporary data directory is noted in the options.
    pub(super) async fn new(
        options: &mut Options,
        checked: Checked,
        is_extension: bool,
        clock: Clock,
        declared: &[&'static ResourceDescription],
    ) -> Result<Self, ServerError> {
        let (listener, address) = listen(options).await?;
        // Before anything is written: two servers would replace each other's certificates.
        let data_directory = if options.has_temporary_directory() {
            let (directory, path) = DataDirectory::temporary().await?;
            options.locations.data_dir = Some(path);
            options.locations.removes_data_dir = true;
            directory
        } else {
            DataDirectory::acquire(&options.data_directory()).await?
        };
        let metrics = checked.metrics;
        let (policy, route) = (checked.audit_policy, &checked.egress.control_plane);
        let auditor = Auditor::start(policy, &options.audit, metrics.audit(), route)?;
        let commits = metrics.storage().commits();
        let backend = checked.storage_choice.name();
        let (choice, storage) = (checked.storage_choice, &options.storage);
        let route = checked.egress.etcd.clone();
        let opening = EngineOpening { options: storage, commits, clock: clock.clone(), route };
        let engine = opening.open(choice.clone()).await?;
        let overrides = Overrides::open(&choice, declared, &opening).await?;
        log_opened(backend, &engine).await;
        let signer = ExternalSigner::start(&options.service_accounts, metrics.external_signer()).await?;
        // After the store is open: a failed start changes no key or certificate.
        let identities = pki::Identities::ensure(options)?;
        let trust = if is_extension { ClientTrust::following() } else { ClientTrust::default() };
        let expiry = metrics.certificate_expiry().clone();
        let tls = Arc::new(ServingTls::new(&identities, options, expiry, trust)?);
        let peer_authorities = pki::peer_authorities(options)?;
        let peer_trust = peer_authorities.map(|(known, trust)| Arc::new(PeerTrust::new(known, trust)));
        let encryption = load_encryption(options, &metrics).await?;
        let proxy_identity = Arc::new(ProxyIdentity::new(identities.proxy_identity.clone()));
        Ok(Self {
            listener,
            address,
            data_directory,
            metrics,
            engine,
            overrides,
            signer,
            identities,
            tls,
            encryption,
            auditor,
            proxy_identity,
            sampler: checked.sampler,
            long_work: Arc::new(LongWork::start()?),
            clock,
            webhook_calls: WEBHOOK_CALLS,
            authorization: checked.authorization,
            egress: checked.egress,
            peer_trust,
            host_name: checked.host_name,
        })
    }
}

async fn load_encryption(
    options: &Options,
    metrics: &ServerMetrics,
) -> Result<Option<Arc<Encryption>>, EncryptionError> {
    let encryption = &options.encryption;
    let Some(path) = &encryption.encryption_provider_config else { return Ok(None) };
    let reloads = encryption.encryption_provider_config_automatic_reload;
    let services = Services {
        kms_v1: options.feature_gates().is_enabled(Feature::KMSv1),
        metrics: metrics.storage().transform().clone(),
    };
    Encryption::load(path, reloads, services).await.map(Some)
}

async fn log_opened(backend: &str, engine: &Engine) {
    match engine.mvcc().current_revision().await {
        Ok(revision) => tracing::info!(backend, revision, "the store is open"),
        Err(error) => tracing::info!(backend, "the store is open; its revision is not known yet: {error}"),
    }
}
