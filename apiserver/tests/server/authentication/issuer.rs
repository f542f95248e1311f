//! An issuer of tokens in the process of the test, with a P-256 key and an RSA key.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;

use super::https_peer::{HttpsPeer, Received};
use super::*;

/// A key of this test only: the library cannot create RSA keys.
const RSA_KEY: &str = include_str!("rsa_key.pem");
pub const CONFIGURATION: &str = "/.well-known/openid-configuration";
pub const KEYS: &str = "/keys";

pub struct TokenIssuer {
    pub peer: HttpsPeer,
    pub elliptic: EllipticKey,
    rsa: RsaKeyPair,
}

pub struct EllipticKey {
    id: String,
    pair: EcdsaKeyPair,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the part of a token that is signed.
pub fn unsigned(header: &Value, claims: &str) -> String {
    format!("{}.{}", encode(header.to_string()), encode(claims))
}

impl EllipticKey {
    pub fn new(id: &str) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        Self { id: id.to_owned(), pair }
    }

    fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "kid": self.id, "use": "sig", "x": encode(x), "y": encode(y)})
    }

    pub fn sign(&self, unsigned: &str) -> String {
        let signature = self.pair.sign(&SystemRandom::new(), unsigned.as_bytes()).unwrap();
        format!("{unsigned}.{}", encode(signature))
    }

    pub fn token(&self, claims: &Value) -> String {
        self.sign(&unsigned(&json!({"alg": "ES256", "kid": self.id}), &claims.to_string()))
    }
}

impl TokenIssuer {
    pub async fn start() -> Self {
        let key = PrivateKeyDer::from_pem_slice(RSA_KEY.as_bytes()).unwrap();
        let rsa = RsaKeyPair::from_pkcs8(key.secret_der()).unwrap();
        let elliptic = EllipticKey::new("e1");
        let issuer = Self { peer: HttpsPeer::start(|_| (404, String::new())).await, elliptic, rsa };
        issuer.publish_own();
        issuer
    }

    /// Answers with its documents.
    pub fn publish_own(&self) {
        self.publish(&[self.elliptic.jwk(), self.rsa_jwk()]);
    }

    fn rsa_jwk(&self) -> Value {
        let public: PublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        json!({"kty": "RSA", "kid": "r1", "n": encode(public.n), "e": encode(public.e)})
    }

    fn publish(&self, keys: &[Value]) {
        let url = self.peer.url();
        let configuration = json!({"issuer": url, "jwks_uri": format!("{url}{KEYS}")}).to_string();
        let keys = json!({ "keys": keys }).to_string();
        self.peer.answer(move |received: &Received| match received.path.as_str() {
            CONFIGURATION => (200, configuration.clone()),
            KEYS => (200, keys.clone()),
            _ => (404, String::new()),
        });
    }

    /// Replaces the elliptic key.
    pub fn rotate(&mut self, id: &str) {
        self.elliptic = EllipticKey::new(id);
        self.publish_own();
    }

    /// Returns how often the keys were fetched.
    pub fn fetches(&self) -> usize {
        self.peer.received().iter().filter(|received| received.path == KEYS).count()
    }

    /// Returns good claims.
    pub fn claims(&self) -> Value {
        let now = now_seconds();
        json!({"iss": self.peer.url(), "aud": "orlop", "sub": "jane", "exp": now + 600, "iat": now})
    }

    pub fn rsa_sign(&self, unsigned: &str, padding: &'static dyn RsaEncoding) -> String {
        let mut signature = vec![0; self.rsa.public().modulus_len()];
        self.rsa.sign(padding, &SystemRandom::new(), unsigned.as_bytes(), &mut signature).unwrap();
        format!("{unsigned}.{}", encode(signature))
    }

    pub fn rsa_token(&self, algorithm: &str, claims: &Value) -> String {
        let padding: &'static dyn RsaEncoding =
            if algorithm == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
        self.rsa_sign(&unsigned(&json!({"alg": algorithm, "kid": "r1"}), &claims.to_string()), padding)
    }

    /// Returns the modulus of the RSA key, which everybody knows.
    pub fn public_modulus(&self) -> Vec<u8> {
        let public: PublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        public.n
    }
}

/// Returns the seconds since 1970.
pub fn now_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Returns a file with an issuer's configuration.
pub fn configuration(issuer: &TokenIssuer, jwt: &Value, anonymous: &Value) -> String {
    let mut whole = json!({
        "apiVersion": "apiserver.config.k8s.io/v1beta1",
        "kind": "AuthenticationConfiguration",
        "jwt": [{
            "issuer": {
                "url": issuer.peer.url(), "audiences": ["orlop"], "certificateAuthority": issuer.peer.ca_pem(),
            },
            "claimMappings": { "username": { "claim": "sub", "prefix": "oidc:" } },
        }],
    });
    for (field, value) in jwt.as_object().into_iter().flatten() {
        whole["jwt"][0][field] = value.clone();
    }
    if !anonymous.is_null() {
        whole["anonymous"] = anonymous.clone();
    }
    whole.to_string()
}
