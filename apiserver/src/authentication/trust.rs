//! The certificate authorities of clients and of front proxies, which can be replaced while connections are open.

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use certificates::can_issue;
use parking_lot::Mutex;
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls_pki_types::{CertificateDer, UnixTime};

/// The authorities whose certificates are accepted, by what they are accepted for.
#[derive(Debug, Default)]
pub(crate) struct ClientTrust {
    /// Of clients: the certificate names the user.
    pub(crate) clients: Authorities,
    /// Of front proxies: headers name the user.
    pub(crate) proxies: Authorities,
    /// The authorities by their source.
    sets: Mutex<Sets>,
    /// Whether authorities of a main server are added while connections are open.
    follows: bool,
}

/// Authorities by their source.
#[derive(Debug, Default)]
struct Sets {
    /// Those of the server's own files.
    own: AuthoritySet,
    /// Those that a main server publishes.
    followed: AuthoritySet,
}

/// Certificates of authorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthoritySet {
    /// Of clients.
    pub(crate) clients: Vec<CertificateDer<'static>>,
    /// Of front proxies.
    pub(crate) proxies: Vec<CertificateDer<'static>>,
}

/// A replaceable set of certificate authorities. Without any, no certificate is accepted.
#[derive(Debug, Default)]
pub(crate) struct Authorities(ArcSwapOption<Verifier>);

/// Verifies chains of certificates with one set of authorities.
#[derive(Debug)]
pub(crate) struct Verifier {
    issued: Arc<dyn ClientCertVerifier>,
    /// Whether one of the authorities may issue certificates. The others are only accepted themselves.
    has_issuers: bool,
    pub(super) authorities: Vec<CertificateDer<'static>>,
}

/// Error of certificates that cannot be authorities. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A certificate cannot be an authority.
    #[error("cannot set up TLS: {0}")]
    Certificate(#[from] rustls::Error),
    /// Clients' certificates cannot be verified with the authorities.
    #[error("cannot verify client certificates: {0}")]
    Verifier(#[from] VerifierBuilderError),
}

// === impl ClientTrust ===

impl ClientTrust {
    /// Creates the trust of an extension server, to which the authorities of a main server are added.
    pub(crate) fn following() -> Self {
        Self { follows: true, ..Self::default() }
    }

    /// Whether authorities of a main server are added while connections are open.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// Replaces the authorities of the server's own files. Certificates of open connections are judged by them from now on.
    ///
    /// # Errors
    /// Fails if a certificate cannot be an authority; nothing is replaced then.
    pub(crate) fn replace_own(&self, own: AuthoritySet) -> Result<(), AuthorityError> {
        self.replace(|sets| sets.own = own)
    }

    /// Replaces the authorities of the main server, likewise.
    ///
    /// # Errors
    /// As [`replace_own`](Self::replace_own).
    pub(crate) fn replace_followed(&self, followed: AuthoritySet) -> Result<(), AuthorityError> {
        self.replace(|sets| sets.followed = followed)
    }

    fn replace(&self, change: impl FnOnce(&mut Sets)) -> Result<(), AuthorityError> {
        let mut sets = self.sets.lock();
        let mut changed = Sets { own: sets.own.clone(), followed: sets.followed.clone() };
        change(&mut changed);
        let provider = Arc::new(ring::default_provider());
        let verifier = |own: &[_], followed: &[_]| Verifier::new(&[own, followed].concat(), &provider);
        let clients = verifier(&changed.own.clients, &changed.followed.clients)?;
        let proxies = verifier(&changed.own.proxies, &changed.followed.proxies)?;
        *sets = changed;
        self.set(clients, proxies);
        Ok(())
    }

    /// Sets what verifies certificates.
    pub(super) fn set(&self, clients: Option<Verifier>, proxies: Option<Verifier>) {
        self.clients.0.store(clients.map(Arc::new));
        self.proxies.0.store(proxies.map(Arc::new));
    }
}

// === impl Authorities ===

impl Authorities {
    /// Returns what verifies certificates now.
    pub(super) fn current(&self) -> Guard<Option<Arc<Verifier>>> {
        self.0.load()
    }
}

// === impl Verifier ===

impl Verifier {
    /// Creates a verifier; `None` without authorities.
    ///
    /// # Errors
    /// Fails if a certificate cannot be an authority.
    pub(crate) fn new(
        authorities: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Self>, AuthorityError> {
        if authorities.is_empty() {
            return Ok(None);
        }
        let mut all = RootCertStore::empty();
        let mut issuers = RootCertStore::empty();
        for authority in authorities {
            all.add(authority.clone())?;
            if can_issue(authority) {
                issuers.add(authority.clone())?;
            }
        }
        let has_issuers = !issuers.is_empty();
        // Clients may choose the certificate of any of them.
        let shown = all.subjects();
        // The library needs at least one. Without issuers, `verify` does not ask it.
        let roots = if has_issuers { issuers } else { all };
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .clear_root_hint_subjects()
            .add_root_hint_subjects(shown)
            .build()?;
        Ok(Some(Self { issued: verifier, has_issuers, authorities: authorities.to_vec() }))
    }

    /// Verifies that an authority has issued a certificate, directly or through certificates that may issue others.
    ///
    /// # Errors
    /// Fails if none has.
    pub(super) fn verify(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        if !self.has_issuers {
            return Err(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer));
        }
        self.issued.verify_client_cert(leaf, &certificates::issuers(intermediates), now).map(drop)
    }

    /// Creates a verifier that accepts nothing.
    #[cfg(test)]
    pub(super) fn accepting_nothing() -> Self {
        let issued = WebPkiClientVerifier::no_client_auth();
        Self { issued, has_issuers: false, authorities: Vec::new() }
    }

    /// Returns what verifies the signatures of handshakes, and names the authorities. It does not verify chains as
    /// [`verify`](Self::verify) does.
    pub(crate) fn into_inner(self) -> Arc<dyn ClientCertVerifier> {
        self.issued
    }
}
