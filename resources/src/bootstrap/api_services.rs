//! An APIService for each version this server itself serves; those it served once, and no longer does, go.
//!
//! Kubernetes concept: `kube-apiserver-autoregistration` of the aggregation layer.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::future::try_join_all;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use serde_json::json;

use super::{PostStartHook, wanted};
use crate::apiregistration::apiservices::APIServices;
use crate::support::system_writer::SystemWriter;

/// How the server marks those it looks after.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The mark of those made at the start: deleted later, they stay away until the next one.
const ON_START: &str = "onstart";
/// Where groups of an author's own are put: after Kubernetes', as those of custom resources are.
const OWN_GROUP_PRIORITY: i64 = 1000;
const OWN_VERSION_PRIORITY: i64 = 100;

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
        Some(Self { system_writer: SystemWriter::of::<APIServices>(installed)?, served })
    }

    /// One for each served version: as Kubernetes ranks it, or as the author's own.
    fn wanted(&self) -> Vec<Object> {
        let known = wanted::objects::<APIServices>();
        let mut known: BTreeMap<String, Object> =
            known.into_iter().map(|object| (object.name().to_owned(), object)).collect();
        let of = |(group, version): &(&str, &str)| {
            let name = format!("{version}.{group}");
            known.remove(&name).unwrap_or_else(|| own(&name, group, version))
        };
        self.served.iter().map(of).collect()
    }
}

fn own(name: &str, group: &str, version: &str) -> Object {
    let object = json!({
        "metadata": { "name": name, "labels": { AUTOMANAGED: ON_START } },
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": OWN_GROUP_PRIORITY,
            "versionPriority": OWN_VERSION_PRIORITY,
        },
    });
    Object::from_value(object).unwrap_or_default()
}

fn is_managed(object: &Object) -> bool {
    object.labels().any(|(name, value)| name == AUTOMANAGED && value == ON_START)
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
            if is_managed(&object) && !wanted.iter().any(|one| one.name() == object.name()) {
                stale.push(object.name().to_owned());
            }
        }
        try_join_all(stale.iter().map(|name| self.system_writer.remove("", name))).await?;
        self.system_writer
            .ensure(wanted, |present, wanted| {
                let differs = is_managed(present) && present.get(&["spec"]) != wanted.get(&["spec"]);
                differs.then(|| {
                    let mut object = present.clone();
                    object.copy_field(wanted, &["spec"]);
                    object
                })
            })
            .await
    }
}
