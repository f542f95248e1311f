//! The ServiceCIDR object of the address ranges that the server is started with.
//!
//! Kubernetes concept: `start-kubernetes-service-cidr-controller` (`pkg/controlplane/controller/defaultservicecidr`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::{Object, StatusError, time};
use registry_core::registry::InstalledApi;
use resource_views::networking::v1::ServiceCIDR;
use serde_json::{Value, json};

use super::{OWN_SERVICE_PERIOD, PostStartHook, ServerFacts};
use crate::api::networking::servicecidrs::ServiceCIDRs;
use crate::support::conditions;
use crate::support::system_writer::SystemWriter;

const NAME: &str = "kubernetes";

/// Creates the object of the server's address ranges.
pub(super) struct DefaultRange {
    system_writer: SystemWriter,
    ranges: Vec<String>,
    is_mismatch_reported: AtomicBool,
}

// === impl DefaultRange ===

impl DefaultRange {
    /// Returns the present object with the range of the second family, if that is the only difference.
    fn with_second_family(&self, present: &Object) -> Option<Object> {
        let first = self.ranges.first().filter(|_| self.ranges.len() == 2)?;
        if !ServiceCIDR(present).spec().cidrs().texts().eq([first]) {
            return None;
        }
        let mut range = present.clone();
        range.set(&["spec", "cidrs"], json!(self.ranges));
        Some(range)
    }

    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        let system_writer = SystemWriter::for_resource::<ServiceCIDRs>(installed)?;
        Some(Self {
            system_writer,
            ranges: server.service_ranges.all().map(|range| range.to_string()).collect(),
            is_mismatch_reported: AtomicBool::new(false),
        })
    }
}

#[async_trait]
impl PostStartHook for DefaultRange {
    fn name(&self) -> &'static str {
        "start-kubernetes-service-cidr-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(OWN_SERVICE_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let wanted = json!({ "metadata": { "name": NAME }, "spec": { "cidrs": self.ranges } });
        self.system_writer
            .ensure_one(Object::from_value(wanted).unwrap_or_default(), |old, _| self.with_second_family(old))
            .await?;
        let Some(present) = self.system_writer.get_newest("", NAME).await? else { return Ok(()) };
        if present.deletion_timestamp().is_some() {
            return Ok(());
        }
        let found = ServiceCIDR(&present).spec().cidrs().value();
        if found != Some(&json!(self.ranges)) {
            if !self.is_mismatch_reported.swap(true, Ordering::Relaxed) {
                let found = found.map(Value::to_string).unwrap_or_default();
                tracing::warn!(
                    %found,
                    flag = %json!(self.ranges),
                    "the ServiceCIDR {NAME} differs from --service-cluster-ip-range and stays in use: give the flag its \
                     former value, or add ranges as further ServiceCIDRs"
                );
            }
            return Ok(());
        }
        if !lacks_readiness(&present) {
            return Ok(());
        }
        let ready = json!([{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": time::now(),
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }]);
        let with_ready = |present: &Object| {
            let mut range = present.clone();
            if lacks_readiness(present) {
                range.set(&["status", "conditions"], ready.clone());
            }
            range
        };
        self.system_writer.change_status("", NAME, with_ready).await
    }
}

/// Whether no condition says whether a range is ready.
fn lacks_readiness(range: &Object) -> bool {
    let ready = conditions::find(range, "Ready");
    ready.is_none_or(|condition| condition.status().text() == "Unknown")
}
