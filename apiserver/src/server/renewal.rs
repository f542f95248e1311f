//! Renews certificates while the server runs, and serves the replacements: generated certificates after two
//! thirds of their lifetime, the operator's files when they change.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/dynamiccertificates`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use prometheus::IntGaugeVec;
use resources::bootstrap::{FrontProxyNames, PublishedAuthentication};
use rustls::pki_types::CertificateDer;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{PeerTrust, ProxyIdentity};
use crate::authentication::ClientTrust;
use crate::health::{Check, Unhealthy};
use crate::options::{Options, TlsOptions};
use crate::proxy::KubeletCertificate;
use crate::server::error::ServerError;

use files::GivenFiles;

use super::kubeconfig;
use super::tls::{ServerTls, server_tls};
use crate::pki::{self, Identities, Moment, Validity};

/// Interval between two looks at the contents of the files.
const PERIOD: Duration = Duration::from_secs(10);
/// Interval between two looks at the times of the operator's files: a changed file is read at once.
const FILES_PERIOD: Duration = Duration::from_secs(1);
/// Remaining time below which a certificate of the operator causes a warning.
const WARNING_SECONDS: i64 = 30 * 24 * 3600;
/// Interval between such warnings.
const WARNING_PERIOD_SECONDS: i64 = 24 * 3600;

/// The TLS configuration of new connections.
pub(super) struct ServingTls {
    served: RwLock<Served>,
    expiry: IntGaugeVec,
    options: TlsOptions,
    trust: Arc<ClientTrust>,
    published: PublishedAuthentication,
}

struct Served {
    tls: ServerTls,
    validity: Option<Validity>,
}

/// Keeps the certificates of one server valid.
pub(super) struct CertificateRenewal {
    options: Options,
    address: SocketAddr,
    tls: Arc<ServingTls>,
    presented: Presented,
    state: Mutex<State>,
}

/// The identities that the server presents to others, and the authorities by which it checks other servers.
pub(super) struct Presented {
    /// That for kubelets.
    pub(super) kubelet: Arc<KubeletCertificate>,
    /// That for extension servers.
    pub(super) proxy: Arc<ProxyIdentity>,
    /// The authorities of the other servers of the cluster, if requests are forwarded to them.
    pub(super) peers: Option<Arc<PeerTrust>>,
}

struct State {
    present: Identities,
    /// Whether the kubeconfigs have the present identities.
    is_written: bool,
    /// The last failure: repeated ones are logged once.
    failure: Option<String>,
    warned_at: Moment,
}

/// `serving-certificate`: the serving certificate is valid now.
pub(super) struct ServingCertificateCheck(pub(super) Arc<ServingTls>);

// === impl ServingTls ===

impl ServingTls {
    pub(super) fn new(
        identities: &Identities,
        options: &Options,
        expiry: IntGaugeVec,
        trust: ClientTrust,
    ) -> Result<Self, ServerError> {
        let trust = Arc::new(trust);
        let served = Served::new(identities, &options.tls, &trust)?;
        let published = PublishedAuthentication::new(front_proxy(options));
        let tls =
            Self { served: RwLock::new(served), expiry, options: options.tls.clone(), trust, published };
        tls.note(identities);
        Ok(tls)
    }

    /// Returns the configuration for a new connection.
    pub(super) fn current(&self) -> ServerTls {
        self.served.read().tls.clone()
    }

    /// Returns the authorities of clients, which change with the certificates.
    pub(super) fn trust(&self) -> Arc<ClientTrust> {
        self.trust.clone()
    }

    /// Returns what extension API servers read about them.
    pub(super) fn published(&self) -> PublishedAuthentication {
        self.published.clone()
    }

    fn replace(&self, identities: &Identities) -> Result<(), ServerError> {
        let served = Served::new(identities, &self.options, &self.trust)?;
        *self.served.write() = served;
        self.note(identities);
        Ok(())
    }

