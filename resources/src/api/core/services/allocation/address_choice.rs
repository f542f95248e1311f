//! The choice of a service's addresses: requested ones are checked and claimed, others are found.
//!
//! Kubernetes concept: `allocIPs` of `pkg/registry/core/service/storage/alloc.go`.

use std::net::IpAddr;
use std::ops::Range;

use registry_core::api::validation::FieldPath;
use registry_core::api::{FieldError, Object, StatusError};
use registry_core::resource::Resource;
use resource_views::core::v1::Service;
use resource_views::{List, Text};
use serde_json::json;

use super::address_objects::AddressObjects;
use super::allocations::{AllocationSet, Allocations};
use super::service_cidrs::CidrRanges;
use crate::api::core::services::Services;
use crate::api::core::services::ranges::{NodePort, ServiceRange, family_of};
use crate::support::address;

const ADDRESS: [&str; 2] = ["spec", "clusterIP"];
const ADDRESSES: [&str; 2] = ["spec", "clusterIPs"];

/// The reason to refuse a service.
pub(super) struct Refusal {
    pub(super) failure: StatusError,
    /// The allocations in use according to this server's memory, if they are the reason.
    pub(super) in_use: Option<InUse>,
}

/// The allocations in use that a service is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InUse {
    /// A requested one.
    One(Contended),
    /// All addresses.
    All,
}

/// An allocation that has another owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contended {
    /// An address.
    Address(IpAddr),
    /// A node port.
    Port(NodePort),
}

/// The reason for which a service does not get an address, with Kubernetes' text.
#[derive(Debug, thiserror::Error)]
enum AddressRefusal {
    #[error("the provided network does not match the current range")]
    NoRange,
    #[error("the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {range}")]
    OutOfRange { wanted: String, range: ServiceRange },
    #[error("provided IP is already allocated")]
    Allocated(IpAddr),
}

/// The choice of the addresses of one write.
pub(super) struct AddressChoice<'a> {
    pub(super) ranges: &'a CidrRanges,
    pub(super) objects: Option<&'a AddressObjects>,
    /// The addresses in use.
    pub(super) allocations: &'a mut Allocations,
    /// The claims of the write.
    pub(super) uses: &'a mut AllocationSet,
    /// Whether nothing will be stored: then it is not checked whether requested addresses are in use.
    pub(super) dry_run: bool,
}

// === impl Refusal ===

impl Refusal {
    /// Returns the refusal of a requested address that another service has.
    pub(super) fn already_allocated(service: &Object, wanted: IpAddr) -> Self {
        let why = AddressRefusal::Allocated(wanted).to_string();
        not_allocated(service, &texts(service), &format!(" {wanted}"), &why).into()
    }
}

impl From<StatusError> for Refusal {
    fn from(failure: StatusError) -> Self {
        Self { failure, in_use: None }
    }
}

// === impl AddressChoice ===

impl AddressChoice<'_> {
    /// Sets the addresses of the families at these places.
    pub(super) fn fill(&mut self, service: &mut Object, places: Range<usize>) -> Result<(), Refusal> {
        let families: Vec<String> = strings(&Service(service).spec().ip_families());
        let mut addresses = texts(service);
        addresses.resize(addresses.len().max(places.end), String::new());
        let shown = addresses.clone();
        for (place, text) in addresses.iter_mut().enumerate().take(places.end).skip(places.start) {
            if text.is_empty() {
                let family = families.get(place).map(String::as_str).unwrap_or_default();
                *text = self.find(service, family)?.to_string();
            } else if let Err(refusal) = self.claim(text) {
                let failure = not_allocated(service, &shown, &format!(" {text}"), &refusal.to_string());
                let in_use = match refusal {
                    AddressRefusal::Allocated(address) => Some(InUse::One(Contended::Address(address))),
                    AddressRefusal::NoRange | AddressRefusal::OutOfRange { .. } => None,
                };
                return Err(Refusal { failure, in_use });
            }
        }
        if let Some(first) = addresses.first() {
            service.set(&ADDRESS, first.as_str().into());
        }
        service.set(&ADDRESSES, json!(addresses));
        Ok(())
    }

    /// Claims a free address of a family.
    fn find(&mut self, service: &Object, family: &str) -> Result<IpAddr, Refusal> {
        let is_being_removed =
            |address| self.objects.is_some_and(|objects| objects.is_being_removed(address));
        let mut ranges = self.ranges.ready_ranges(family);
        let free = ranges.find_map(|range| self.allocations.free_address(range, is_being_removed));
        let Some(address) = free.filter(|address| self.allocations.claim_address(*address)) else {
            let name = service.name();
            let failure = StatusError::internal(format!(
                "failed to allocate a serviceIP for Service {name:?}: range is full"
            ));
            return Err(Refusal { failure, in_use: Some(InUse::All) });
        };
        self.uses.addresses.insert(address);
        Ok(address)
    }

    /// Claims a requested address.
    fn claim(&mut self, wanted: &str) -> Result<(), AddressRefusal> {
        let address = address::parse_loosely(wanted).ok_or(AddressRefusal::NoRange)?;
        if !self.ranges.can_allocate(address) {
            let range = self.ranges.ready_ranges(family_of(address)).next().filter(|_| self.dry_run);
            return Err(range.map_or(AddressRefusal::NoRange, |range| AddressRefusal::OutOfRange {
                wanted: wanted.to_owned(),
                range,
            }));
        }
        if self.dry_run {
            return Ok(());
        }
        if !self.allocations.claim_address(address) {
            return Err(AddressRefusal::Allocated(address));
        }
        self.uses.addresses.insert(address);
        Ok(())
    }
}

/// Returns the error of an address that a service cannot have. `shown` are the addresses that it has and asks for; one that
/// is to be found is empty.
pub(super) fn not_allocated(service: &Object, shown: &[String], what: &str, why: &str) -> StatusError {
    let path = FieldPath::new("spec").child("clusterIPs");
    let error = FieldError::invalid(path, json!(shown), format!("failed to allocate IP{what}: {why}"));
    StatusError::invalid(Services::TYPE.kind, service.name(), &error.into())
}

/// Returns the addresses that a service has and asks for.
pub(super) fn texts(service: &Object) -> Vec<String> {
    strings(&Service(service).spec().cluster_ips())
}

fn strings(list: &List<Text<'_, '_>>) -> Vec<String> {
    list.texts().map(str::to_owned).collect()
}
