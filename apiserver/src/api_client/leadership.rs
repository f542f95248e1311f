//! Work that only one of several servers does at a time: whoever holds a Lease.
//!
//! The holder renews it; if it dies, another takes it over after [`DURATION`]. A server that stops gives it up, so that the next
//! one begins at once.
//!
//! Kubernetes concept: `k8s.io/client-go/tools/leaderelection`.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{ApiClient, ClientError, TypedClient};

/// Time for which a Lease is held without being renewed.
pub const DURATION: Duration = Duration::from_secs(15);

/// The times of a leadership.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeadershipTimes {
    /// Time for which a Lease is held without being renewed, in whole seconds.
    pub(crate) duration: Duration,
    /// Time after the last renewal at which a holder stops its work: before others take it over.
    pub(crate) renew_deadline: Duration,
    /// Time between two attempts to renew a Lease, or to take it over.
    pub(crate) period: Duration,
}

/// A Lease by which servers agree on which of them does some work.
pub struct Leadership {
    leases: TypedClient<Lease>,
    namespace: String,
    name: String,
    identity: String,
    /// The last seen state of another holder's Lease, and when it was seen first: clocks of other machines do not count.
    observed: Option<(Option<String>, Instant)>,
    times: LeadershipTimes,
}

// === impl LeadershipTimes ===

impl Default for LeadershipTimes {
    fn default() -> Self {
        Self { duration: DURATION, renew_deadline: Duration::from_secs(10), period: Duration::from_secs(2) }
    }
}

// === impl Leadership ===

impl Leadership {
    /// Creates the leadership of a Lease. Nothing is written yet.
    pub fn new(client: &ApiClient, namespace: &str, name: &str) -> Self {
        let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "server".to_owned());
        Self {
            leases: client.in_namespace(namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: format!("{host}_{}", uuid::Uuid::new_v4()),
            observed: None,
            times: LeadershipTimes::default(),
        }
    }

    /// Sets the times.
    #[must_use]
    pub(crate) fn with_times(self, times: LeadershipTimes) -> Self {
        Self { times, ..self }
    }

    /// Returns by which name this server holds the Lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Does the work whenever this server holds the Lease, until `stopping` is cancelled. The work gets a token that is
    /// cancelled when it has to end, because the Lease is lost or the server stops, and has to end soon then.
    pub async fn run<F>(mut self, stopping: CancellationToken, work: impl Fn(CancellationToken) -> F)
    where
        F: Future<Output = ()>,
    {
        while !stopping.is_cancelled() {
            if !self.try_hold().await {
                stopping.run_until_cancelled(tokio::time::sleep(self.times.period)).await;
                continue;
            }
            tracing::info!(lease = self.name, "this server leads");
            let ends = stopping.child_token();
            let working = work(ends.clone());
            let mut working = std::pin::pin!(working);
            tokio::select! {
                () = &mut working => {}
                () = self.hold(&ends) => {
                    ends.cancel();
                    working.await;
                }
            }
            self.release().await;
            stopping.run_until_cancelled(tokio::time::sleep(self.times.period)).await;
        }
    }

    /// Renews the Lease until that fails for too long, or until `ends` is cancelled.
    async fn hold(&mut self, ends: &CancellationToken) {
        let mut renewed = Instant::now();
        while renewed.elapsed() < self.times.renew_deadline {
            if ends.run_until_cancelled(tokio::time::sleep(self.times.period)).await.is_none() {
                return;
            }
            let left = self.times.renew_deadline.saturating_sub(renewed.elapsed());
            if matches!(tokio::time::timeout(left, self.try_hold()).await, Ok(true)) {
                renewed = Instant::now();
            }
        }
        tracing::warn!(lease = self.name, "this server no longer leads");
    }

    /// Takes the Lease, or renews it. Returns whether this server holds it now.
    async fn try_hold(&mut self) -> bool {
        match self.hold_once().await {
            Ok(is_held) => is_held,
            Err(failure) => {
                if !failure.is_conflict() && !failure.is_already_exists() {
                    tracing::warn!(lease = self.name, "cannot write the Lease: {failure}");
                }
                false
            }
        }
    }

    async fn hold_once(&mut self) -> Result<bool, ClientError> {
        let Some(mut lease) = self.leases.get(&self.name).await? else {
            let metadata = ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            };
            let spec = Some(self.held(None));
            return self.leases.create(&Lease { metadata, spec }).await.map(|_| true);
        };
        if !self.may_take(&lease) {
            return Ok(false);
        }
        lease.spec = Some(self.held(lease.spec.as_ref()));
        self.leases.replace(&self.name, &lease).await.map(|_| true)
    }

    /// Whether this server holds a Lease, or nobody does any longer.
    fn may_take(&mut self, lease: &Lease) -> bool {
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        if holder.is_none_or(|holder| holder.is_empty() || holder == self.identity) {
            return true;
        }
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = seconds.map_or(self.times.duration, Duration::from_secs);
        let state = &lease.metadata.resource_version;
        match &self.observed {
            Some((seen, since)) if seen == state => since.elapsed() > lasts,
            _ => {
                self.observed = Some((state.clone(), Instant::now()));
                false
            }
        }
    }

    /// Returns the Lease as it is while this server holds it.
    fn held(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        let holder = before.and_then(|spec| spec.holder_identity.as_ref());
        let is_new = holder != Some(&self.identity);
        let transitions = before.and_then(|spec| spec.lease_transitions);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.times.duration.as_secs()).ok(),
            acquire_time: if is_new {
                now.clone()
            } else {
                before.and_then(|spec| spec.acquire_time.clone())
            },
            renew_time: now,
            lease_transitions: match (before, is_new) {
                (None, _) => Some(0),
                (Some(_), true) => Some(transitions.map_or(1, |number| number.saturating_add(1))),
                (Some(_), false) => transitions,
            },
            ..LeaseSpec::default()
        }
    }

    /// Gives the Lease up, if this server still holds it.
    async fn release(&mut self) {
        let released = async {
            let Some(mut lease) = self.leases.get(&self.name).await? else { return Ok(()) };
            let Some(spec) = &mut lease.spec else { return Ok(()) };
            if spec.holder_identity.as_ref() != Some(&self.identity) {
                return Ok(());
            }
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            self.leases.replace(&self.name, &lease).await.map(drop)
        };
        if let Ok(Err(failure)) = tokio::time::timeout(self.times.period, released).await {
            tracing::warn!(lease = self.name, "cannot give up the Lease: {failure}");
        }
    }
}
