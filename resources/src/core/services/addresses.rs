//! Addresses of services as objects: an IPAddress is made before a service has the address, and removed after it. Its
//! name is the address, so that only one service can have it, whichever server gave it.
//!
//! Kubernetes concept: `pkg/registry/core/service/ipallocator`, and the repair of what it leaves behind.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::InstalledApi;
use serde_json::json;

use crate::keeper::Keeper;
use crate::networking::ipaddresses::IPAddresses;

const FAMILY_LABEL: &str = "ipaddress.kubernetes.io/ip-family";
const MANAGED_BY_LABEL: &str = "ipaddress.kubernetes.io/managed-by";
const MANAGER: &str = "ipallocator.k8s.io";
/// How long the removal of an address is waited for by a service that gets it next: pauses, and how many.
const REMOVAL: (Duration, usize) = (Duration::from_millis(2), 500);
/// An address without a service that is younger than this may be of one that is just being made.
const GRACE: Duration = Duration::from_mins(1);

/// The IPAddress objects of services.
#[derive(Clone)]
pub(super) struct Addresses(Option<Arc<Shared>>);

struct Shared {
    keeper: Keeper,
    /// Those that are being removed.
    leaving: Mutex<HashSet<IpAddr>>,
}

/// Whose an address is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

// === impl Holder ===

impl Holder<'_> {
    /// Whether it is this service.
    pub(super) fn is(&self, service: &Object) -> bool {
        service.name() == self.name && service.namespace() == self.namespace
    }
}

// === impl Addresses ===

impl Addresses {
    /// Those of an installed API. Where IPAddresses are not served, nothing is made.
    pub(super) fn new(installed: &InstalledApi) -> Self {
        let keeper = Keeper::of::<IPAddresses>(installed);
        Self(keeper.map(|keeper| Arc::new(Shared { keeper, leaving: Mutex::default() })))
    }

    /// Makes the objects of a service's addresses: all of them, or none. Returns the one somebody else has.
    pub(super) async fn claim(
        &self,
        addresses: &HashSet<IpAddr>,
        holder: &Holder<'_>,
    ) -> Result<Option<IpAddr>, StatusError> {
        let Some(shared) = &self.0 else { return Ok(None) };
        let mut claimed = HashSet::new();
        for address in addresses {
            let outcome = shared.claim(*address, holder).await;
            match outcome {
                Ok(()) => {
                    claimed.insert(*address);
                }
                Err(failure) => {
                    self.release(&claimed);
                    let is_taken = failure.reason == Reason::AlreadyExists;
                    return if is_taken { Ok(Some(*address)) } else { Err(failure) };
                }
            }
        }
        Ok(None)
    }

    /// Removes the objects of addresses, beside whoever gives them up.
    pub(super) fn release(&self, addresses: &HashSet<IpAddr>) {
        let Some(shared) = &self.0 else { return };
        // Outside of a runtime nothing is served either; what stays behind is found by the next repair.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for address in addresses.iter().copied() {
            shared.leaving().insert(address);
            let shared = shared.clone();
            runtime.spawn(async move {
                if let Err(failure) = shared.keeper.remove("", &address.to_string()).await {
                    tracing::warn!("the address {address} stays taken until the next start: {failure}");
                }
                shared.leaving().remove(&address);
            });
        }
    }

    /// Removes what an allocator before left behind: addresses that are no service's any more.
    pub(super) async fn repair(&self, is_held: impl Fn(Holder<'_>) -> bool) -> Result<(), StatusError> {
        let Some(shared) = &self.0 else { return Ok(()) };
        for entry in shared.keeper.present().await?.all() {
            let object = shared.keeper.read(entry)?;
            let reference = |field| object.get_str(&["spec", "parentRef", field]).unwrap_or_default();
            let is_ours = object.labels().any(|label| label == (MANAGED_BY_LABEL, MANAGER));
            let holder = Holder { namespace: reference("namespace"), name: reference("name") };
            if is_ours && !is_held(holder) && is_older_than(&object, GRACE) {
                shared.keeper.remove("", object.name()).await?;
            }
        }
        Ok(())
    }
}

// === impl Shared ===

impl Shared {
    fn leaving(&self) -> std::sync::MutexGuard<'_, HashSet<IpAddr>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn claim(&self, address: IpAddr, holder: &Holder<'_>) -> Result<(), StatusError> {
        let object = json!({
            "metadata": {
                "name": address,
                "labels": {
                    FAMILY_LABEL: if address.is_ipv4() { "IPv4" } else { "IPv6" },
                    MANAGED_BY_LABEL: MANAGER,
                },
            },
            "spec": {
                "parentRef": { "resource": "services", "namespace": holder.namespace, "name": holder.name },
            },
        });
        let object = Object::from_value(object).unwrap_or_default();
        for _ in 0..REMOVAL.1 {
            match self.keeper.claim(object.clone()).await {
                Err(failure) if failure.reason == Reason::AlreadyExists => {
                    // The service that had it is gone already, and the object soon will be.
                    if !self.leaving().contains(&address) {
                        return self.keeper.claim(object).await;
                    }
                }
                outcome => return outcome,
            }
            tokio::time::sleep(REMOVAL.0).await;
        }
        self.keeper.claim(object).await
    }
}

fn is_older_than(object: &Object, age: Duration) -> bool {
    let created = object.get_str(&["metadata", "creationTimestamp"]).unwrap_or_default();
    let Ok(created) = created.parse::<jiff::Timestamp>() else { return false };
    jiff::Timestamp::now().duration_since(created).unsigned_abs() > age
}
