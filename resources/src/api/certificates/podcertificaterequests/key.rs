//! The public key of a request, and the proof that the requester has the private one.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::Bytes;
use resource_views::certificates::v1beta1::PodCertificateRequestSpec;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::OID_SIG_ED25519;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// Maximum size of a key, a signature or a request, in bytes.
const MAX_BYTES: usize = 10 << 10;
const RSA_BITS: [usize; 2] = [3_072, 4_096];
/// The sizes of the points of P-256, P-384 and P-521, in bits, as far as their encoding shows them.
const CURVE_BITS: [usize; 3] = [256, 384, 521];
/// The refusal of a key whose signatures cannot be verified. Kubernetes verifies P-521.
const UNVERIFIABLE: &str =
    "signatures of P-521 keys cannot be verified by this server; use P-256, P-384, Ed25519 or RSA";
const UNKNOWN: &str = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";

/// The kind of a key, as far as rules depend on it.
enum Kind {
    Ed25519,
    /// With the size of the curve in bits.
    Ecdsa(usize),
    /// With the size of the modulus in bits.
    Rsa(usize),
}

/// Returns the subject's public key in a request of PKCS#10, encoded.
pub(super) fn public_key_in_request(der: &[u8]) -> Option<Vec<u8>> {
    match X509CertificationRequest::from_der(der) {
        Ok(([], request)) => Some(request.certification_request_info.subject_pki.raw.to_vec()),
        _ => None,
    }
}

/// Checks the PKCS#10 request: its key and its signature, and nothing else.
pub(super) fn check_request(field: &Bytes<'_, '_>, errors: &mut ErrorList) {
    let der = field.bytes();
    if der.len() > MAX_BYTES {
        errors.push(FieldError::too_long(field.path(), MAX_BYTES));
        return;
    }
    let hidden = |detail: &str| FieldError::invalid(field.path(), "", detail).without_value();
    let Ok(([], request)) = X509CertificationRequest::from_der(&der) else {
        errors.push(hidden("must be a valid PKCS#10 CSR"));
        return;
    };
    let Some(kind) = Kind::from_info(&request.certification_request_info.subject_pki) else {
        errors.push(hidden(UNKNOWN));
        return;
    };
    if let Some(error) = kind.complaint(field, "elliptic public keys must use curve P256, P384, or P521") {
        errors.push(error);
    } else if kind.algorithm().is_none() {
        errors.push(hidden(UNVERIFIABLE));
    } else if request.verify_signature().is_err() {
        errors.push(hidden("invalid signature"));
    }
}

/// Checks the key, and that it has signed the uid of the pod.
pub(super) fn check_proof(spec: &PodCertificateRequestSpec<'_, '_>, errors: &mut ErrorList) {
    let key = spec.pkix_public_key();
    let proof = spec.proof_of_possession();
    let (key_bytes, proof_bytes) = (key.bytes(), proof.bytes());
    for (field, bytes) in [(&key, &key_bytes), (&proof, &proof_bytes)] {
        if bytes.len() > MAX_BYTES {
            errors.push(FieldError::too_long(field.path(), MAX_BYTES));
            return;
        }
    }
    let Ok(([], info)) = SubjectPublicKeyInfo::from_der(&key_bytes) else {
        errors.push(key.invalid("must be a valid PKIX-serialized public key"));
        return;
    };
    let Some(kind) = Kind::from_info(&info) else {
        errors.push(key.invalid(UNKNOWN));
        return;
    };
    if let Some(error) = kind.complaint(&key, "elliptic public keys must use curve P256 or P384") {
        errors.push(error);
        return;
    }
    let Some(algorithm) = kind.algorithm() else {
        errors.push(FieldError::invalid(proof.path(), "", UNVERIFIABLE).without_value());
        return;
    };
    let public = UnparsedPublicKey::new(algorithm, &info.subject_public_key.data);
    if public.verify(spec.pod_uid().text().as_bytes(), &proof_bytes).is_err() {
        let detail = "could not verify proof-of-possession signature";
        errors.push(FieldError::invalid(proof.path(), "", detail).without_value());
    }
}

// === impl Kind ===

impl Kind {
    fn from_info(info: &SubjectPublicKeyInfo<'_>) -> Option<Self> {
        if info.algorithm.algorithm == OID_SIG_ED25519 {
            return Some(Self::Ed25519);
        }
        match info.parsed().ok()? {
            PublicKey::RSA(key) => Some(Self::Rsa(key.key_size())),
            PublicKey::EC(point) => Some(Self::Ecdsa(point.key_size())),
            _ => None,
        }
    }

    /// Returns the error of a key that is too weak.
    fn complaint(&self, field: &Bytes<'_, '_>, curves: &str) -> Option<FieldError> {
        match self {
            Self::Ecdsa(bits) if !CURVE_BITS.iter().any(|known| known.div_ceil(8) == bits.div_ceil(8)) => {
                Some(FieldError::invalid(field.path(), format!("curve P-{bits}"), curves))
            }
            Self::Rsa(bits) if !RSA_BITS.contains(bits) => {
                let detail = "RSA keys must have modulus size 3072 or 4096";
                Some(FieldError::invalid(field.path(), format!("{bits}-bit modulus"), detail))
            }
            Self::Ed25519 | Self::Ecdsa(_) | Self::Rsa(_) => None,
        }
    }

    /// Returns the algorithm of proofs; `None` for P-521.
    fn algorithm(&self) -> Option<&'static dyn VerificationAlgorithm> {
        match self {
            Self::Ed25519 => Some(&signature::ED25519),
            Self::Ecdsa(256) => Some(&signature::ECDSA_P256_SHA256_ASN1),
            // Kubernetes signs the SHA-256 of the uid whatever the curve is.
            Self::Ecdsa(384) => Some(&signature::ECDSA_P384_SHA256_ASN1),
            Self::Ecdsa(_) => None,
            Self::Rsa(_) => Some(&signature::RSA_PSS_2048_8192_SHA256),
        }
    }
}
