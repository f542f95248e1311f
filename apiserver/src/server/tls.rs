//! The TLS configuration of the server.

use std::sync::Arc;

use certificates::{certified_key, is_signature_of, key_of_version_1};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, CipherSuite, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme, SupportedProtocolVersion,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::TlsAcceptor;

use crate::authentication::{AuthenticationError, AuthoritySet, ClientTrust, Verifier};
use crate::options::{TlsOptions, TlsVersion};
use crate::server::error::ServerError;

use crate::pki::{Identities, NamedIdentity};

/// The TLS configuration of connections.
#[derive(Clone)]
pub(super) struct ServerTls {
    /// Performs the handshake.
    pub(super) acceptor: TlsAcceptor,
}

/// Presents the certificate of the host that a client asks for.
#[derive(Debug)]
struct CertificatesByName {
    default: Arc<CertifiedKey>,
    named: Vec<(NamedIdentity, Arc<CertifiedKey>)>,
}

/// Requests a client certificate and accepts any, as kube-apiserver does. The handshake proves that the
/// client has the certificate's key. Whether an authority has issued it is verified after the handshake, when
/// the certificate of a resumed session is available too, and the client can receive the reason of a refusal.
#[derive(Debug)]
struct AnyClientCertificate {
    verifier: Arc<dyn ClientCertVerifier>,
    /// Whether clients are sent the names of the authorities. They would not choose the certificate of an authority that is
    /// added later.
    names_authorities: bool,
}

/// Returns the acceptor with the serving identities, and makes `trust` the authorities of clients.
pub(super) fn server_tls(
    identities: &Identities,
    options: &TlsOptions,
    trust: &ClientTrust,
) -> Result<ServerTls, ServerError> {
    let provider = Arc::new(provider(options));
    // Clients choose their certificate by the names of authorities, those of proxies included.
    let all = [&identities.client_authorities[..], &identities.proxy_authorities].concat();
    let Some(any) = Verifier::new(&all, &provider).map_err(AuthenticationError::from)? else {
        return Err(rustls::Error::General("there is no client certificate authority".to_owned()).into());
    };
    let resolver = Arc::new(CertificatesByName::new(identities)?);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(options))?
        .with_client_cert_verifier(Arc::new(AnyClientCertificate {
            verifier: any.into_inner(),
            names_authorities: !trust.follows(),
        }))
        .with_cert_resolver(resolver);
    config.ignore_client_order = true;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.alpn_protocols.retain(|protocol| protocol != b"h2" || !options.disable_http2_serving);
    // Clients resume sessions without a signature, and the server keeps no state for them.
    config.ticketer = ring::Ticketer::new()?;
    let own = AuthoritySet {
        clients: identities.client_authorities.clone(),
        proxies: identities.proxy_authorities.clone(),
    };
    trust.replace_own(own).map_err(AuthenticationError::from)?;
    Ok(ServerTls { acceptor: TlsAcceptor::from(Arc::new(config)) })
}

/// Returns the versions of TLS.
fn versions(options: &TlsOptions) -> &'static [&'static SupportedProtocolVersion] {
    static FROM_12: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
    static FROM_13: [&SupportedProtocolVersion; 1] = [&TLS13];
    match options.tls_min_version.unwrap_or(TlsVersion::V12) {
        TlsVersion::V12 => &FROM_12,
        TlsVersion::V13 => &FROM_13,
    }
}

/// Returns the cryptography provider: the suites of AES-128 first, as in kube-apiserver's TLS, for a third
/// less work per byte. Suites of TLS 1.2 and groups are limited to the chosen ones.
fn provider(options: &TlsOptions) -> CryptoProvider {
    const PREFERRED: [CipherSuite; 3] = [
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ];
    let mut provider = ring::default_provider();
    let chosen = &options.tls_cipher_suites;
    if !chosen.is_empty() {
        provider
            .cipher_suites
            .retain(|suite| suite.tls13().is_some() || chosen.iter().any(|chosen| chosen.0 == suite.suite()));
    }
    let groups = &options.tls_curve_preferences;
    if !groups.is_empty() {
        provider.kx_groups.retain(|group| groups.iter().any(|chosen| chosen.0 == group.name()));
    }
    provider.cipher_suites.sort_by_key(|suite| !PREFERRED.contains(&suite.suite()));
    provider
}

// === impl CertificatesByName ===

impl CertificatesByName {
    fn new(identities: &Identities) -> Result<Self, ServerError> {
        let certified = |chain: &[CertificateDer<'static>], key: &PrivateKeyDer<'static>| {
            certified_key(chain.to_vec(), key).map(Arc::new)
        };
        let default = certified(&identities.serving_chain, &identities.serving_key)?;
        let mut named = Vec::new();
        for identity in &identities.named {
            named.push((identity.clone(), certified(&identity.chain, &identity.key)?));
        }
        Ok(Self { default, named })
    }
}

impl ResolvesServerCert for CertificatesByName {
    fn resolve(&self, client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = client.server_name().and_then(|host| {
            let host = host.to_ascii_lowercase();
            self.named.iter().find(|(identity, _)| identity.is_for(&host))
        });
        Some(named.map_or_else(|| self.default.clone(), |(_, certified)| certified.clone()))
    }
}

// === impl AnyClientCertificate ===

impl ClientCertVerifier for AnyClientCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        if self.names_authorities { self.verifier.root_hint_subjects() } else { &[] }
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // The library does not parse certificates of version 1. The key is enough for the handshake.
        match key_of_version_1(certificate) {
            Some(key) if is_signature_of(&key, message, signature) => {
                Ok(HandshakeSignatureValid::assertion())
            }
            Some(_) => Err(Error::InvalidCertificate(CertificateError::BadSignature)),
            None => self.verifier.verify_tls12_signature(message, certificate, signature),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match key_of_version_1(certificate) {
            Some(key) => {
                let algorithms = ring::default_provider().signature_verification_algorithms;
                verify_tls13_signature_with_raw_key(message, &key, signature, &algorithms)
            }
            None => self.verifier.verify_tls13_signature(message, certificate, signature),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
