//! The ConfigMap with the time since which the use of tokens in Secrets is tracked: controllers remove no tokens before
//! they have been tracked for long enough.
//!
//! Kubernetes concept: `pkg/controlplane/controller/legacytokentracking`.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use resource_views::core::v1::ConfigMap;
use serde_json::json;

use super::{CONTROLLER_PERIOD, PostStartHook};
use crate::api::core::configmaps::ConfigMaps;
use crate::support::system_writer::SystemWriter;

const NAME: &str = "kube-apiserver-legacy-service-account-token-tracking";
const NAMESPACE: &str = "kube-system";
const SINCE: [&str; 2] = ["data", "since"];

/// The hook.
pub(super) struct TokenTracking {
    config_maps: SystemWriter,
}

// === impl TokenTracking ===

impl TokenTracking {
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        SystemWriter::for_resource::<ConfigMaps>(installed).map(|config_maps| Self { config_maps })
    }
}

#[async_trait]
impl PostStartHook for TokenTracking {
    fn name(&self) -> &'static str {
        "start-legacy-token-tracking-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(CONTROLLER_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date().to_string();
        let wanted =
            json!({ "metadata": { "name": NAME, "namespace": NAMESPACE }, "data": { "since": today } });
        let wanted = Object::from_value(wanted).unwrap_or_default();
        self.config_maps
            .ensure_one(wanted, |present, _| {
                let since = ConfigMap(present).data().entry("since").text();
                since.parse::<Date>().is_err().then(|| {
                    let mut object = present.clone();
                    object.set(&SINCE, today.as_str().into());
                    object
                })
            })
            .await
    }
}
