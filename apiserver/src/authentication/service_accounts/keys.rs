//! Keys that sign tokens: RSA (`RS256`) and P-256 (`ES256`). Keys that verify signatures: these, and P-384 (`ES384`).

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use certificates::{NotX509, parsed, pkcs8_forms, private_key, rsa_public_key_info};
use rcgen::KeyPair as GeneratedKey;
use ring::digest::{SHA256, digest};
use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, EcdsaKeyPair,
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo};
use x509_parser::public_key::PublicKey;

use crate::pki::{DirectoryGuard, FileFault, KeyDirectory, PkiError};

use crate::authentication::jwt;

/// The name of the file of the generated key.
const KEY_FILE: &str = "sa.key";
/// The prefix of a P-256 key's `SubjectPublicKeyInfo`, up to the point.
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// The prefix of a P-384 key's `SubjectPublicKeyInfo`, up to the point.
const P384_HEADER: [u8; 23] = [
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81,
    0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];
/// Lengths of uncompressed points of P-256 and P-384.
const P256_POINT_BYTES: usize = 65;
const P384_POINT_BYTES: usize = 97;

/// Error of a file without a usable key. Not retryable.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("it holds no RSA, P-256 or P-384 key")]
    NoKey,
    #[error(transparent)]
    Certificate(#[from] NotX509),
}

impl From<KeyError> for FileFault {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::NoKey => Self::NoTokenKey,
            KeyError::Certificate(error) => Self::NotX509(error),
        }
    }
}

/// Signature algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Es256,
    Es384,
    Rs256,
}

/// A key that signs tokens.
pub(super) struct SigningKey {
    pair: Pair,
    random: SystemRandom,
    public: VerifyingKey,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

/// A key that verifies signatures.
#[derive(Clone, Debug)]
pub(super) struct VerifyingKey {
    /// The key id: a hash of the key, as in Kubernetes.
    id: String,
    algorithm: Algorithm,
    /// The point, or the modulus and exponent in PKCS#1.
    material: Vec<u8>,
    jwk: Value,
}

// === impl Algorithm ===

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &ECDSA_P384_SHA384_FIXED,
            Self::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        }
    }
}

// === impl SigningKey ===

impl SigningKey {
    /// Reads a key, or creates one that only its owner can read.
    pub(super) fn ensure(directory: &KeyDirectory) -> Result<Self, PkiError> {
        // Servers that share the directory share the key: only one of them creates it.
        let _guard = DirectoryGuard::acquire(directory.path())?;
        let path = directory.path().join(KEY_FILE);
        if !path.exists() {
            directory.write(&path, &GeneratedKey::generate()?.serialize_pem())?;
            // Without a note, nothing would explain why tokens that a lost key had signed are refused.
            tracing::info!(file = %path.display(), "made the key of service account tokens");
        }
        Self::read(&path)
    }

    /// Reads a private key (PEM).
    pub(super) fn read(path: &Path) -> Result<Self, PkiError> {
        let key = private_key(&read(path)?).map_err(|error| FileFault::Key(error).in_file(path))?;
        Self::from_der(&key).map_err(|error| FileFault::from(error).in_file(path))
    }

    fn from_der(key: &PrivateKeyDer<'_>) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let ecdsa = |der: &[u8]| {
            let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random).ok()?;
            let spki = [&P256_HEADER[..], pair.public_key().as_ref()].concat();
            Some((Pair::Ecdsa(pair), spki))
        };
        let rsa = |der: &[u8]| {
            let pair = RsaKeyPair::from_pkcs8(der).ok()?;
            let spki = rsa_public_key_info(pair.public().as_ref());
            Some((Pair::Rsa(pair), spki))
        };
        let forms = pkcs8_forms(key);
        let mut ders = forms.iter().map(PrivatePkcs8KeyDer::secret_pkcs8_der);
        let (pair, spki) = ders.find_map(|der| ecdsa(der).or_else(|| rsa(der))).ok_or(KeyError::NoKey)?;
        Ok(Self { pair, random, public: VerifyingKey::from_spki(&spki)? })
    }

    /// Returns the public key.
    pub(super) fn public(&self) -> &VerifyingKey {
        &self.public
    }

    /// Returns a token with these claims (JSON).
    pub(super) fn sign(&self, claims: &[u8]) -> Result<String, Unspecified> {
        let unsigned = jwt::unsigned(self.public.algorithm.name(), &self.public.id, claims);
        let signature = match &self.pair {
            Pair::Ecdsa(pair) => pair.sign(&self.random, unsigned.as_bytes())?.as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &self.random, unsigned.as_bytes(), &mut signature)?;
                signature
            }
        };
        Ok(jwt::signed(&unsigned, &signature))
    }
}