    fn note(&self, identities: &Identities) {
        self.published.set(&identities.client_ca_pem, &identities.proxy_ca_pem);
        self.note_expiry(identities);
    }

    fn note_expiry(&self, identities: &Identities) {
        let of_authorities = identities.client_authorities.iter().map(std::slice::from_ref);
        let first_authority =
            of_authorities.filter_map(Validity::from_chain).map(|validity| validity.end).min();
        let serving = Validity::from_chain(&identities.serving_chain).map(|validity| validity.end);
        for (name, end) in [("serving", serving), ("client-ca", first_authority)] {
            if let Some(end) = end {
                self.expiry.with_label_values(&[name]).set(end);
            }
        }
    }

    /// Returns what is wrong with the serving certificate.
    fn problem(&self, now: Moment) -> Option<&'static str> {
        let validity = self.served.read().validity?;
        match validity {
            Validity { begin, .. } if now < begin => Some("the serving certificate is not valid yet"),
            Validity { end, .. } if now > end => Some("the serving certificate has expired"),
            _ => None,
        }
    }
}

impl Served {
    fn new(identities: &Identities, options: &TlsOptions, trust: &ClientTrust) -> Result<Self, ServerError> {
        let tls = server_tls(identities, options, trust)?;
        Ok(Self { tls, validity: Validity::from_chain(&identities.serving_chain) })
    }
}

// === impl CertificateRenewal ===

impl CertificateRenewal {
    pub(super) fn new(
        options: Options,
        address: SocketAddr,
        tls: Arc<ServingTls>,
        presented: Presented,
        present: Identities,
    ) -> Self {
        report(present.notes.warnings());
        let state = State { present, is_written: true, failure: None, warned_at: Moment::MIN };
        let renewal = Self { options, address, tls, presented, state: Mutex::new(state) };
        renewal.warn_daily(&mut renewal.state.lock(), pki::now());
        renewal
    }

    /// Renews the certificates until the server stops.
    pub(super) async fn run(self: Arc<Self>, stopping: CancellationToken) {
        // The start has just checked them.
        let mut files = GivenFiles::named_by(&self.options);
        let period = if files.is_empty() { PERIOD } else { FILES_PERIOD };
        let mut looked_at = Instant::now();
        while stopping.run_until_cancelled(tokio::time::sleep(period)).await.is_some() {
            // The files may be on a disk that responds slowly.
            let seen = tokio::task::spawn_blocking(move || (files.have_changed(), files)).await;
            let Ok((have_changed, same_files)) = seen else { return };
            files = same_files;
            if !have_changed && looked_at.elapsed() < PERIOD {
                continue;
            }
            looked_at = Instant::now();
            let renewal = self.clone();
            // Reads and writes files.
            let looked = tokio::task::spawn_blocking(move || renewal.look(pki::now())).await;
            if let Err(panic) = looked {
                tracing::error!("cannot look after the certificates: {panic}");
            }
        }
    }

    /// Renews the certificates that are due at that time, and serves those that changed. Keeps the current
    /// ones if that fails.
    pub(super) fn look(&self, now: Moment) {
        let mut state = self.state.lock();
        let failure = self.renew(&mut state, now).err().map(|failure| failure.to_string());
        if failure != state.failure {
            if let Some(failure) = &failure {
                tracing::error!("cannot renew the certificates; the present ones stay in use: {failure}");
            }
            state.failure = failure;
        }
        self.warn_daily(&mut state, now);
    }

    fn warn_daily(&self, state: &mut State, now: Moment) {
        if now.saturating_sub(state.warned_at) >= WARNING_PERIOD_SECONDS && self.warn(&state.present, now) {
            state.warned_at = now;
        }
    }

