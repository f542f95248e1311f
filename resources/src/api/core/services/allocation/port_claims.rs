//! Claims of node ports that several servers on one store see: a key for each port, which names the service. A key is created
//! before a service gets the port, and removed after the service gives it up.
//!
//! A claim that no service stands for is taken over: its server ended between the claim and the write of the service, or before the
//! removal. An unreadable value is such a claim. A service that got its port from a server without claims has none; that it has the
//! port is known from the services.
//!
//! Kubernetes concept: `pkg/registry/core/service/portallocator`, which has one object for all ports.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use registry_core::api::StatusError;
use registry_core::registry::Store;
use registry_core::storage::Revision;
use registry_core::storage::mvcc::{Committed, KeyValue, Mvcc, MvccError};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::allocations::AllocationSet;
use super::owner::Owner;
use crate::api::core::services::ranges::NodePort;
use crate::support::system_writer;

/// The part of the keys after the prefix of the store.
const KEYS: &str = "servicenodeports";
/// Time after which a claim that this server has seen, and whose service it has not, is taken over: the service may be about to be
/// written.
const GRACE: Duration = Duration::from_secs(10);
/// Maximum time for which a younger claim without its service is waited for.
const REMOVAL_WAIT: Duration = Duration::from_secs(3);
/// Time between two looks at it.
const PAUSE: Duration = Duration::from_millis(20);

/// A store that several servers use, in which they claim node ports.
#[derive(Clone)]
pub struct SharedStore {
    /// The engine.
    pub engine: Arc<dyn Mvcc>,
    /// The prefix of all keys, without a slash at its end.
    pub prefix: String,
}

/// The claims of node ports.
pub(super) struct PortClaims {
    shared: SharedStore,
    services: Weak<Store>,
    /// The revisions of the claims without a service, and when they were first seen: clocks of other machines do not count. At most
    /// one for each port.
    pending: Mutex<HashMap<NodePort, (Revision, Instant)>>,
}

/// The value of a key, in the form of an object.
#[derive(Serialize, Deserialize)]
struct ClaimValue {
    metadata: ClaimMetadata,
    service: Owner,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimMetadata {
    name: String,
    creation_timestamp: Timestamp,
}

/// The relation of a claim to the services.
enum ClaimState {
    /// The service has the port.
    Held,
    /// The service may be about to get the port.
    Pending,
    /// Nobody stands for the claim.
    Abandoned,
}

// === impl PortClaims ===

impl PortClaims {
    pub(super) fn new(shared: SharedStore, services: Weak<Store>) -> Self {
        Self { shared, services, pending: Mutex::default() }
    }

