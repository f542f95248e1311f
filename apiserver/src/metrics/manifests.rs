//! Metrics of the directories of manifests that admission plug-ins enforce.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/manifest/metrics`.

use std::sync::Arc;

use prometheus::{IntCounterVec, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError, now_seconds};

use super::names;

/// The metrics of all directories of manifests.
#[derive(Clone)]
pub struct ManifestMetrics {
    reloads: IntCounterVec,
    times: IntGaugeVec,
    content: IntGaugeVec,
    server_id_hash: Arc<str>,
}

/// The metrics of the directory of one plug-in.
pub(crate) struct PluginManifestMetrics {
    plugin: &'static str,
    all: ManifestMetrics,
}

// === impl ManifestMetrics ===

impl ManifestMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            reloads: families.counter(&names::MANIFEST_RELOADS)?,
            times: families.gauge(&names::MANIFEST_RELOAD_TIME)?,
            content: families.gauge(&names::MANIFEST_CONFIG_INFO)?,
            server_id_hash: families.server_id_hash(),
        })
    }

    /// Returns the metrics of the directory of a plug-in.
    pub(crate) fn for_plugin(&self, plugin: &'static str) -> PluginManifestMetrics {
        PluginManifestMetrics { plugin, all: self.clone() }
    }
}

// === impl PluginManifestMetrics ===

impl PluginManifestMetrics {
    /// Shows the hash of the manifests in force, in place of the hash before.
    pub(crate) fn configured(&self, before: Option<&str>, hash: &str) {
        let labels = |hash| [self.plugin, &*self.all.server_id_hash, hash];
        if let Some(before) = before {
            // Absent only if it was never noted.
            let _ = self.all.content.remove_label_values(&labels(before));
        }
        self.all.content.with_label_values(&labels(hash)).set(1);
    }

    /// Counts a reading of the directory after a change.
    pub(crate) fn reloaded(&self, is_success: bool) {
        let status = if is_success { "success" } else { "failure" };
        let labels = [status, self.plugin, &*self.all.server_id_hash];
        self.all.reloads.with_label_values(&labels).inc();
        self.all.times.with_label_values(&labels).set(now_seconds());
    }
}
