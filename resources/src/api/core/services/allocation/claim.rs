//! Allocations claimed by a write. They are released unless the write is committed, also when the request is abandoned.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::FinishHook;
use registry_core::storage::Revision;

use super::Allocator;
use super::address_choice::{Contended, not_allocated, texts};
use super::address_objects::Claimed;
use super::allocations::AllocationSet;
use super::owner::Owner;
use crate::api::core::services::ranges::NodePort;

/// Addresses and node ports that are reserved for a write. Dropping the claim releases them.
pub(super) struct Claim {
    allocator: Arc<Allocator>,
    owner: Owner,
    /// The claims in memory.
    pub(super) uses: AllocationSet,
    /// The addresses whose objects this claim created, or may have created.
    made: HashSet<IpAddr>,
    /// The ports that this claim claimed in the store, with the revisions of their claims.
    made_ports: HashMap<NodePort, Revision>,
    /// The addresses and ports that the service stops using when the write is committed.
    given_up: AllocationSet,
    /// The addresses that the service keeps, and of which this server has not seen the objects.
    unseen: Vec<IpAddr>,
}

// === impl Claim ===

impl Claim {
    /// Creates an empty claim.
    pub(super) fn new(allocator: Arc<Allocator>, owner: Owner) -> Self {
        let uses = AllocationSet::default();
        let given_up = AllocationSet::default();
        let (made, made_ports) = (HashSet::new(), HashMap::new());
        Self { allocator, owner, uses, made, made_ports, given_up, unseen: Vec::new() }
    }

    /// Sets the addresses and ports that the service stops using when the write is committed.
    pub(super) fn giving_up(mut self, given_up: AllocationSet) -> Self {
        self.given_up = given_up;
        self
    }

    /// Sets what the service uses after the write.
    pub(super) fn keeping(mut self, kept: &AllocationSet) -> Self {
        let allocations = self.allocator.allocations();
        let known =
            |address: &IpAddr| self.uses.addresses.contains(address) || allocations.is_stored(*address);
        let unseen = kept.addresses.iter().copied().filter(|address| !known(address)).collect();
        drop(allocations);
        self.unseen = unseen;
        self
    }

    /// Creates the objects of the claimed addresses, and claims the ports in the store. Returns the claim, and an address or a
    /// port that has another owner. `asked` is the service as the client wrote it.
    ///
    /// Runs to its end even if the request is abandoned: otherwise a write could be committed after the claim was
    /// released.
    pub(super) async fn make_objects(self, asked: &Object) -> Result<(Self, Option<Contended>), StatusError> {
        let has_addresses = self.allocator.objects.is_some() && !self.uses.addresses.is_empty();
        let has_ports = self.allocator.port_claims.is_some() && !self.uses.node_ports.is_empty();
        if !has_addresses && !has_ports {
            return Ok((self, None));
        }
        let made = tokio::spawn(self.make_all());
        made.await.map_err(StatusError::internal)?.map_err(|failure| match failure.reason {
            // The service has no name, so that the address object has no valid parent.
            Reason::Invalid => {
                let mut shown = texts(asked);
                shown.resize(shown.len().max(1), String::new());
                not_allocated(asked, &shown, "", &failure.message)
            }
            _ => failure,
        })
    }

    async fn make_all(mut self) -> Result<(Self, Option<Contended>), StatusError> {
        // Ports first: one that is lost is replaced without giving back an address, of which there may be few.
        let mut contended = self.claim_ports().await?;
        if contended.is_none() {
            contended = self.make_addresses().await?;
        }
        Ok((self, contended))
    }

    /// Claims the ports in the store; returns one that another service has.
    async fn claim_ports(&mut self) -> Result<Option<Contended>, StatusError> {
        let Some(claims) = self.allocator.port_claims.clone() else { return Ok(None) };
        for port in self.uses.node_ports.clone() {
            match claims.claim(port, &self.owner).await? {
                Some(revision) => self.made_ports.insert(port, revision),
                None => return Ok(Some(Contended::Port(port))),
            };
        }
        Ok(None)
    }

    /// Creates the objects of the addresses; returns one that has another owner.
    async fn make_addresses(&mut self) -> Result<Option<Contended>, StatusError> {
        let Some(objects) = self.allocator.objects.clone() else { return Ok(None) };
        for address in self.uses.addresses.clone() {
            objects.wait_until_removed(address).await?;
            // Recorded first, because a failed write may have been committed.
            self.made.insert(address);
            match objects.claim(address, &self.owner).await? {
                Claimed::Created => {}
                // If this attempt fails, the repair decides: another server may use the address by now.
                Claimed::Existing => {
                    self.made.remove(&address);
                }
                Claimed::OwnedByOther => {
                    self.made.remove(&address);
                    return Ok(Some(Contended::Address(address)));
                }
            }
        }
        Ok(None)
    }
}

impl FinishHook for Claim {
    fn finish(mut self: Box<Self>, committed: bool) {
        if committed {
            self.made.clear();
            self.made_ports.clear();
            let claimed = std::mem::take(&mut self.uses);
            self.allocator.allocations().commit(&claimed, &self.given_up, &self.owner);
            self.allocator.release(&self.given_up, &self.owner);
            let unseen = std::mem::take(&mut self.unseen);
            if !unseen.is_empty() {
                self.allocator.adopt(unseen, self.owner.clone());
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.uses.is_empty() {
            // The removal is recorded first, so that the next claim of the address waits for it.
            let made =
                AllocationSet { addresses: std::mem::take(&mut self.made), ..AllocationSet::default() };
            self.allocator.release(&made, &self.owner);
            if let Some(claims) = &self.allocator.port_claims {
                claims.withdraw(std::mem::take(&mut self.made_ports), &self.owner);
            }
            self.allocator.allocations().give_back(&self.uses);
        }
    }
}