// === impl VerifyingKey ===

impl VerifyingKey {
    /// Reads every key of a file (PEM): public keys, certificates, and the public keys of private keys.
    pub(super) fn read_all(path: &Path) -> Result<Vec<Self>, PkiError> {
        let bytes = read(path)?;
        let mut keys = Vec::new();
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(&bytes) {
            let (kind, der) = section.map_err(|error| FileFault::Pem(error).in_file(path))?;
            keys.extend(Self::from_section(kind, der).map_err(|error| FileFault::from(error).in_file(path))?);
        }
        if keys.is_empty() {
            return Err(FileFault::NoTokenKey.in_file(path));
        }
        Ok(keys)
    }

    fn from_section(kind: SectionKind, der: Vec<u8>) -> Result<Option<Self>, KeyError> {
        let private = match kind {
            SectionKind::PublicKey => return Self::from_spki(&der).map(Some),
            SectionKind::Certificate => {
                let der = CertificateDer::from(der);
                return Self::from_spki(parsed(&der)?.public_key().raw).map(Some);
            }
            SectionKind::RsaPrivateKey => PrivateKeyDer::Pkcs1(der.into()),
            SectionKind::PrivateKey => PrivateKeyDer::Pkcs8(der.into()),
            SectionKind::EcPrivateKey => PrivateKeyDer::Sec1(der.into()),
            _ => return Ok(None),
        };
        SigningKey::from_der(&private).map(|key| Some(key.public))
    }

    /// Returns the key with another id, as the program that signs with it names it.
    #[cfg(feature = "external-signer")]
    pub(super) fn with_id(mut self, id: &str) -> Self {
        registry_core::json_fields::put(&mut self.jwk, "kid", id);
        Self { id: id.to_owned(), ..self }
    }

    /// Parses a `SubjectPublicKeyInfo`.
    ///
    /// # Errors
    /// Fails if it is not a key that signatures can be verified with here.
    pub(super) fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        let (_, info) = SubjectPublicKeyInfo::from_der(der).map_err(|_| KeyError::NoKey)?;
        let id = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, der));
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let material = info.subject_public_key.data.to_vec();
        let (algorithm, own) = match info.parsed() {
            Ok(PublicKey::EC(point)) => {
                let (algorithm, curve) = match point.data().len() {
                    P256_POINT_BYTES if der.starts_with(&P256_HEADER) => (Algorithm::Es256, "P-256"),
                    P384_POINT_BYTES if der.starts_with(&P384_HEADER) => (Algorithm::Es384, "P-384"),
                    _ => return Err(KeyError::NoKey),
                };
                let coordinates = point.data().get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                (algorithm, json!({ "kty": "EC", "crv": curve, "x": encode(x), "y": encode(y) }))
            }
            Ok(PublicKey::RSA(key)) => {
                let modulus = unpadded(key.modulus);
                let exponent = unpadded(key.exponent);
                (Algorithm::Rs256, json!({ "kty": "RSA", "n": encode(modulus), "e": encode(exponent) }))
            }
            _ => return Err(KeyError::NoKey),
        };
        let mut jwk = json!({ "use": "sig", "kid": id, "alg": algorithm.name() });
        if let (Value::Object(jwk), Value::Object(own)) = (&mut jwk, own) {
            jwk.extend(own);
        }
        Ok(Self { id, algorithm, material, jwk })
    }

    /// Returns the key id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the algorithm of its signatures, as tokens name it.
    pub(super) fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Returns the key as a JSON Web Key (RFC 7517).
    pub(super) fn jwk(&self) -> &Value {
        &self.jwk
    }

    /// Returns whether a token was signed with this key.
    pub(super) fn verifies(&self, token: &jwt::Unverified<'_>) -> bool {
        let key = UnparsedPublicKey::new(self.algorithm.verification(), &self.material);
        token.algorithm == self.algorithm.name()
            && key.verify(token.signed.as_bytes(), &token.signature).is_ok()
    }
}

/// DER integers have a leading zero byte if their first bit is set.
fn unpadded(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

fn read(path: &Path) -> Result<Vec<u8>, PkiError> {
    std::fs::read(path).map_err(|source| PkiError::Read { path: path.to_owned(), source })
}
