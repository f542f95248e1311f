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

use super::Services;
use super::addresses::AddressObjects;
use super::supply::Supply;
use super::taken::{NodePort, Taken, Uses};
use crate::api::core::address;

const ADDRESS: [&str; 2] = ["spec", "clusterIP"];
const ADDRESSES: [&str; 2] = ["spec", "clusterIPs"];
const ALLOCATED: &str = "provided IP is already allocated";
const MISMATCHED: &str = "the provided network does not match the current range";

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

/// The choice of the addresses of one write.
pub(super) struct AddressChoice<'a> {
    pub(super) supply: &'a Supply,
    pub(super) objects: Option<&'a AddressObjects>,
    /// The addresses in use.
    pub(super) taken: &'a mut Taken,
    /// The claims of the write.
    pub(super) uses: &'a mut Uses,
    /// Whether nothing will be stored: then it is not checked whether requested addresses are in use.
    pub(super) dry_run: bool,
}

// === impl Refusal ===

impl Refusal {
    /// Returns the refusal of a requested address that another service has.
    pub(super) fn already_allocated(service: &Object, wanted: &str) -> Self {
        not_allocated(service, &texts(service), &format!(" {wanted}"), ALLOCATED).into()
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
            } else if let Err((why, in_use)) = self.claim(text) {
                let failure = not_allocated(service, &shown, &format!(" {text}"), &why);
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
        let mut ranges = self.supply.ready(family);
        let free = ranges.find_map(|range| self.taken.free_address(range, is_being_removed));
        let Some(address) = free.filter(|address| self.taken.claim_address(*address)) else {
            let name = service.name();
            let failure = StatusError::internal(format!(
                "failed to allocate a serviceIP for Service {name:?}: range is full"
            ));
            return Err(Refusal { failure, in_use: Some(InUse::All) });
        };
        self.uses.addresses.insert(address);
        Ok(address)
    }

    /// Claims a requested address; returns the reason if it cannot be had.
    fn claim(&mut self, wanted: &str) -> Result<(), (String, Option<InUse>)> {
        let Some(address) = address::parse_loosely(wanted) else {
            return Err((MISMATCHED.to_owned(), None));
        };
        if !self.supply.gives(address) {
            let family = super::range::family_of(address);
            return Err(match self.supply.ready(family).next().filter(|_| self.dry_run) {
                Some(range) => (
                    format!(
                        "the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {range}"
                    ),
                    None,
                ),
                None => (MISMATCHED.to_owned(), None),
            });
        }
        if self.dry_run {
            return Ok(());
        }
        if !self.taken.claim_address(address) {
            return Err((ALLOCATED.to_owned(), Some(InUse::One(Contended::Address(address)))));
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
