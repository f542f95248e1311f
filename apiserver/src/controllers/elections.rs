//! Coordinated elections: who becomes the leader among the processes that name themselves as candidates.
//!
//! ```text
//! LeaseCandidates, Leases ─ observed ─ Queue ─ rules: the next step ─┬─ candidates are asked whether they are alive
//!                                                                    └─ the Lease gets its holder, or a preferred one
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `observed` | the candidates of each Lease, and the Leases whose election is to be looked at |
//! | `rules` | the next step of an election, from its candidates and its Lease |
//!
//! No state is kept between steps: each reads the candidates and the Lease anew, as the informers have them; what it writes
//! is refused if that was not the present state. As long as a Lease has candidates, it is looked
//! at every five seconds, because the end of its holder changes no object. Servers over the same store agree by a Lease on which
//! of them elects. A candidate that has not been heard of for half an hour is deleted when its election is looked at.
//!
//! Kubernetes concept: `pkg/controlplane/controller/leaderelection`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use registry_core::Resource as _;
use registry_core::api::clock::Clock;
use registry_core::api::{StatusError, time};
use registry_core::registry::{InformerTask, InstalledApi, Synced};
use resources::api::coordination::leasecandidates::LeaseCandidates;
use resources::api::coordination::leases::Leases;
use resources::post_start::PostStartHook;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::api_client::leadership::{Leadership, LeadershipTimes};
use crate::audit::Auditor;
use crate::filters::Dispatch;

use super::client::{Client, Failure, Propagation};
use super::metadata::{Metadata, set};
use super::queue::{Outcome, Queue};

mod observed;
mod rules;

use observed::ObservedElections;
use rules::{Candidate, LeaseKey, LeaseState, Step, is_expired};

/// The Lease by which servers agree on which of them elects.
const LEASE: (&str, &str) = ("kube-system", "leader-election-controller");
/// Time after which an election is looked at again.
const PERIOD: Duration = Duration::from_secs(5);
/// Maximum number of elections that are worked on at the same time.
const WORKERS: usize = 8;
/// The duration of a Lease whose holder was elected just now, and has not renewed it yet.
const ELECTED_SECONDS: u32 = 5;

/// Elects the leaders of Leases that have candidates.
pub(crate) struct Elections {
    client: Client,
    observed: Arc<ObservedElections>,
    times: LeadershipTimes,
    clock: Clock,
}

/// The health check of elections, which waits until the candidates and the Leases are known.
pub(crate) struct ElectionHook([Synced; 2]);

// === impl ElectionHook ===

#[async_trait]
impl PostStartHook for ElectionHook {
    fn name(&self) -> &'static str {
        "start-kube-apiserver-coordinated-leader-election-controller"
    }

    async fn run(&self) -> Result<(), StatusError> {
        for synced in &self.0 {
            synced.wait().await;
        }
        Ok(())
    }
}

// === impl Elections ===

impl Elections {
    /// Creates it, the informers that it needs, and the hook that waits for them; `None` if candidates are not served.
    pub(crate) fn new<D: Dispatch>(
        handler: Arc<D>,
        auditor: Option<Arc<Auditor>>,
        times: LeadershipTimes,
        clock: Clock,
        installed: &InstalledApi,
    ) -> Option<(Self, [InformerTask; 2], ElectionHook)> {
        let (candidates, leases) = (installed.store(LeaseCandidates::TYPE)?, installed.store(Leases::TYPE)?);
        let observed = Arc::new(ObservedElections::default());
        let informers = observed.informers(candidates, leases);
        let hook = ElectionHook(informers.each_ref().map(InformerTask::synced));
        Some((Self { client: Client::for_server(handler, auditor), observed, times, clock }, informers, hook))
    }