    /// Claims a port for a service. Returns the revision of the claim; `None` if another service has the port.
    ///
    /// # Errors
    /// Fails if the store does. The claim may have been made; then it is taken over later.
    pub(super) async fn claim(&self, port: NodePort, owner: &Owner) -> Result<Option<Revision>, StatusError> {
        let began = Instant::now();
        let mut expected: Revision = 0;
        loop {
            let value = encoded(port, owner)?;
            let written = self.shared.engine.put_if(&self.key(port), expected, value, None).await;
            let present = match written.map_err(|error| unavailable(&error))? {
                Committed::At(revision) => return Ok(Some(revision)),
                Committed::ConditionFailed(got) => got.key_value,
            };
            let Some(present) = present else {
                expected = 0;
                continue;
            };
            match self.state(port, &present, owner).await? {
                ClaimState::Held => return Ok(None),
                ClaimState::Abandoned => {
                    self.pending.lock().remove(&port);
                    expected = present.mod_revision;
                }
                ClaimState::Pending if began.elapsed() >= REMOVAL_WAIT => return Ok(None),
                ClaimState::Pending => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Whether nobody has claimed a port.
    pub(super) async fn is_free(&self, port: NodePort) -> Result<bool, StatusError> {
        let got = self.shared.engine.get(&self.key(port)).await.map_err(|error| unavailable(&error))?;
        Ok(got.key_value.is_none())
    }

    /// Removes, in the background, the claims of ports that a service had. Claims that are renewed from now on stay.
    pub(super) fn release(self: &Arc<Self>, ports: impl IntoIterator<Item = NodePort>, owner: &Owner) {
        let now = Timestamp::now();
        for port in ports {
            let (claims, owner) = (self.clone(), owner.clone());
            remove_in_background(port, async move {
                let got = claims.shared.engine.get(&claims.key(port)).await;
                let present = got.map_err(|error| unavailable(&error))?.key_value;
                let is_own =
                    |present: &KeyValue| decoded(present).is_some_and(|claim| claim.is_of(&owner, now));
                match present.filter(is_own) {
                    Some(present) => claims.remove(port, &owner, present.mod_revision).await,
                    None => Ok(()),
                }
            });
        }
    }

    /// Removes, in the background, claims that were made at these revisions, for a write that did not take place. Claims that are
    /// renewed meanwhile stay.
    pub(super) fn withdraw(
        self: &Arc<Self>,
        made: impl IntoIterator<Item = (NodePort, Revision)>,
        owner: &Owner,
    ) {
        for (port, revision) in made {
            let (claims, owner) = (self.clone(), owner.clone());
            remove_in_background(port, async move { claims.remove(port, &owner, revision).await });
        }
    }

    /// Removes a claim, unless the service has the port: a write that was reported as failed, or whose request was abandoned, may
    /// have been committed.
    async fn remove(&self, port: NodePort, owner: &Owner, revision: Revision) -> Result<(), StatusError> {
        if self.has_port(owner, port).await? {
            return Ok(());
        }
        let removed = self.shared.engine.delete_if(&self.key(port), revision).await;
        removed.map(drop).map_err(|error| unavailable(&error))
    }

    /// Returns the state of a claim, for a service that wants the port.
    async fn state(
        &self,
        port: NodePort,
        present: &KeyValue,
        wanted_by: &Owner,
    ) -> Result<ClaimState, StatusError> {
        let Some(claim) = decoded(present) else { return Ok(ClaimState::Abandoned) };
        if *wanted_by == claim.service {
            return Ok(ClaimState::Abandoned);
        }
        if self.has_port(&claim.service, port).await? {
            return Ok(ClaimState::Held);
        }
        let is_old = self.pending_time(port, present.mod_revision) > GRACE;
        Ok(if is_old { ClaimState::Abandoned } else { ClaimState::Pending })
    }

    /// Returns for how long this server knows that a claim has no service.
    fn pending_time(&self, port: NodePort, revision: Revision) -> Duration {
        let mut pending = self.pending.lock();
        let (seen, since) = pending.entry(port).or_insert_with(|| (revision, Instant::now()));
        if *seen != revision {
            (*seen, *since) = (revision, Instant::now());
        }
        since.elapsed()
    }

    async fn has_port(&self, owner: &Owner, port: NodePort) -> Result<bool, StatusError> {
        // Unknown is not "no": the service may have been stored with the port.
        let gone = || StatusError::internal("the server has ended");
        let services = self.services.upgrade().ok_or_else(gone)?;
        let service = system_writer::get_newest(&services, &owner.namespace, &owner.name).await?;
        Ok(service.is_some_and(|service| AllocationSet::from_service(&service).node_ports.contains(&port)))
    }

    fn key(&self, port: NodePort) -> String {
        format!("{}/{KEYS}/{port}", self.shared.prefix)
    }
}

// === impl ClaimValue ===

impl ClaimValue {
    /// Whether it was made for a service, up to a time.
    fn is_of(&self, owner: &Owner, until: Timestamp) -> bool {
        self.service == *owner && self.metadata.creation_timestamp <= until
    }
}

/// Removes the claim of a port by this work. Without a runtime the process is ending; the next claim of the port takes over what is
/// left.
fn remove_in_background(
    port: NodePort,
    work: impl Future<Output = Result<(), StatusError>> + Send + 'static,
) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move {
        if let Err(failure) = work.await {
            tracing::warn!(
                port,
                "cannot remove the claim of a node port, the next one takes it over: {failure}"
            );
        }
    });
}

fn encoded(port: NodePort, owner: &Owner) -> Result<Bytes, StatusError> {
    let metadata = ClaimMetadata { name: port.to_string(), creation_timestamp: Timestamp::now() };
    let value = ClaimValue { metadata, service: owner.clone() };
    serde_json::to_vec(&value).map(Bytes::from).map_err(StatusError::internal)
}

fn decoded(present: &KeyValue) -> Option<ClaimValue> {
    serde_json::from_slice(&present.value).ok()
}

fn unavailable(error: &MvccError) -> StatusError {
    StatusError::internal(format!("cannot claim a node port: {error}"))
}

#[cfg(test)]
mod tests {
    use registry_core::registry::InstalledApi;
    use registry_core::resource::Resource as _;
    use registry_core::storage::embedded::Embedded;

