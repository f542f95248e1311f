//! JSON web keys, and the signatures that they verify.
//!
//! Specification: RFC 7517 and RFC 7518. Keys of other types are passed over.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use crate::authentication::jwt::Unverified;

use super::error::ClaimError;
use super::p521_key::P521Key;

/// Maximum number of keys of an issuer that are used: a token that names no key is compared with all.
const MAX_KEYS: usize = 64;

/// A signature algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::authentication) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Es256,
    Es384,
    Es512,
    Ps256,
    Ps384,
    Ps512,
}

/// The keys of an issuer.
#[derive(Debug)]
pub(super) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: String,
    /// The only algorithm that it may be used with, if it names one.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    P521(P521Key),
}

#[derive(Deserialize)]
struct JsonWebKeySet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct JsonWebKey {
    kty: String,
    #[serde(default)]
    kid: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Error of a key set that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeysError {
    #[error("the key set cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the key set has no RSA, P-256, P-384 or P-521 key for signatures")]
    NoKey,
}

// === impl Algorithm ===

impl Algorithm {
    /// All algorithms.
    pub(in crate::authentication) const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
    ];

    /// Returns the name in tokens.
    pub(in crate::authentication) const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }

    /// Returns the algorithm with this name.
    pub(in crate::authentication) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Returns the algorithm that a token names, if it is one of these.
    pub(super) fn accepted(name: &str, accepted: &[Self]) -> Result<Self, ClaimError> {
        Self::named(name).filter(|algorithm| accepted.contains(algorithm)).ok_or_else(|| {
            let expected = accepted.iter().map(|algorithm| algorithm.name()).collect();
            ClaimError::Algorithm { expected, name: name.to_owned() }
        })
    }

    /// Returns how RSA keys verify it; `None` for other keys.
    fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Self::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
            Self::Es256 | Self::Es384 | Self::Es512 => None,
        }
    }
}

// === impl Keys ===

impl Keys {
    /// Reads a key set.
    ///
    /// # Errors
    /// Fails if it is malformed, or has no key that can be used.
    pub(super) fn parse(json: &[u8]) -> Result<Self, KeysError> {
        let set: JsonWebKeySet = serde_json::from_slice(json)?;
        let keys: Vec<Key> = set.keys.into_iter().filter_map(Key::parse).take(MAX_KEYS).collect();
        if keys.is_empty() {
            return Err(KeysError::NoKey);
        }
        Ok(Self(keys))
    }

    /// Whether one of the keys has signed a token with this algorithm.
    pub(super) fn verify(&self, algorithm: Algorithm, token: &Unverified<'_>) -> bool {
        let is_meant = |key: &&Key| token.key_id.as_deref().is_none_or(|id| id.is_empty() || id == key.id);
        self.0.iter().filter(is_meant).any(|key| key.verifies(algorithm, token))
    }
}

// === impl Key ===

impl Key {
    fn parse(key: serde_json::Value) -> Option<Self> {
        let key: JsonWebKey = serde_json::from_value(key).ok()?;
        if key.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let algorithm = match key.alg.as_deref() {
            None | Some("") => None,
            Some(name) => Some(Algorithm::named(name)?),
        };
        let decode = |part: &Option<String>| BASE64_URL_SAFE_NO_PAD.decode(part.as_deref()?).ok();
        let point = |length: usize| {
            let (x, y) = (decode(&key.x)?, decode(&key.y)?);
            // Uncompressed.
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (key.kty.as_str(), key.crv.as_deref()) {
            ("RSA", _) => {
                Material::Rsa { modulus: unpadded(decode(&key.n)?), exponent: unpadded(decode(&key.e)?) }
            }
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("EC", Some("P-521")) => Material::P521(P521Key::read(&point(66)?)?),
            _ => return None,
        };
        Some(Self { id: key.kid, algorithm, material })
    }

    fn verifies(&self, algorithm: Algorithm, token: &Unverified<'_>) -> bool {
        if self.algorithm.is_some_and(|only| only != algorithm) {
            return false;
        }
        let signed = token.signed.as_bytes();
        let signature = token.signature.as_slice();
        match (&self.material, algorithm) {
            (Material::Rsa { modulus, exponent }, _) => algorithm.rsa().is_some_and(|parameters| {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, signed, signature).is_ok()
            }),
            (Material::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
            }
            (Material::P384(point), Algorithm::Es384) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(signed, signature).is_ok()
            }
            (Material::P521(key), Algorithm::Es512) => key.verifies(signed, signature),
            _ => false,
        }
    }
}

/// Removes leading zero bytes, which some issuers write.
fn unpadded(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.into_iter().skip(zeros).collect()
}
