//! The audiences of the tokens that a node may request for its pods: those that the pods' volumes name, or those that the
//! node is authorized for.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::go_text::aggregate;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::rest::access::{AccessReviewer, ResourceAccess, WantedAccess};
use resource_views::authentication::v1::TokenRequest;
use resource_views::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use resource_views::storage::v1::CSIDriver;
use serde_json::Value;

use crate::api::core::persistentvolumeclaims::PersistentVolumeClaims;
use crate::api::core::persistentvolumes::PersistentVolumes;
use crate::api::storage::csidrivers::CSIDrivers;
use crate::support::lookup::Lookup;

/// The drivers that replace kinds of volumes.
const REPLACED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

/// The checks of the audiences of tokens that nodes request.
pub(super) struct Audiences {
    access: Arc<dyn AccessReviewer>,
    drivers: Option<Lookup>,
    claims: Option<Lookup>,
    volumes: Option<Lookup>,
}

/// Error of an audience that a node must not request. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum AudienceError {
    #[error("node may only request 0 or 1 audiences")]
    TooMany,
    #[error(
        "audience {audience:?} not found in pod spec volume, {user} is not authorized to request tokens for this audience"
    )]
    NotAuthorized { audience: String, user: String },
    /// The drivers of volumes, which may request it, cannot be found out.
    #[error("error validating audience {audience:?}: {}", aggregate(.errors))]
    Drivers { audience: String, errors: Vec<LookupError> },
}

/// Error of an object that a volume refers to.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookupError {
    #[error(transparent)]
    Unreadable(#[from] StatusError),
    #[error("{singular} {name:?} not found")]
    NotFound { singular: &'static str, name: String },
}

impl Audiences {
    pub(super) fn new(installed: &InstalledApi, access: Arc<dyn AccessReviewer>) -> Self {
        Self {
            access,
            drivers: Lookup::for_resource::<CSIDrivers>(installed),
            claims: Lookup::for_resource::<PersistentVolumeClaims>(installed),
            volumes: Lookup::for_resource::<PersistentVolumes>(installed),
        }
    }

    /// Checks the audiences of a request of a token for a pod.
    ///
    /// # Errors
    /// Returns why the node may not have such a token.
    pub(super) async fn check(
        &self,
        context: &RequestContext,
        account: &str,
        request: &Object,
        pod: &Object,
    ) -> Result<(), AudienceError> {
        let spec = TokenRequest(request).spec();
        let audiences = spec.audiences();
        if audiences.len() > 1 {
            return Err(AudienceError::TooMany);
        }
        let audience = audiences.texts().next().unwrap_or_default();
        if self.is_named(context, pod, audience).await? {
            return Ok(());
        }
        let wanted = WantedAccess::Resource(ResourceAccess {
            verb: "request-serviceaccounts-token-audience".to_owned(),
            version: "v1".to_owned(),
            resource: audience.to_owned(),
            namespace: context.namespace.clone(),
            name: account.to_owned(),
            ..ResourceAccess::default()
        });
        if self.access.decide(&context.user, &wanted).await.allowed {
            return Ok(());
        }
        let user = context.user.name.clone();
        Err(AudienceError::NotAuthorized { audience: audience.to_owned(), user })
    }

    /// Whether a volume of a pod names an audience, or the driver of one does.
    async fn is_named(
        &self,
        context: &RequestContext,
        pod: &Object,
        audience: &str,
    ) -> Result<bool, AudienceError> {
        let mut errors = Vec::new();
        let spec = Pod(pod).spec();
        for volume in spec.volumes().elements() {
            if projects(&volume, audience) {
                return Ok(true);
            }
            match self.driver_has(&context.namespace, pod, &volume, audience).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            return Ok(false);
        }
        Err(AudienceError::Drivers { audience: audience.to_owned(), errors })
    }

    async fn driver_has(
        &self,
        namespace: &str,
        pod: &Object,
        volume: &Volume<'_, '_>,
        audience: &str,
    ) -> Result<bool, LookupError> {
        let claim = volume.persistent_volume_claim().claim_name().optional_text();
        let driver = if volume.ephemeral().volume_claim_template().exists() {
            let claim = format!("{}-{}", pod.name(), volume.name().text());
            self.driver_of_claim(namespace, &claim).await?
        } else if let Some(claim) = claim {
            self.driver_of_claim(namespace, claim).await?
        } else {
            let driver = volume.csi().driver().optional_text();
            driver.or_else(|| replaced(volume.value()?)).map(str::to_owned)
        };
        let Some(driver) = driver.filter(|driver| !driver.is_empty()) else { return Ok(false) };
        let driver = found(self.drivers.as_ref(), "", &driver, "csidriver.storage.k8s.io").await?;
        let spec = CSIDriver(&driver).spec();
        Ok(spec.token_requests().elements().any(|request| request.audience().text() == audience))
    }

    async fn driver_of_claim(&self, namespace: &str, claim: &str) -> Result<Option<String>, LookupError> {
        let claim = found(self.claims.as_ref(), namespace, claim, "persistentvolumeclaim").await?;
        let volume = PersistentVolumeClaim(&claim).spec().volume_name().text();
        let volume = found(self.volumes.as_ref(), "", volume, "persistentvolume").await?;
        let spec = PersistentVolume(&volume).spec();
        let driver = spec.csi().driver().optional_text();
        Ok(driver.or_else(|| replaced(spec.value()?)).map(str::to_owned))
    }
}

/// Whether a projected volume has a token for this audience.
fn projects(volume: &Volume<'_, '_>, audience: &str) -> bool {
    volume.projected().sources().elements().any(|source| {
        let token = source.service_account_token();
        token.exists() && token.audience().text() == audience
    })
}

/// Returns the driver that replaces the kind of a volume, if one does.
fn replaced(volume: &Value) -> Option<&'static str> {
    let is_of = |kind: &str| volume.get(kind).is_some_and(|source| !source.is_null());
    REPLACED.iter().find(|(kind, _)| is_of(kind)).map(|(_, driver)| *driver)
}

/// Returns an object, which has to exist. Errors name the resource in the singular, as Kubernetes' caches do.
async fn found(
    lookup: Option<&Lookup>,
    namespace: &str,
    name: &str,
    singular: &'static str,
) -> Result<Object, LookupError> {
    let object = match lookup.filter(|_| !name.is_empty()) {
        Some(lookup) => lookup.get(namespace, name).await?,
        None => None,
    };
    object.ok_or_else(|| LookupError::NotFound { singular, name: name.to_owned() })
}
