//! Metrics of a configuration file that is read again when it changes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{IntCounterVec, IntGaugeVec};
use ring::digest::{SHA256, digest};

use super::families::{Definition, Families};
use super::text::MetricsError;

/// The metrics of a configuration file.
#[derive(Clone)]
pub struct ReloadMetrics {
    reloads: IntCounterVec,
    times: IntGaugeVec,
    content: IntGaugeVec,
    server_id_hash: Arc<str>,
}

// === impl ReloadMetrics ===

impl ReloadMetrics {
    /// Registers the number of reloads, the time of the last one, and the content in force.
    ///
    /// # Errors
    /// Fails if one of them is registered already.
    pub fn new(
        families: &mut Families,
        [reloads, times, content]: [&Definition; 3],
    ) -> Result<Self, MetricsError> {
        Ok(Self {
            reloads: families.counter(reloads)?,
            times: families.gauge(times)?,
            content: families.gauge(content)?,
            server_id_hash: families.server_id_hash(),
        })
    }

    /// Notes the content in force.
    pub fn configured(&self, content: &[u8]) {
        self.content.reset();
        self.content.with_label_values(&[&*self.server_id_hash, &content_hash(content)]).set(1);
    }

    /// Counts a reading of a changed content.
    pub fn reloaded(&self, is_success: bool) {
        let labels = [if is_success { "success" } else { "failure" }, &*self.server_id_hash];
        self.reloads.with_label_values(&labels).inc();
        self.times.with_label_values(&labels).set(now_seconds());
    }
}

/// Returns the hash of a content as labels have it.
pub fn content_hash(content: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in digest(&SHA256, content).as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the time as metrics have it: in seconds since 1970.
pub fn now_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
