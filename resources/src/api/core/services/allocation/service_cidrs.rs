//! The ranges from which addresses are allocated now: those of all ServiceCIDR objects.
//!
//! They are read for each allocation, so that every server sees a new or a deleted range at once.
//!
//! Kubernetes concept: `ipallocator.MetaAllocator`.

use std::net::IpAddr;

use registry_core::api::Object;
use resource_views::networking::v1::ServiceCIDR;

use crate::api::core::services::ranges::{ServiceRange, ServiceRanges, family_of};
use crate::support::conditions;

/// The ranges of the ServiceCIDR objects.
pub(super) struct CidrRanges {
    entries: Vec<Entry>,
}

/// A range of an object.
#[derive(Clone, Copy)]
struct Entry {
    range: ServiceRange,
    /// Whether the object is ready and not being deleted.
    is_ready: bool,
}

// === impl CidrRanges ===

impl CidrRanges {
    /// Returns the ranges of these objects, and those of the server as long as there is no object: the server is about to
    /// create the first one.
    pub(super) fn new(objects: &[Object], of_server: &ServiceRanges) -> Self {
        if objects.is_empty() {
            let entries = of_server.all().map(|range| Entry { range, is_ready: true });
            return Self { entries: entries.collect() };
        }
        Self { entries: objects.iter().flat_map(entries_of).collect() }
    }

    /// Whether a range has the address, ready or not.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        self.entries.iter().any(|entry| entry.range.is_allocatable(address))
    }

    /// Whether a ready range has the address.
    pub(super) fn can_allocate(&self, address: IpAddr) -> bool {
        self.ready_ranges(family_of(address)).any(|range| range.is_allocatable(address))
    }

    /// Returns the ready ranges of a family.
    pub(super) fn ready_ranges(&self, family: &str) -> impl Iterator<Item = ServiceRange> {
        let ready = self.entries.iter().filter(move |entry| entry.is_ready && entry.range.family() == family);
        ready.map(|entry| entry.range)
    }
}

fn entries_of(object: &Object) -> Vec<Entry> {
    let is_ready = object.deletion_timestamp().is_none() && is_ready(object);
    let spec = ServiceCIDR(object).spec();
    // A range that no server can use, such as one of more than 64 host bits, gives nothing.
    let ranges = spec.cidrs().texts().filter_map(|range| range.parse().ok());
    ranges.map(|range| Entry { range, is_ready }).collect()
}

/// Whether the object's condition says that it is ready. Without the condition it is: the controller that sets it may not
/// run.
fn is_ready(object: &Object) -> bool {
    conditions::find(object, "Ready").is_none_or(|condition| condition.status().text() == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(cidrs: &Value, status: Option<&str>, is_deleted: bool) -> Object {
        let mut object = Object::from_value(json!({ "spec": { "cidrs": cidrs } })).expect("an object");
        if let Some(status) = status {
            object.set(&["status", "conditions"], json!([{ "type": "Ready", "status": status }]));
        }
        if is_deleted {
            object.set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z".into());
        }
        object
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn addresses_come_from_ready_objects_only() {
        let server: ServiceRanges = "10.0.0.0/24".parse().expect("ranges");
        let objects = [
            object(&json!(["10.1.0.0/24", "fd00::/64"]), None, false),
            object(&json!(["10.2.0.0/24"]), Some("True"), false),
            object(&json!(["10.3.0.0/24"]), Some("False"), false),
            object(&json!(["10.4.0.0/24"]), Some("Unknown"), false),
            object(&json!(["10.5.0.0/24"]), Some("True"), true),
            object(&json!(["zork", 7, "fd01::/8"]), None, false),
        ];
        let ranges = CidrRanges::new(&objects, &server);
        for (text, contains, can_allocate) in [
            ("10.0.0.1", false, false),
            ("10.1.0.1", true, true),
            ("fd00::1", true, true),
            ("10.2.0.1", true, true),
            ("10.3.0.1", true, false),
            ("10.4.0.1", true, false),
            ("10.5.0.1", true, false),
            ("fd01::1", false, false),
        ] {
            assert_eq!(
                (ranges.contains(address(text)), ranges.can_allocate(address(text))),
                (contains, can_allocate),
                "{text}"
            );
        }
        assert_eq!((ranges.ready_ranges("IPv4").count(), ranges.ready_ranges("IPv6").count()), (2, 1));
    }

    #[test]
    fn a_range_of_two_objects_is_ready_if_either_is() {
        let server: ServiceRanges = "10.0.0.0/24".parse().expect("ranges");
        let ranges = json!(["10.1.0.0/24"]);
        let objects = [object(&ranges, Some("False"), true), object(&ranges, None, false)];
        assert!(CidrRanges::new(&objects, &server).can_allocate(address("10.1.0.9")));
        assert!(
            CidrRanges::new(&[], &server).can_allocate(address("10.0.0.9")),
            "before the first object exists"
        );
    }
}
