//! TLS towards clients: versions, cipher suites, key exchange, and certificates by host name.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgAction, Args};
use rustls::{CipherSuite, NamedGroup};

use super::ValueError;

/// TLS towards clients.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub struct TlsOptions {
    /// Lowest version of TLS: VersionTLS12 or VersionTLS13 [default: VersionTLS12]
    #[arg(long, value_name = "VERSION")]
    pub tls_min_version: Option<TlsVersion>,

    /// Cipher suites of TLS 1.2, by Go's names; those of TLS 1.3 cannot be chosen [default: all that are built in]
    #[arg(long, value_name = "SUITE,…", value_delimiter = ',')]
    pub tls_cipher_suites: Vec<TlsSuite>,

    /// Groups of the key exchange, by number: 29 (X25519), 23 (P-256), 24 (P-384) [default: all of them]
    #[arg(long, value_name = "GROUP,…", value_delimiter = ',')]
    pub tls_curve_preferences: Vec<TlsGroup>,

    /// A certificate and its key (PEM) for some host names: `certificate,key` or `certificate,key:*.example.com,other`;
    /// can be repeated. Without names, those of the certificate count. Read again when it changes
    #[arg(long, value_name = "PAIR")]
    pub tls_sni_cert_key: Vec<NamedCertificate>,

    /// Serve HTTP/1.1 only
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub disable_http2_serving: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2.
    V12,
    /// 1.3.
    V13,
}

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsSuite(pub CipherSuite);

/// A group of the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsGroup(pub NamedGroup);

/// Files of a certificate for some host names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCertificate {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Host names; those of the certificate if it is empty. `*.` stands for one label.
    pub names: Vec<String>,
}

/// The suites that are built in, by Go's names.
const SUITES: [(&str, CipherSuite); 11] = [
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

impl FromStr for TlsVersion {
    type Err = ValueError;

    fn from_str(name: &str) -> Result<Self, ValueError> {
        match name {
            "VersionTLS12" => Ok(Self::V12),
            "VersionTLS13" => Ok(Self::V13),
            "VersionTLS10" | "VersionTLS11" => Err(ValueError::BrokenTls(name.to_owned())),
            other => Err(ValueError::TlsVersion(other.to_owned())),
        }
    }
}

impl FromStr for TlsSuite {
    type Err = ValueError;

    fn from_str(name: &str) -> Result<Self, ValueError> {
        let known = SUITES.iter().find(|(own, _)| *own == name.trim());
        known.map(|(_, suite)| Self(*suite)).ok_or_else(|| {
            let built_in = SUITES.iter().map(|(name, _)| *name).collect();
            ValueError::Suite { name: name.to_owned(), built_in }
        })
    }
}

impl FromStr for TlsGroup {
    type Err = ValueError;

    fn from_str(number: &str) -> Result<Self, ValueError> {
        match number.trim() {
            "29" => Ok(Self(NamedGroup::X25519)),
            "23" => Ok(Self(NamedGroup::secp256r1)),
            "24" => Ok(Self(NamedGroup::secp384r1)),
            other => Err(ValueError::Group(other.to_owned())),
        }
    }
}

impl FromStr for NamedCertificate {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (files, names) = text.split_once(':').unwrap_or((text, ""));
        let (certificate, key) = files
            .split_once(',')
            .filter(|(certificate, key)| !certificate.trim().is_empty() && !key.trim().is_empty())
            .ok_or(ValueError::NoKeyPair)?;
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self {
            certificate: certificate.trim().into(),
            key: key.trim().into(),
            names: names.map(str::to_ascii_lowercase).collect(),
        })
    }
}
