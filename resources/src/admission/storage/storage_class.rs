//! `DefaultStorageClass`: a claim that names no class gets the default one, if there is one.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::StatusError;
use registry_core::registry::InstalledApi;
use resource_views::core::v1::PersistentVolumeClaim;

use super::default_class;
use crate::api::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::api::core::volume_claim::CLASS_ANNOTATION;
use crate::api::storage::storageclasses::{IS_DEFAULT, StorageClasses};
use crate::support::lookup::Lookup;

/// The plug-in.
pub(super) struct DefaultStorageClass {
    classes: Lookup,
}

impl DefaultStorageClass {
    /// Creates the plug-in over the installed classes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { classes: Lookup::for_resource::<StorageClasses>(installed)? })
    }
}

#[async_trait]
impl MutatingAdmission for DefaultStorageClass {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(claim) = write.object else { return Ok(()) };
        let concerned = write.attributes.are_of::<PersistentVolumeClaims>(&[Operation::Create]);
        let says = PersistentVolumeClaim(claim).spec().storage_class_name().exists()
            || claim.annotation(CLASS_ANNOTATION).is_some();
        if !concerned || says {
            return Ok(());
        }
        if let Some(class) = default_class::choose(self.classes.all().await?, &IS_DEFAULT) {
            claim.set(&["spec", "storageClassName"], class.name().into());
        }
        Ok(())
    }
}
