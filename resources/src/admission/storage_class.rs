//! `DefaultStorageClass`: a claim that names no class gets the default one, if there is one.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, MutatingAdmission, Operation};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;

use super::concerns;
use super::lookup::Lookup;
use crate::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::storage::storageclasses::StorageClasses;

/// The annotation of the default class.
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
/// Its name from before.
const WAS_DEFAULT: &str = "storageclass.beta.kubernetes.io/is-default-class";
/// The claim's annotation from before it had a field for the class.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The plug-in.
pub(super) struct DefaultStorageClass {
    classes: Lookup,
}

impl DefaultStorageClass {
    /// The plug-in over the installed classes; `None` where there are none.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { classes: Lookup::of::<StorageClasses>(installed)? })
    }
}

impl AdmissionPlugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }
}

#[async_trait]
impl MutatingAdmission for DefaultStorageClass {
    async fn admit(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(claim) = object else { return Ok(()) };
        let concerned = concerns::<PersistentVolumeClaims>(attributes, &[Operation::Create]);
        let says = claim.get_str(&["spec", "storageClassName"]).is_some()
            || claim.annotations().any(|(key, _)| key == CLASS_ANNOTATION);
        if !concerned || says {
            return Ok(());
        }
        let defaults = self.classes.all().await?.into_iter().filter(is_default);
        // The newest wins; of equally old ones, the first by name.
        let newest = defaults.max_by(|one, other| {
            let created =
                |class: &Object| class.get_str(&["metadata", "creationTimestamp"]).map(str::to_owned);
            created(one).cmp(&created(other)).then_with(|| other.name().cmp(one.name()))
        });
        if let Some(class) = newest {
            claim.set(&["spec", "storageClassName"], class.name().into());
        }
        Ok(())
    }
}

fn is_default(class: &Object) -> bool {
    class.annotations().any(|(key, value)| matches!(key, IS_DEFAULT | WAS_DEFAULT) && value == "true")
}
