//! Blocks of PEM texts, and what requests and certificates in them must be.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::{
    OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA, OID_PKCS1_SHA512WITHRSA, OID_SIG_ECDSA_WITH_SHA256,
    OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ED25519,
};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";
/// The shortest RSA key whose signatures are checked. Signatures of shorter keys are taken as they are.
const LEAST_RSA_BITS: usize = 2_048;
const ECDSA_BITS: [usize; 2] = [256, 384];

const CONFIGURATION: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIGURATION);

/// A block between its lines of dashes.
pub(super) struct Block<'t> {
    /// The words after `BEGIN`.
    pub(super) kind: &'t str,
    /// Whether lines with a colon precede the content.
    pub(super) has_headers: bool,
    /// The content.
    pub(super) bytes: Vec<u8>,
}

/// Returns the well-formed blocks of a text.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (block, after) = next_block(rest)?;
        rest = after;
        Some(block)
    })
}

/// Returns the next well-formed block of a text, and the rest.
fn next_block(mut text: &str) -> Option<(Block<'_>, &str)> {
    loop {
        let start = if text.starts_with(BEGIN) { 0 } else { text.find("\n-----BEGIN ")? + 1 };
        let (_, rest) = text.split_at_checked(start + BEGIN.len())?;
        text = rest;
        let (line, body) = rest.split_once('\n')?;
        let Some(kind) = line.trim_end().strip_suffix(DASHES) else { continue };
        let end = format!("{DASHES}END {kind}{DASHES}");
        // A block ends before the next one begins.
        let until = body.find("\n-----BEGIN ").unwrap_or(body.len());
        let Some(inner) = body.get(..until) else { continue };
        let Some(length) = inner.find(&end) else { continue };
        let (Some(content), Some(after)) = (body.get(..length), body.get(length + end.len()..)) else {
            continue;
        };
        let (headers, data) = split_headers(content);
        let data: String = data.split_ascii_whitespace().collect();
        text = after;
        if let Ok(bytes) = BASE64.decode(data) {
            return Some((Block { kind, has_headers: headers, bytes }, after));
        }
    }
}

/// Separates the lines with a colon at the start of a block.
fn split_headers(content: &str) -> (bool, &str) {
    let mut rest = content;
    let mut has_headers = false;
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.contains(':') {
            break;
        }
        has_headers = true;
        rest = after;
    }
    (has_headers, rest)
}

/// Returns why a text holds no signed request for a certificate.
pub(super) fn request_complaint(pem: &[u8]) -> Option<&'static str> {
    with_request(pem, signature_complaint).unwrap_or_else(Some)
}

/// Calls `read` with the request for a certificate in a text.
///
/// # Errors
/// Fails with the reason if there is none.
pub(super) fn with_request<T>(
    pem: &[u8],
    read: impl FnOnce(&X509CertificationRequest<'_>) -> T,
) -> Result<T, &'static str> {
    const NO_REQUEST: &str = "PEM block type must be CERTIFICATE REQUEST";
    let text = String::from_utf8_lossy(pem);
    let Some((block, _)) = next_block(&text).filter(|(block, _)| block.kind == "CERTIFICATE REQUEST") else {
        return Err(NO_REQUEST);
    };
    match X509CertificationRequest::from_der(&block.bytes) {
        Ok(([], request)) => Ok(read(&request)),
        Ok(_) => Err("asn1: syntax error: trailing data"),
        Err(_) => Err("asn1: structure error: malformed certificate request"),
    }
}

/// Returns why a request is not signed with its own key, for the algorithms that are known here.
fn signature_complaint(request: &X509CertificationRequest<'_>) -> Option<&'static str> {
    let algorithm = &request.signature_algorithm.algorithm;
    let Ok(key) = request.certification_request_info.subject_pki.parsed() else {
        return Some("x509: invalid public key");
    };
    let rsa = [OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA, OID_PKCS1_SHA512WITHRSA];
    let ecdsa = [OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384];
    let complaint = match &key {
        PublicKey::RSA(rsa_key) if rsa.contains(algorithm) && rsa_key.key_size() >= LEAST_RSA_BITS => {
            "crypto/rsa: verification error"
        }
        PublicKey::EC(point) if ecdsa.contains(algorithm) && ECDSA_BITS.contains(&point.key_size()) => {
            "x509: ECDSA verification failure"
        }
        _ if *algorithm == OID_SIG_ED25519 => "x509: Ed25519 verification failure",
        _ => return None,
    };
    request.verify_signature().is_err().then_some(complaint)
}

/// Returns why a text is not a list of certificates.
pub(super) fn certificate_complaint(pem: &[u8]) -> Option<String> {
    if pem.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(pem);
    let mut rest = text.as_ref();
    let mut count = 0;
    while let Some((block, after)) = next_block(rest) {
        rest = after;
        count += 1;
        if block.kind != "CERTIFICATE" {
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {:?}", block.kind));
        }
        if block.has_headers {
            return Some("no PEM block headers are permitted".to_owned());
        }
        if block.bytes.is_empty() {
            return Some("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
        let mut bytes = block.bytes.as_slice();
        while !bytes.is_empty() {
            match X509Certificate::from_der(bytes) {
                Ok((after, _)) => bytes = after,
                Err(_) => return Some("x509: malformed certificate".to_owned()),
            }
        }
    }
    (count == 0).then(|| "must contain at least one CERTIFICATE PEM block".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    #[test]
    fn requests_are_signed_by_their_key() {
        let key = KeyPair::generate().unwrap();
        let request =
            CertificateParams::new(vec!["a.b".to_owned()]).unwrap().serialize_request(&key).unwrap();
        let pem = request.pem().unwrap();
        assert_eq!(request_complaint(pem.as_bytes()), None);
        let mut der = request.der().to_vec();
        *der.last_mut().unwrap() ^= 1;
        let block = |kind: &str, bytes: &[u8]| {
            format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", BASE64.encode(bytes))
        };
        let forged = block("CERTIFICATE REQUEST", &der);
        assert_eq!(request_complaint(forged.as_bytes()), Some("x509: ECDSA verification failure"));
        let other = block("SOMETHING", &der);
        assert_eq!(request_complaint(other.as_bytes()), Some("PEM block type must be CERTIFICATE REQUEST"));
        let garbage = block("CERTIFICATE REQUEST", b"abc");
        assert!(request_complaint(garbage.as_bytes()).is_some_and(|text| text.starts_with("asn1: ")));
    }

    #[test]
    fn certificates_stand_in_blocks_of_their_own() {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["a.b".to_owned()]).unwrap().self_signed(&key).unwrap();
        let pem = certificate.pem();
        assert_eq!(certificate_complaint(pem.as_bytes()), None);
        assert_eq!(certificate_complaint(format!("text before\n{pem}{pem}").as_bytes()), None);
        assert_eq!(certificate_complaint(b""), None);
        for (text, complaint) in [
            ("garbage".to_owned(), "must contain at least one CERTIFICATE PEM block"),
            (pem.replace("CERTIFICATE", "KEY"), "only CERTIFICATE PEM blocks are allowed, found \"KEY\""),
            (pem.replacen("-----\n", "-----\na: b\n\n", 1), "no PEM block headers are permitted"),
            (
                "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----".to_owned(),
                "x509: malformed certificate",
            ),
        ] {
            assert_eq!(certificate_complaint(text.as_bytes()).as_deref(), Some(complaint), "{text}");
        }
    }
}
