//! The encoding of stored objects: `--storage-media-type`, and the feature CBORServingAndStorage.

use std::sync::Arc;

use registry_core::ResourceType;
use registry_core::features::Feature;
use registry_core::resource::{StorageEncoding, Versions};

use super::Storages;
use crate::options::StorageMediaType;

/// The groups whose objects kube-apiserver stores as JSON in any case.
const STORED_AS_JSON: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

// === impl Storages ===

impl Storages {
    /// Returns the versions of a kind, which are stored in this server's encoding.
    pub(super) fn encoded(&self, versions: &Arc<Versions>) -> Arc<Versions> {
        match self.encoding(versions.stored()) {
            StorageEncoding::Json => versions.clone(),
            other => Arc::new(Versions::clone(versions).encoded_as(other)),
        }
    }

    /// Returns the encoding in which the objects of a kind are stored.
    fn encoding(&self, stored: &ResourceType) -> StorageEncoding {
        let schema = stored.schema();
        if schema.structural().is_some() {
            let stores_cbor = self.release.features.contains(Feature::CBORServingAndStorage);
            return if stores_cbor { StorageEncoding::Cbor } else { StorageEncoding::Json };
        }
        let is_wanted = self.options.storage_media_type == StorageMediaType::Protobuf;
        if is_wanted && schema.has_protobuf() && !STORED_AS_JSON.contains(&stored.kind.group) {
            return StorageEncoding::Protobuf;
        }
        StorageEncoding::Json
    }
}
