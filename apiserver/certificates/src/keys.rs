//! Private keys in the forms that PEM files have: PKCS#8 (`PRIVATE KEY`), PKCS#1 (`RSA PRIVATE KEY`), SEC 1 (`EC PRIVATE KEY`).

use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The algorithm identifier of RSA keys.
const RSA: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// The algorithm identifiers of P-256 and P-384 keys.
const CURVES: [&[u8]; 2] = [
    &[
        0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
        0x3d, 0x03, 0x01, 0x07,
    ],
    &[
        0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00,
        0x22,
    ],
];
/// Version 0 of PKCS#8.
const VERSION: [u8; 3] = [0x02, 0x01, 0x00];

const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 0x04;
const BITS: u8 = 0x03;

/// Error of a PEM text without a usable private key. Not retryable.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum KeyError {
    #[error("its key is encrypted: `openssl pkey` decrypts it")]
    Encrypted,
    #[error("it has no private key (PEM)")]
    Missing,
    #[error("{}", super::texts::pem_text(.0))]
    Malformed(pem::Error),
}

/// Returns the first private key in a PEM text.
///
/// # Errors
/// Fails if there is none.
pub fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, KeyError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        pem::Error::NoItemsFound if contains(pem, b"ENCRYPTED PRIVATE KEY") => KeyError::Encrypted,
        pem::Error::NoItemsFound => KeyError::Missing,
        error => KeyError::Malformed(error),
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Returns a key in the form PKCS#8, once for each curve that a key in the form SEC 1 can be of.
pub fn pkcs8_forms(key: &PrivateKeyDer<'_>) -> Vec<PrivatePkcs8KeyDer<'static>> {
    match key {
        PrivateKeyDer::Pkcs8(der) => vec![der.clone_key()],
        PrivateKeyDer::Pkcs1(der) => vec![pkcs8(&RSA, der.secret_pkcs1_der())],
        PrivateKeyDer::Sec1(der) => CURVES.map(|curve| pkcs8(curve, der.secret_sec1_der())).into(),
        _ => Vec::new(),
    }
}

fn pkcs8(algorithm: &[u8], key: &[u8]) -> PrivatePkcs8KeyDer<'static> {
    tagged(SEQUENCE, &[&VERSION, algorithm, &tagged(OCTETS, key)].concat()).into()
}

/// Returns the `SubjectPublicKeyInfo` of an RSA key (PKCS#1).
pub fn rsa_public_key_info(key: &[u8]) -> Vec<u8> {
    // A bit string starts with the number of unused bits in its last byte.
    let bits = tagged(BITS, &[&[0], key].concat());
    tagged(SEQUENCE, &[&RSA[..], &bits].concat())
}

/// Encodes a DER value.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut value = vec![tag];
    let length = content.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    match length.get(zeros..).unwrap_or_default() {
        [] => value.push(0),
        [short] if *short < 0x80 => value.push(*short),
        long => {
            value.push(0x80 | u8::try_from(long.len()).unwrap_or_default());
            value.extend_from_slice(long);
        }
    }
    value.extend_from_slice(content);
    value
}