    use super::*;
    use crate::api::core::services::Services;
    use crate::testing::installed_over;

    const PORT: NodePort = 30_000;

    fn owner(name: &str) -> Owner {
        Owner { namespace: "default".to_owned(), name: name.to_owned() }
    }

    fn claims() -> (InstalledApi, Arc<Embedded>, PortClaims) {
        let engine = Embedded::in_memory();
        let installed = installed_over(engine.clone(), &["services"]);
        let services = Arc::downgrade(&installed.store(Services::TYPE).unwrap());
        let shared = SharedStore { engine: engine.clone(), prefix: "/registry".to_owned() };
        (installed, engine, PortClaims::new(shared, services))
    }

    /// Claims the port as another server does whose clock has this time.
    async fn claim_elsewhere(
        engine: &Embedded,
        claims: &PortClaims,
        expected: Revision,
        time: &str,
    ) -> Revision {
        let metadata = ClaimMetadata { name: PORT.to_string(), creation_timestamp: time.parse().unwrap() };
        let value = serde_json::to_vec(&ClaimValue { metadata, service: owner("other") }).unwrap();
        let written = engine.put_if(&claims.key(PORT), expected, value.into(), None).await.unwrap();
        let Committed::At(revision) = written else { panic!("another claim: {written:?}") };
        revision
    }

    /// Lets this time pass for what was seen.
    fn pass(claims: &PortClaims, time: Duration) {
        for (_, since) in claims.pending.lock().values_mut() {
            *since = since.checked_sub(time).unwrap();
        }
    }

    #[tokio::test]
    async fn a_claim_is_waited_for_whatever_time_its_server_has() {
        for time in ["2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"] {
            let (_installed, engine, claims) = claims();
            let first = claim_elsewhere(&engine, &claims, 0, time).await;
            assert_eq!(
                claims.claim(PORT, &owner("a")).await.unwrap(),
                None,
                "its service may be written yet"
            );
            pass(&claims, GRACE);
            // It is another attempt, which begins now.
            claim_elsewhere(&engine, &claims, first, time).await;
            assert_eq!(claims.claim(PORT, &owner("a")).await.unwrap(), None);
            pass(&claims, GRACE);
            assert!(claims.claim(PORT, &owner("a")).await.unwrap().is_some(), "no service came");
        }
    }

    #[tokio::test]
    async fn a_claim_of_a_name_that_no_service_can_have_is_given_back_or_taken_over() {
        let (_installed, engine, claims) = claims();
        for name in ["", "a/b", ".."] {
            let revision = claims.claim(PORT, &owner(name)).await.unwrap().unwrap();
            claims.remove(PORT, &owner(name), revision).await.unwrap();
            assert!(claims.is_free(PORT).await.unwrap(), "{name:?}");

            // Its server ended before it gave it back.
            claims.claim(PORT, &owner(name)).await.unwrap().unwrap();
            let left = engine.get(&claims.key(PORT)).await.unwrap().key_value.unwrap();
            let state = claims.state(PORT, &left, &owner("a")).await.unwrap();
            assert!(matches!(state, ClaimState::Pending), "{name:?}: its service may be written yet");
            pass(&claims, GRACE);
            let taken_over = claims.claim(PORT, &owner("a")).await.unwrap().unwrap();
            claims.remove(PORT, &owner("a"), taken_over).await.unwrap();
        }
    }
}
