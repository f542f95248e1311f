//! `StorageObjectInUseProtection`: adds the finalizers that delay the removal of volumes, claims and volume
//! attributes classes while they are in use.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, MutatingAdmission, Operation};
use registry_core::api::{Object, StatusError};

use crate::admission::concerns;
use crate::api::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::api::core::persistentvolumes::PersistentVolumes;
use crate::api::storage::volumeattributesclasses::VolumeAttributesClasses;
use crate::support::defaulting::add_finalizer;

/// The plug-in.
pub(super) struct StorageProtection;

#[async_trait]
impl MutatingAdmission for StorageProtection {
    async fn admit(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let finalizer = if concerns::<PersistentVolumes>(attributes, &[Operation::Create]) {
            "kubernetes.io/pv-protection"
        } else if concerns::<PersistentVolumeClaims>(attributes, &[Operation::Create]) {
            "kubernetes.io/pvc-protection"
        } else if concerns::<VolumeAttributesClasses>(attributes, &[Operation::Create]) {
            "kubernetes.io/vac-protection"
        } else {
            return Ok(());
        };
        if let Some(object) = object {
            add_finalizer(object, finalizer);
        }
        Ok(())
    }
}
