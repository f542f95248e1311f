//! A value at rest, with the encrypted seed of its key.

use std::collections::BTreeMap;

use registry_meta::validation::names;

use super::KmsCiphertext;
use super::source::{KEY, SEED};

/// Maximum size of a key's id, and of an encrypted seed, in bytes.
const MAX_ID_BYTES: usize = 1024;
/// Maximum size of all annotations, in bytes.
const MAX_ANNOTATION_BYTES: usize = 32 * 1024;

/// A value at rest.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EncryptedObject {
    /// The encrypted value.
    #[prost(bytes = "vec", tag = "1")]
    pub encrypted_data: Vec<u8>,
    /// The key of the service.
    #[prost(string, tag = "2")]
    pub key_id: String,
    /// The seed or key of the value, encrypted by the service.
    #[prost(bytes = "vec", tag = "3")]
    pub encrypted_dek_source: Vec<u8>,
    /// The data that the service needs to decrypt the key or seed.
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub annotations: BTreeMap<String, Vec<u8>>,
    /// Whether the encrypted bytes are a key (0) or a seed (1).
    #[prost(int32, tag = "5")]
    pub encrypted_dek_source_type: i32,
}

// === impl EncryptedObject ===

impl EncryptedObject {
    /// Creates the object of a value that is encrypted with a key from this seed.
    pub(super) fn new(seed: &KmsCiphertext, encrypted_data: Vec<u8>) -> Self {
        Self {
            encrypted_data,
            key_id: seed.key_id.clone(),
            encrypted_dek_source: seed.ciphertext.clone(),
            annotations: seed.annotations.clone(),
            encrypted_dek_source_type: SEED,
        }
    }

    /// Returns the encrypted seed or key, its type, and the encrypted value.
    pub(super) fn into_parts(self) -> (KmsCiphertext, i32, Vec<u8>) {
        let Self { encrypted_data, key_id, encrypted_dek_source, annotations, encrypted_dek_source_type } =
            self;
        let encrypted = KmsCiphertext { ciphertext: encrypted_dek_source, key_id, annotations };
        (encrypted, encrypted_dek_source_type, encrypted_data)
    }

    /// Checks the limits of all parts.
    ///
    /// # Errors
    /// Fails if one is exceeded.
    pub(super) fn validate(&self) -> Result<(), ObjectError> {
        if !matches!(self.encrypted_dek_source_type, KEY | SEED) {
            return Err(ObjectError::SourceType(self.encrypted_dek_source_type));
        }
        if self.encrypted_data.is_empty() {
            return Err(ObjectError::NoData);
        }
        match self.encrypted_dek_source.len() {
            0 => return Err(ObjectError::NoSource),
            1..=MAX_ID_BYTES => {}
            length => return Err(ObjectError::SourceSize(length)),
        }
        check_key_id(&self.key_id)?;
        let total: usize = self.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
        if total > MAX_ANNOTATION_BYTES {
            return Err(ObjectError::AnnotationsSize(total));
        }
        match self.annotations.keys().find(|key| !names::fully_qualified(key).is_empty()) {
            Some(key) => Err(ObjectError::Annotation(key.clone())),
            None => Ok(()),
        }
    }
}

/// Error of a value at rest that no service's value is like, with Kubernetes' text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// It is not encoded as an object.
    #[error(transparent)]
    Encoding(#[from] prost::DecodeError),
    /// The type of its seed or key is not known.
    #[error("unknown encryptedDEKSourceType: {0}")]
    SourceType(i32),
    /// It has no encrypted value.
    #[error("encrypted data is empty")]
    NoData,
    /// It has no encrypted seed or key.
    #[error("failed to validate encrypted DEK source: encrypted DEK source is empty")]
    NoSource,
    /// Its encrypted seed or key has too many bytes: this number.
    #[error(
        "failed to validate encrypted DEK source: encrypted DEK source is {0} bytes, which exceeds the max size of \
         {MAX_ID_BYTES}"
    )]
    SourceSize(usize),
    /// The id of its key is invalid.
    #[error("failed to validate key id: {0}")]
    KeyId(#[from] KeyIdError),
    /// Its annotations have too many bytes: this number.
    #[error(
        "failed to validate annotations: total size of annotations is {0}, which exceeds the max size of \
         {MAX_ANNOTATION_BYTES}"
    )]
    AnnotationsSize(usize),
    /// The name of an annotation is invalid.
    #[error("failed to validate annotations: Invalid value: {0:?}")]
    Annotation(String),
}

/// Error of the id of a service's key, with Kubernetes' text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyIdError {
    /// It is empty.
    #[error("keyID is empty")]
    Empty,
    /// It has too many bytes: this number.
    #[error("keyID is {0} bytes, which exceeds the max size of {MAX_ID_BYTES}")]
    TooLong(usize),
}

/// Checks the id of a service's key.
///
/// # Errors
/// Fails if it is empty or too long.
pub fn check_key_id(id: &str) -> Result<(), KeyIdError> {
    match id.len() {
        0 => Err(KeyIdError::Empty),
        1..=MAX_ID_BYTES => Ok(()),
        length => Err(KeyIdError::TooLong(length)),
    }
}
