//! The StorageVersions of the stored resources, with the part of this server, and the resources that wait for it.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storageversion`, and the hook of `kube-aggregator` that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use parking_lot::Mutex;
use registry_core::api::{GroupResource, Object, StatusError};
use registry_core::registry::InstalledApi;
use serde_json::json;
use tokio::sync::watch;

use super::{PostStartHook, ServerFacts, server_identity};
use crate::api::internal::storageversions::StorageVersions;
use crate::api::internal::storageversions::report::Report;
use crate::support::system_writer::SystemWriter;

/// Interval between two looks whether the reports are as they were written.
const PERIOD: Duration = Duration::from_mins(10);

/// The resources whose StorageVersions do not say yet how this server stores them.
#[derive(Debug)]
pub struct PendingVersions {
    resources: Mutex<Vec<PendingVersion>>,
    is_complete: AtomicBool,
}

/// A resource whose StorageVersion does not say yet how this server stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingVersion {
    /// The resource.
    pub resource: GroupResource,
    /// The reason why the last attempt to write it failed; `None` if there was none.
    pub failure: Option<String>,
}

/// Writes the reports of this server.
pub(super) struct StorageVersionReports {
    writer: SystemWriter,
    server: String,
    reports: Vec<Report>,
    pending: Arc<PendingVersions>,
    /// Whether this server has its Lease, without which a controller removes what the server reports.
    has_lease: watch::Receiver<bool>,
}

// === impl PendingVersions ===

impl PendingVersions {
    /// Returns all stored resources; `None` if StorageVersions are not served.
    pub fn new(installed: &InstalledApi) -> Option<Self> {
        SystemWriter::for_resource::<StorageVersions>(installed)?;
        let reports = Report::all(installed);
        Some(Self::about(reports.iter().flat_map(|report| &report.resources).copied()))
    }

    /// Returns these resources.
    pub fn about(resources: impl IntoIterator<Item = GroupResource>) -> Self {
        let pending = resources.into_iter().map(|resource| PendingVersion { resource, failure: None });
        Self { resources: Mutex::new(pending.collect()), is_complete: AtomicBool::new(false) }
    }

    /// Returns what is known about a resource; `None` if nothing is to be written about it any more.
    pub fn find(&self, group: &str, resource: &str) -> Option<PendingVersion> {
        if self.is_complete.load(Ordering::Acquire) {
            return None;
        }
        let is_asked = |pending: &&PendingVersion| {
            pending.resource.group == group && pending.resource.resource == resource
        };
        self.resources.lock().iter().find(is_asked).cloned()
    }

    fn note(&self, report: &Report, written: &Result<(), StatusError>) {
        let mut resources = self.resources.lock();
        match written {
            Ok(()) => resources.retain(|pending| !report.resources.contains(&pending.resource)),
            Err(failure) => {
                let of_report =
                    resources.iter_mut().filter(|pending| report.resources.contains(&pending.resource));
                of_report.for_each(|pending| pending.failure = Some(failure.to_string()));
            }
        }
        self.is_complete.store(resources.is_empty(), Ordering::Release);
    }
}

// === impl StorageVersionReports ===

impl StorageVersionReports {
    /// Returns `None` if nothing waits for the reports.
    pub(super) fn new(
        installed: &InstalledApi,
        server: &ServerFacts,
        has_lease: watch::Receiver<bool>,
    ) -> Option<Self> {
        let pending = server.pending_versions.clone()?;
        let writer = SystemWriter::for_resource::<StorageVersions>(installed)?;
        let reports = Report::all(installed);
        Some(Self {
            writer,
            server: server_identity(server.host_name.as_deref()?),
            reports,
            pending,
            has_lease,
        })
    }

    async fn write(&self, report: &Report) -> Result<(), StatusError> {
        let name = &report.name;
        let named = Object::from_value(json!({ "metadata": { "name": name }, "spec": {} }));
        self.writer.ensure_one(named.unwrap_or_default(), |_, _| None).await?;
        self.writer.change_status("", name, |present| report.apply(&self.server, present)).await
    }
}

#[async_trait]
impl PostStartHook for StorageVersionReports {
    fn name(&self) -> &'static str {
        "built-in-resources-storage-version-updater"
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn holds_readiness(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StatusError> {
        // The sender lives as long as the hook of the Lease.
        let _ = self.has_lease.clone().wait_for(|has_lease| *has_lease).await;
        let writes = self.reports.iter().map(async |report| {
            let written = self.write(report).await;
            self.pending.note(report, &written);
            written
        });
        join_all(writes).await.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use resource_views::apiserverinternal::v1alpha1::StorageVersion;

    use super::*;

    fn reports() -> (StorageVersionReports, watch::Sender<bool>) {
        let installed = crate::testing::installed(&["storageversions", "configmaps", "events"]);
        let (lease, has_lease) = watch::channel(false);
        let reports = StorageVersionReports {
            writer: SystemWriter::for_resource::<StorageVersions>(&installed).unwrap(),
            server: "a".to_owned(),
            reports: Report::all(&installed),
            pending: Arc::new(PendingVersions::new(&installed).unwrap()),
            has_lease,
        };
        (reports, lease)
    }

    async fn version(reports: &StorageVersionReports, name: &str) -> Option<Object> {
        reports.writer.get_newest("", name).await.unwrap()
    }

    #[tokio::test]
    async fn resources_wait_for_their_report_and_reports_for_the_lease() {
        let (reports, lease) = reports();
        let pending = &reports.pending;
        let known = |group: &str, resource: &str| pending.find(group, resource).is_some();
        assert!(known("", "configmaps") && known("events.k8s.io", "events") && known("", "events"));
        assert!(!known("", "secrets") && !known("apps", "configmaps") && !known("", ""));
        let early = tokio::time::timeout(Duration::from_millis(20), reports.run()).await;
        assert!(early.is_err() && known("", "configmaps"), "there is no lease");

        lease.send_replace(true);
        reports.run().await.unwrap();
        assert!(!known("", "configmaps") && !known("events.k8s.io", "events"));
        assert_eq!(version(&reports, "events.k8s.io.events").await, None, "one for all groups");
        let written = version(&reports, "core.configmaps").await.unwrap();
        assert_eq!(StorageVersion(&written).status().common_encoding_version().text(), "v1");

        // Nothing is written again, and what was removed is.
        reports.writer.remove("", "core.events").await.unwrap();
        reports.run().await.unwrap();
        assert!(version(&reports, "core.events").await.is_some());
        assert_eq!(version(&reports, "core.configmaps").await.unwrap(), written);
    }

    #[tokio::test]
    async fn a_failure_is_told_until_the_report_is_written() {
        let (reports, _lease) = reports();
        let [configmaps, ..] = &reports.reports[..] else { panic!("a report") };
        reports.pending.note(configmaps, &Err(StatusError::internal("no space")));
        let pending = reports.pending.find("", "configmaps").unwrap();
        assert!(pending.failure.unwrap().contains("no space"));
        assert_eq!(reports.pending.find("", "events").unwrap().failure, None);
        reports.pending.note(configmaps, &Ok(()));
        assert_eq!(reports.pending.find("", "configmaps"), None);
        reports.pending.note(configmaps, &Err(StatusError::internal("no space")));
        assert_eq!(reports.pending.find("", "configmaps"), None, "it was written once");
    }
}
