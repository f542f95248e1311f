//! `PersistentVolumeClaimResize`: a claim may grow only if it is bound and its class allows volume expansion.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use registry_core::schema::Quantity;
use serde_json::Value;

use super::concerns;
use crate::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::storage::storageclasses::StorageClasses;
use crate::support::lookup::Lookup;

/// The plug-in.
pub(super) struct ClaimResize {
    classes: Lookup,
}

impl ClaimResize {
    /// Creates the plug-in over the installed classes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { classes: Lookup::of::<StorageClasses>(installed)? })
    }

    async fn may_grow(&self, claim: &Object) -> Result<bool, StatusError> {
        let Some(name) = claim.get_str(&["spec", "storageClassName"]) else { return Ok(false) };
        let class = self.classes.get("", name).await?;
        let allows = |class: Object| class.get(&["allowVolumeExpansion"]) == Some(&Value::Bool(true));
        Ok(class.is_some_and(allows))
    }
}

impl AdmissionPlugin for ClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }
}

#[async_trait]
impl ValidatingAdmission for ClaimResize {
    async fn validate(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let (Some(new), Some(old)) = (object, old) else { return Ok(()) };
        if !concerns::<PersistentVolumeClaims>(attributes, &[Operation::Update]) || !grows(new, old) {
            return Ok(());
        }
        let why = if old.get_str(&["status", "phase"]) != Some("Bound") {
            "Only bound persistent volume claims can be expanded"
        } else if !self.may_grow(new).await? {
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
             support resize"
        } else {
            return Ok(());
        };
        Err(StatusError::forbidden(PersistentVolumeClaims::TYPE.group_resource(), new.name(), why.to_owned()))
    }
}

fn grows(new: &Object, old: &Object) -> bool {
    let wanted =
        |claim: &Object| Quantity::parse(claim.get_str(&["spec", "resources", "requests", "storage"])?).ok();
    matches!((wanted(new), wanted(old)), (Some(new), Some(old)) if new.compare(&old).is_gt())
}
