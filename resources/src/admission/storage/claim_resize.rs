//! `PersistentVolumeClaimResize`: a claim may grow only if it is bound and its class allows volume expansion.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::schema::Quantity;
use resource_views::core::v1::PersistentVolumeClaim;
use resource_views::storage::v1::StorageClass;

use super::default_class::class_of;
use crate::admission::refusal::forbidden;
use crate::api::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::api::storage::storageclasses::StorageClasses;
use crate::support::lookup::Lookup;

/// The plug-in.
pub(super) struct ClaimResize {
    classes: Lookup,
}

impl ClaimResize {
    /// Creates the plug-in over the installed classes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { classes: Lookup::for_resource::<StorageClasses>(installed)? })
    }

    async fn may_grow(&self, new: &Object, old: &Object) -> Result<bool, StatusError> {
        let name = class_of(new);
        if name.is_empty() || name != class_of(old) {
            return Ok(false);
        }
        let class = self.classes.get("", name).await?;
        let allows = |class: Object| StorageClass(&class).allow_volume_expansion().is_true();
        Ok(class.is_some_and(allows))
    }
}

#[async_trait]
impl ValidatingAdmission for ClaimResize {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let (Some(new), Some(old)) = (write.object, write.old) else { return Ok(()) };
        if !write.attributes.are_of::<PersistentVolumeClaims>(&[Operation::Update]) || !grows(new, old) {
            return Ok(());
        }
        let why = if PersistentVolumeClaim(old).status().phase().text() != "Bound" {
            "Only bound persistent volume claims can be expanded"
        } else if !self.may_grow(new, old).await? {
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
             support resize"
        } else {
            return Ok(());
        };
        Err(forbidden(write.attributes, write.object, why))
    }
}

fn grows(new: &Object, old: &Object) -> bool {
    let wanted = |claim: &Object| {
        let spec = PersistentVolumeClaim(claim).spec();
        let storage = spec.resources().requests().entry("storage").quantity();
        storage.unwrap_or_else(|| Quantity::whole(0))
    };
    wanted(new).compare(&wanted(old)).is_gt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_class_is_that_of_the_annotation_or_of_the_field() {
        let claim = |metadata: Value, spec: Value| {
            Object::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
        };
        assert_eq!(class_of(&claim(json!({}), json!({"storageClassName": "a"}))), "a");
        let annotated = json!({"annotations": {"volume.beta.kubernetes.io/storage-class": "b"}});
        assert_eq!(class_of(&claim(annotated, json!({"storageClassName": "a"}))), "b");
        let sized =
            |storage: &str| claim(json!({}), json!({"resources": {"requests": {"storage": storage}}}));
        assert!(grows(&sized("2Gi"), &sized("1Gi")));
        assert!(!grows(&sized("1Gi"), &sized("1024Mi")));
        assert!(grows(&sized("1Gi"), &claim(json!({}), json!({}))));
    }
}
