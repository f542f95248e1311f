//! Metrics of the issuers of JWTs.
//!
//! Kubernetes concept: `k8s.io/apiserver/plugin/pkg/authenticator/token/oidc`.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{HistogramVec, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError, ReloadMetrics, content_hash, now_seconds};

use super::names;

/// Metrics of the issuers of JWTs, which are labelled by the hash of their URL.
#[derive(Clone)]
pub struct JwtMetrics {
    latencies: HistogramVec,
    fetch_times: IntGaugeVec,
    key_sets: IntGaugeVec,
    reloads: ReloadMetrics,
    server_id_hash: Arc<str>,
}

/// The metrics of one issuer.
#[derive(Clone)]
pub(crate) struct IssuerMetrics {
    all: JwtMetrics,
    issuer: String,
}

// === impl JwtMetrics ===

impl JwtMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            latencies: families.histogram(&names::JWT_LATENCY)?,
            fetch_times: families.gauge(&names::JWKS_FETCH_TIME)?,
            key_sets: families.gauge(&names::JWKS_INFO)?,
            reloads: ReloadMetrics::new(
                families,
                [
                    &names::AUTHENTICATION_RELOADS,
                    &names::AUTHENTICATION_RELOAD_TIME,
                    &names::AUTHENTICATION_CONFIG_INFO,
                ],
            )?,
            server_id_hash: families.server_id_hash(),
        })
    }

    /// Returns the metrics of the configuration file.
    pub(crate) fn reloads(&self) -> &ReloadMetrics {
        &self.reloads
    }

    /// Returns the metrics of an issuer.
    pub(crate) fn issuer(&self, url: &str) -> IssuerMetrics {
        IssuerMetrics { all: self.clone(), issuer: content_hash(url.as_bytes()) }
    }
}

// === impl IssuerMetrics ===

impl IssuerMetrics {
    /// Counts a token of the issuer.
    pub(crate) fn authenticated(&self, is_success: bool, time: Duration) {
        let labels = [result(is_success), &self.issuer];
        self.all.latencies.with_label_values(&labels).observe(time.as_secs_f64());
    }

    /// Notes that keys were fetched; `previous` is the hash of the set before.
    pub(crate) fn fetched(&self, key_set: &[u8], previous: &mut String) {
        self.note_fetch(true);
        let own = content_hash(key_set);
        if own != *previous {
            self.forget_set(previous);
            self.all.key_sets.with_label_values(&[&*self.issuer, self.server_id_hash(), &own]).set(1);
            *previous = own;
        }
    }

    /// Notes that keys could not be fetched.
    pub(crate) fn not_fetched(&self) {
        self.note_fetch(false);
    }

    /// Removes the metrics of an issuer that is no longer configured; `key_set` is the hash of its last one.
    pub(crate) fn forget(&self, key_set: &str) {
        for is_success in [true, false] {
            // It may never have been set.
            let labels = [result(is_success), &self.issuer, self.server_id_hash()];
            let _ = self.all.fetch_times.remove_label_values(&labels);
        }
        self.forget_set(key_set);
    }

    fn forget_set(&self, key_set: &str) {
        // There may be none.
        let _ = self.all.key_sets.remove_label_values(&[&*self.issuer, self.server_id_hash(), key_set]);
    }

    fn note_fetch(&self, is_success: bool) {
        let labels = [result(is_success), &self.issuer, self.server_id_hash()];
        self.all.fetch_times.with_label_values(&labels).set(now_seconds());
    }

    fn server_id_hash(&self) -> &str {
        &self.all.server_id_hash
    }
}

const fn result(is_success: bool) -> &'static str {
    if is_success { "success" } else { "failure" }
}
