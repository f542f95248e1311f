//! An APIService for each version that the storage maps serve; those of versions that are no longer served are removed.
//!
//! Kubernetes concept: `kube-apiserver-autoregistration` of the aggregation layer.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::future::try_join_all;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use resource_views::apiregistration::v1::APIService;

use super::PostStartHook;
use crate::api::apiregistration::apiservices::APIServices;
use crate::api::apiregistration::apiservices::local::{self, Automanaged, LocalSpec};
use crate::support::bootstrap_objects::bootstrap_objects;
use crate::support::system_writer::SystemWriter;

/// The hook.
pub(super) struct ApiServices {
    system_writer: SystemWriter,
    /// Groups and versions.
    served: Vec<(&'static str, &'static str)>,
}

// === impl ApiServices ===

impl ApiServices {
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let kinds = installed.paths.iter().map(|path| path.resource.kind);
        let mut served: Vec<_> = kinds.map(|kind| (kind.group, kind.version)).collect();
        served.sort_unstable();
        served.dedup();
        Some(Self { system_writer: SystemWriter::for_resource::<APIServices>(installed)?, served })
    }

    /// Returns an APIService for each served version, with Kubernetes' priority or the priority of custom groups.
    fn wanted(&self) -> Vec<Object> {
        let known = bootstrap_objects::<APIServices>();
        let mut known: BTreeMap<String, Object> =
            known.into_iter().map(|object| (object.name().to_owned(), object)).collect();
        let of = |(group, version): &(&str, &str)| {
            let name = format!("{version}.{group}");
            let other = || LocalSpec::for_storage_map(group, version).object(Automanaged::OnStart);
            known.remove(&name).unwrap_or_else(other)
        };
        self.served.iter().map(of).collect()
    }
}

#[async_trait]
impl PostStartHook for ApiServices {
    fn name(&self) -> &'static str {
        "kube-apiserver-autoregistration"
    }

    async fn run(&self) -> Result<(), StatusError> {
        let wanted = self.wanted();
        let mut stale = Vec::new();
        for entry in self.system_writer.present().await?.all() {
            let object = self.system_writer.read(entry)?;
            let is_managed = local::automanaged(&object) == Some(Automanaged::OnStart);
            if is_managed && !wanted.iter().any(|service| service.name() == object.name()) {
                stale.push(object.name().to_owned());
            }
        }
        try_join_all(stale.iter().map(|name| self.system_writer.remove("", name))).await?;
        self.system_writer
            .ensure(wanted, |present, wanted| {
                let is_managed = local::automanaged(present).is_some();
                let differs =
                    is_managed && APIService(present).spec().value() != APIService(wanted).spec().value();
                differs.then(|| {
                    let mut object = present.clone();
                    object.copy_field(wanted, &["spec"]);
                    object
                })
            })
            .await
    }
}