    /// Elects leaders whenever this server is the one that does, until the shutdown begins.
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let client = ApiClient::new(self.client.server().clone());
        let (namespace, name) = LEASE;
        let work = async |ends: CancellationToken| {
            ends.run_until_cancelled(self.elect()).await;
        };
        Leadership::new(&client, namespace, name).with_times(self.times).run(shutdown, work).await;
    }

    /// Elects leaders until it is dropped.
    async fn elect(&self) {
        let queue = Arc::new(Queue::new());
        self.observed.note_in(&queue);
        queue.run(WORKERS, |lease| self.work(lease)).await;
    }

    async fn work(&self, lease: LeaseKey) -> Outcome {
        match self.step(&lease).await {
            Ok(true) => Outcome::Again(PERIOD),
            Ok(false) => Outcome::Done,
            Err(failure) => {
                tracing::debug!(
                    namespace = lease.0,
                    lease = lease.1,
                    "the election has not advanced: {failure}"
                );
                Outcome::Again(PERIOD)
            }
        }
    }

    /// Advances an election. Returns whether it has candidates.
    async fn step(&self, lease: &LeaseKey) -> Result<bool, Failure> {
        let (namespace, name) = lease;
        let now = self.clock.now();
        let (expired, candidates): (Vec<_>, Vec<_>) =
            self.observed.candidates(lease).into_iter().partition(|candidate| candidate.is_expired(now));
        let (obsolete, silent): (Vec<_>, Vec<_>) =
            expired.into_iter().partition(|candidate| candidate.is_obsolete(now));
        for candidate in obsolete {
            self.remove(namespace, &candidate, now).await?;
        }
        if candidates.is_empty() {
            return Ok(!silent.is_empty());
        }
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        let existing = self.observed.lease(lease).map(|lease| serde_json::from_slice(lease.json()));
        let existing: Option<Value> = existing
            .transpose()
            .map_err(|error| Failure::none(format!("the Lease cannot be read: {error}")))?;
        let state = existing.as_ref().map(LeaseState::read);
        match rules::next_step(&candidates, state.as_ref(), now) {
            Ok(Step::Wait) => {}
            Ok(Step::Ask(asked)) => {
                for candidate in asked {
                    self.ask(namespace, candidate, now).await?;
                }
            }
            Ok(Step::Elect { strategy, holder }) => {
                self.write(&path, lease, existing, strategy, holder).await?;
            }
            Err(undecided) => {
                tracing::warn!(namespace, lease = name, "no leader can be elected: {undecided}");
            }
        }
        Ok(true)
    }

    /// Asks a candidate whether it is alive.
    async fn ask(&self, namespace: &str, candidate: &Candidate, now: Timestamp) -> Result<(), Failure> {
        let path = candidate_path(namespace, &candidate.name);
        let Some(mut object) = self.client.get(&path).await? else { return Ok(()) };
        if let Some(spec) = object.get_mut("spec") {
            set(spec, "pingTime", time::format_microseconds(now).into());
        }
        self.client.replace(&path, &object).await.map(drop)
    }

    /// Removes a candidate, unless it was heard of after all.
    async fn remove(&self, namespace: &str, candidate: &Candidate, now: Timestamp) -> Result<(), Failure> {
        let path = candidate_path(namespace, &candidate.name);
        let Some(object) = self.client.get(&path).await? else { return Ok(()) };
        let text = |field: &str| {
            let value = object.get("metadata").and_then(|metadata| metadata.get(field));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        if Candidate::read(&object).is_none_or(|present| !present.is_obsolete(now)) {
            return Ok(());
        }
        let (uid, resource_version) = (text("uid"), text("resourceVersion"));
        let state = Metadata { uid, resource_version, ..Metadata::default() };
        match self.client.delete(&path, &state, Propagation::Background).await {
            Err(failure) if !failure.is_not_found() && !failure.is_conflict() => Err(failure),
            _ => Ok(()),
        }
    }

    /// Writes the result of an election.
    async fn write(
        &self,
        path: &str,
        (namespace, name): &LeaseKey,
        existing: Option<Value>,
        strategy: &str,
        holder: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(existing) = existing else {
            let mut lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"namespace": namespace, "name": name}, "spec": {},
            });
            elect(&mut lease, strategy, holder, self.clock.now());
            self.client.create(path, &lease).await?;
            tracing::info!(namespace, lease = name, holder, "a Lease was created for its elected leader");
            return Ok(());
        };
        let mut lease = existing.clone();
        elect(&mut lease, strategy, holder, self.clock.now());
        if lease == existing {
            return Ok(());
        }
        self.client.replace(&format!("{path}/{name}"), &lease).await?;
        tracing::info!(namespace, lease = name, holder, "a leader was elected");
        Ok(())
    }
}