    fn renew(&self, state: &mut State, now: Moment) -> Result<(), ServerError> {
        let identities = Identities::ensure_at(&self.options, now)?;
        let present = &state.present;
        if identities.notes.warnings() != present.notes.warnings() {
            report(identities.notes.warnings());
        }
        let is_served = identities.serving_chain == present.serving_chain
            && identities.client_authorities == present.client_authorities
            && identities.proxy_authorities == present.proxy_authorities
            && identities.proxy_ca_pem == present.proxy_ca_pem
            && identities
                .named
                .iter()
                .map(|identity| &identity.chain)
                .eq(present.named.iter().map(|identity| &identity.chain));
        state.is_written &= identities.admin.certificate_pem == present.admin.certificate_pem
            && identities.server_ca_pem == present.server_ca_pem;
        if !is_served {
            self.tls.replace(&identities)?;
            tracing::info!("serving with renewed certificates");
        }
        state.present = identities;
        let identities = &state.present;
        if !state.is_written {
            kubeconfig::write_all(&self.options, self.address, identities)?;
            state.is_written = true;
        }
        self.presented.proxy.renew(identities.proxy_identity.clone());
        // Both are renewed, even if a file of the other is broken.
        let kubelet = self.renew_kubelet_identity(now);
        self.renew_peer_authorities().and(kubelet)
    }

    fn renew_kubelet_identity(&self, now: Moment) -> Result<(), ServerError> {
        Ok(self.presented.kubelet.renew(pki::kubelet_identity(&self.options, now)?)?)
    }

    fn renew_peer_authorities(&self) -> Result<(), ServerError> {
        let Some(peers) = &self.presented.peers else { return Ok(()) };
        if let Some((certificates, trust)) = pki::peer_authorities(&self.options)? {
            peers.renew(certificates, trust);
        }
        Ok(())
    }

    /// Warns of certificates that expire soon; generated ones only do so if they cannot be renewed.
    fn warn(&self, present: &Identities, now: Moment) -> bool {
        let serving = self.options.serving.tls_cert_file.as_deref();
        let mut has_warned = warn_of("the serving certificate", serving, &present.serving_chain, now);
        if let Some(file) = self.options.authentication.client_ca_file.as_deref() {
            for authority in &present.client_authorities {
                let chain = std::slice::from_ref(authority);
                has_warned |= warn_of("a client certificate authority", Some(file), chain, now);
            }
        }
        has_warned
    }
}

/// Warns of a chain that has expired or does so soon. Returns whether it does.
fn warn_of(name: &str, file: Option<&Path>, chain: &[CertificateDer<'_>], now: Moment) -> bool {
    let Some(Validity { end, .. }) = Validity::from_chain(chain) else { return false };
    let days_left = (end - now) / (24 * 3600);
    if end < now {
        tracing::warn!(?file, "{name} has expired");
    } else if end - now < WARNING_SECONDS {
        tracing::warn!(?file, days_left, "{name} expires soon");
    }
    end - now < WARNING_SECONDS
}

/// Returns the names of front proxies and of their headers, as extension API servers need them.
fn front_proxy(options: &Options) -> FrontProxyNames {
    if pki::generates_proxy_identity(options) {
        let single = |name: &str| vec![name.to_owned()];
        return FrontProxyNames {
            allowed_names: single(pki::PROXY_CLIENT),
            username_headers: single("X-Remote-User"),
            uid_headers: single("X-Remote-Uid"),
            group_headers: single("X-Remote-Group"),
            extra_headers_prefix: single("X-Remote-Extra-"),
        };
    }
    let options = &options.authentication.front_proxy;
    FrontProxyNames {
        allowed_names: options.requestheader_allowed_names.clone(),
        username_headers: options.requestheader_username_headers.clone(),
        uid_headers: options.requestheader_uid_headers.clone(),
        group_headers: options.requestheader_group_headers.clone(),
        extra_headers_prefix: options.requestheader_extra_headers_prefix.clone(),
    }
}

fn report(notes: &[String]) {
    for note in notes {
        tracing::warn!("{note}");
    }
}

#[async_trait]
impl Check for ServingCertificateCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        self.0.problem(pki::now()).map_or(Ok(()), |problem| Err(Unhealthy(problem.to_owned())))
    }
}

mod files;
#[cfg(test)]
mod tests;
