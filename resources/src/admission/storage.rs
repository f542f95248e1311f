//! Plug-ins for volumes, claims and their classes.

mod claim_resize;
pub(super) mod default_class;
mod storage_class;
mod storage_protection;

use registry_core::registry::InstalledApi;

use super::Plugins;

declare! {
    claim_resize::ClaimResize: "PersistentVolumeClaimResize"
    storage_class::DefaultStorageClass: "DefaultStorageClass"
    storage_protection::StorageProtection: "StorageObjectInUseProtection"
}

// === impl Plugins ===

impl Plugins {
    /// Adds the plug-ins of this module.
    pub(super) fn add_for_storage(&mut self, installed: &InstalledApi) {
        self.mutating(storage_class::DefaultStorageClass::new(installed));
        self.mutating(Some(storage_protection::StorageProtection));
        self.validating(claim_resize::ClaimResize::new(installed));
    }
}