fn candidate_path(namespace: &str, name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1beta1/namespaces/{namespace}/leasecandidates/{name}")
}

/// Notes the result of an election in its Lease. A holder that renews the Lease is only told that another one is preferred, and
/// gives it up itself. Without an elected holder, which other strategies choose elsewhere, only the strategy is noted.
fn elect(lease: &mut Value, strategy: &str, elected: Option<&str>, now: Timestamp) {
    let state = LeaseState::read(lease);
    let Some(lease) = lease.as_object_mut() else { return };
    let spec = lease.entry("spec").or_insert_with(|| json!({}));
    set(spec, "strategy", strategy.into());
    let is_new = spec.get("renewTime").is_none();
    let renewed = time::format_microseconds(now);
    let Some(elected) = elected else {
        if is_new {
            set(spec, "leaseDurationSeconds", ELECTED_SECONDS.into());
            set(spec, "renewTime", renewed.into());
        }
        return;
    };
    let holder = state.holder.as_deref().unwrap_or_default();
    if holder.is_empty() || (is_expired(&state, now) && holder != elected) {
        set(spec, "holderIdentity", elected.into());
        set(spec, "renewTime", renewed.into());
        set(spec, "leaseDurationSeconds", ELECTED_SECONDS.into());
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("preferredHolder");
            spec.remove("acquireTime");
        }
    } else if holder != elected {
        set(spec, "preferredHolder", elected.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRATEGY: &str = "OldestEmulationVersion";

    #[test]
    fn a_holder_is_replaced_only_if_it_does_not_renew_its_lease() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let after = |spec: Value, elected| {
            let mut lease = json!({ "spec": spec });
            elect(&mut lease, STRATEGY, elected, now);
            lease["spec"].take()
        };
        let new = json!({
            "strategy": STRATEGY, "holderIdentity": "a", "leaseDurationSeconds": 5,
            "renewTime": "2026-01-01T00:01:00.000000Z",
        });
        assert_eq!(after(json!({}), Some("a")), new);
        let mut bare = json!({});
        elect(&mut bare, STRATEGY, Some("a"), now);
        assert_eq!(bare["spec"], new);
        let held = json!({
            "holderIdentity": "b", "leaseDurationSeconds": 60, "renewTime": "2026-01-01T00:00:30.000000Z",
            "acquireTime": "2026-01-01T00:00:00.000000Z", "preferredHolder": "c",
        });
        let preferred = after(held.clone(), Some("a"));
        assert_eq!((&preferred["holderIdentity"], &preferred["preferredHolder"]), (&json!("b"), &json!("a")));
        assert_eq!(after(held.clone(), Some("b"))["preferredHolder"], "c", "it is the best already");
        let mut expired = held.clone();
        expired["leaseDurationSeconds"] = 10.into();
        assert_eq!(after(expired, Some("a")), new, "nothing of the former holder is left");
        let mut given_up = held.clone();
        given_up["holderIdentity"] = "".into();
        assert_eq!(after(given_up, Some("a")), new);
        let foreign = after(held, None);
        assert_eq!((&foreign["holderIdentity"], &foreign["strategy"]), (&json!("b"), &json!(STRATEGY)));
        let unheld = after(json!({}), None);
        assert_eq!(unheld.get("holderIdentity"), None, "another component chooses");
    }
}
