//! `DefaultIngressClass`: an ingress that names no class gets the default one, if there is one.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::StatusError;
use registry_core::registry::InstalledApi;
use resource_views::networking::v1::Ingress;

use crate::admission::storage::default_class;
use crate::api::networking::ingressclasses::{IS_DEFAULT, IngressClasses};
use crate::api::networking::ingresses::{CLASS_ANNOTATION, Ingresses};
use crate::support::lookup::Lookup;

/// The plug-in.
pub(super) struct DefaultIngressClass {
    classes: Lookup,
}

impl DefaultIngressClass {
    /// Creates the plug-in over the installed classes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { classes: Lookup::for_resource::<IngressClasses>(installed)? })
    }
}

#[async_trait]
impl MutatingAdmission for DefaultIngressClass {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(ingress) = write.object else { return Ok(()) };
        let says = Ingress(ingress).spec().ingress_class_name().exists()
            || ingress.annotation(CLASS_ANNOTATION).is_some();
        if !write.attributes.are_of::<Ingresses>(&[Operation::Create]) || says {
            return Ok(());
        }
        if let Some(class) = default_class::choose(self.classes.all().await?, &IS_DEFAULT) {
            ingress.set(&["spec", "ingressClassName"], class.name().into());
        }
        Ok(())
    }
}
