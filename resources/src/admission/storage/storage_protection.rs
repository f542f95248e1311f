//! `StorageObjectInUseProtection`: adds the finalizers that delay the removal of volumes, claims and volume
//! attributes classes while they are in use.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::StatusError;

use crate::api::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::api::core::persistentvolumes::PersistentVolumes;
use crate::api::storage::volumeattributesclasses::VolumeAttributesClasses;
use crate::support::defaulting::add_finalizer;

/// The plug-in.
pub(super) struct StorageProtection;

#[async_trait]
impl MutatingAdmission for StorageProtection {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let finalizer = if write.attributes.are_of::<PersistentVolumes>(&[Operation::Create]) {
            "kubernetes.io/pv-protection"
        } else if write.attributes.are_of::<PersistentVolumeClaims>(&[Operation::Create]) {
            "kubernetes.io/pvc-protection"
        } else if write.attributes.are_of::<VolumeAttributesClasses>(&[Operation::Create]) {
            "kubernetes.io/vac-protection"
        } else {
            return Ok(());
        };
        if let Some(object) = write.object {
            add_finalizer(object, finalizer);
        }
        Ok(())
    }
}
