//! IPAddress objects of services. An object is created before a service gets the address, and removed after the service
//! gives it up. Its name is the address, so that only one service can have it, whichever server allocated it.
//!
//! Kubernetes concept: `pkg/registry/core/service/ipallocator`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use parking_lot::{Mutex, MutexGuard};
use registry_core::api::{Object, Reason, StatusError};
use registry_core::backoff::Backoff;
use registry_core::registry::Store;
use serde_json::json;
use tokio::sync::Notify;

use super::allocations::{AllocationSet, Allocations};
use super::owner::Owner;
use crate::api::core::services::ranges::family_of;
use crate::support::system_writer::{self, SystemWriter};

const FAMILY_LABEL: &str = "ipaddress.kubernetes.io/ip-family";
const MANAGED_BY_LABEL: &str = "ipaddress.kubernetes.io/managed-by";
const MANAGER: &str = "ipallocator.k8s.io";
/// Maximum time for which a claim waits until the object of the address's previous owner is removed.
const REMOVAL_WAIT: Duration = Duration::from_secs(1);
/// Initial pause after a failed removal.
const FIRST_REMOVAL_PAUSE: Duration = Duration::from_millis(20);
/// Maximum pause after a failed removal.
const MAX_REMOVAL_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of concurrent removals.
const CONCURRENT_REMOVALS: usize = 32;

/// The result of claiming an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// The object was created.
    Created,
    /// The object existed, from an earlier attempt for the same service.
    Existing,
    /// The object belongs to something else.
    OwnedByOther,
}

/// The IPAddress objects of services.
pub(super) struct AddressObjects {
    pub(super) system_writer: SystemWriter,
    services: Weak<Store>,
    allocations: Arc<Mutex<Allocations>>,
    removals: Mutex<Removals>,
    /// Notified when an object is removed.
    removed: Notify,
    /// Notified when a claim waits for a removal.
    wanted: Notify,
}

/// The objects to be removed.
#[derive(Default)]
struct Removals {
    pending: HashMap<IpAddr, Removal>,
    is_running: bool,
    /// Number of removals so far.
    count: u64,
}

#[derive(Clone)]
struct Removal {
    number: u64,
    owner: Owner,
    /// The uid of the object that was found first: a later object of the same name has another owner.
    uid: Option<String>,
}

// === impl AddressObjects ===

impl AddressObjects {
    pub(super) fn new(
        system_writer: SystemWriter,
        services: Weak<Store>,
        allocations: Arc<Mutex<Allocations>>,
    ) -> Self {
        Self {
            system_writer,
            services,
            allocations,
            removals: Mutex::default(),
            removed: Notify::new(),
            wanted: Notify::new(),
        }
    }

    /// Creates the object of an address that is not being removed.
    pub(super) async fn claim(&self, address: IpAddr, owner: &Owner) -> Result<Claimed, StatusError> {
        match self.system_writer.claim(object_of(address, owner)).await {
            Ok(()) => Ok(Claimed::Created),
            Err(failure) if failure.reason == Reason::AlreadyExists => {
                if !owner.is_own_service() {
                    return Ok(Claimed::OwnedByOther);
                }
                let present = self.system_writer.get_newest("", &address.to_string()).await?;
                let is_same =
                    present.and_then(|object| Owner::from_address_object(&object)).as_ref() == Some(owner);
                Ok(if is_same { Claimed::Existing } else { Claimed::OwnedByOther })
            }
            Err(failure) => Err(failure),
        }
    }

    /// Whether the object of this address is about to be removed.
    pub(super) fn is_being_removed(&self, address: IpAddr) -> bool {
        self.removals().pending.contains_key(&address)
    }

    /// Removes, in the background, the objects of addresses that a service does not have any more.
    pub(super) fn release(self: &Arc<Self>, addresses: impl IntoIterator<Item = IpAddr>, owner: &Owner) {
        // Without a runtime the process is ending; the repair of the next process finds what is left.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut removals = self.removals();
        for address in addresses {
            removals.count += 1;
            let removal = Removal { number: removals.count, owner: owner.clone(), uid: None };
            removals.pending.insert(address, removal);
        }
        if !removals.pending.is_empty() && !removals.is_running {
            removals.is_running = true;
            runtime.spawn(self.clone().remove_pending());
        }
    }

    /// Removes all pending objects, until none is left or the server is gone.
    async fn remove_pending(self: Arc<Self>) {
        let mut backoff = Backoff::new(FIRST_REMOVAL_PAUSE, MAX_REMOVAL_PAUSE);
        while let Some(pending) = self.next_removals() {
            let attempts = pending.into_iter().map(|(address, removal)| self.try_remove(address, removal));
            let outcomes: Vec<_> =
                stream::iter(attempts).buffer_unordered(CONCURRENT_REMOVALS).collect().await;
            let Some(failure) = outcomes.into_iter().find_map(Result::err) else {
                backoff.reset();
                continue;
            };
            if self.services.strong_count() == 0 {
                continue;
            }
            tracing::warn!("cannot remove the IPAddress objects of services, will retry: {failure}");
            let _ = tokio::time::timeout(backoff.next_pause(), self.wanted.notified()).await; // Either way it is tried again.
        }
    }

    /// Returns the pending removals; `None` if there are none, or the server is gone.
    fn next_removals(&self) -> Option<Vec<(IpAddr, Removal)>> {
        let mut removals = self.removals();
        if removals.pending.is_empty() || self.services.strong_count() == 0 {
            removals.is_running = false;
            return None;
        }
        Some(removals.pending.iter().map(|(address, removal)| (*address, removal.clone())).collect())
    }

    async fn try_remove(&self, address: IpAddr, removal: Removal) -> Result<(), StatusError> {
        let number = removal.number;
        self.remove(address, removal).await?;
        let mut removals = self.removals();
        if removals.pending.get(&address).is_some_and(|pending| pending.number == number) {
            removals.pending.remove(&address);
        }
        drop(removals);
        self.removed.notify_waiters();
        Ok(())
    }

    /// Removes the object of an address, unless the service has the address: a write that was reported as failed, or
    /// whose request was abandoned, may have been committed.
    async fn remove(&self, address: IpAddr, removal: Removal) -> Result<(), StatusError> {
        let Removal { number, owner, uid } = removal;
        if self.ensure_if_used(address, &owner).await? {
            return Ok(());
        }
        let Some(present) = self.system_writer.get_newest("", &address.to_string()).await? else {
            return Ok(());
        };
        let is_known = uid.is_none_or(|first| first == present.uid());
        if !is_known || Owner::from_address_object(&present).as_ref() != Some(&owner) {
            return Ok(());
        }
        if let Some(pending) =
            self.removals().pending.get_mut(&address).filter(|pending| pending.number == number)
        {
            pending.uid = Some(present.uid().to_owned());
        }
        self.system_writer.remove_exactly(present.name(), present.uid()).await?;
        // A write of the service that was still queued at the first read is committed by now.
        self.ensure_if_used(address, &owner).await.map(drop)
    }

    /// Whether the service has the address; if so, creates the object if it is missing.
    pub(super) async fn ensure_if_used(&self, address: IpAddr, owner: &Owner) -> Result<bool, StatusError> {
        // Unknown is not "no": the service may have been stored with the address.
        let gone = || StatusError::internal("the server has ended");
        let services = self.services.upgrade().ok_or_else(gone)?;
        let service = system_writer::get_newest(&services, &owner.namespace, &owner.name).await?;
        let uses = service.as_ref().map(AllocationSet::from_service).unwrap_or_default();
        if !uses.addresses.contains(&address) {
            return Ok(false);
        }
        self.system_writer.create(object_of(address, owner)).await?;
        self.allocations.lock().added(&uses, owner);
        Ok(true)
    }

    /// Waits until the object of an address that is being removed is gone.
    pub(super) async fn wait_until_removed(&self, address: IpAddr) -> Result<(), StatusError> {
        let removed = async {
            loop {
                let removed = self.removed.notified();
                tokio::pin!(removed);
                removed.as_mut().enable();
                if !self.is_being_removed(address) {
                    return;
                }
                self.wanted.notify_one();
                removed.await;
            }
        };
        let waited = tokio::time::timeout(REMOVAL_WAIT, removed).await;
        waited.map_err(|_| StatusError::timeout(format!("the address {address} is being given back"), 1))
    }

    fn removals(&self) -> MutexGuard<'_, Removals> {
        self.removals.lock()
    }
}

/// Whether an allocator manages an IPAddress object.
pub(super) fn is_managed(object: &Object) -> bool {
    object.label(MANAGED_BY_LABEL) == Some(MANAGER)
}

/// Whether an IPAddress object has the labels that the allocator sets.
pub(super) fn has_labels(object: &Object, address: IpAddr) -> bool {
    is_managed(object) && object.label(FAMILY_LABEL) == Some(family_of(address))
}

/// Returns the object of an address of a service.
pub(super) fn object_of(address: IpAddr, owner: &Owner) -> Object {
    let object = json!({
        "metadata": {
            "name": address,
            "labels": { FAMILY_LABEL: family_of(address), MANAGED_BY_LABEL: MANAGER },
        },
        "spec": {
            "parentRef": { "resource": "services", "namespace": owner.namespace, "name": owner.name },
        },
    });
    Object::from_value(object).unwrap_or_default()
}
