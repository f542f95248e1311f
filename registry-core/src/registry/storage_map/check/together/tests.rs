use super::super::tests::{NODES, PODS, entry};
use super::*;
use crate::api::GroupVersionKind;
use crate::registry::storage_map::MapVersion;
use crate::release::Lifecycle;
use crate::resource::{ResourceDescription, ResourceProperties};

const SHIPS: ResourceDescription = ResourceDescription {
    properties: ResourceProperties {
        kind: GroupVersionKind { group: "sea.example.dev", version: "v1", kind: "Ship" },
        list_kind: "ShipList",
        plural: "ships",
        singular: "ship",
        short_names: &["sh"],
        storage_prefix: "sea.example.dev/ships",
        lifecycle: Lifecycle { introduced: None, removed: None },
        deprecation: None,
        retired: &[],
        declared_at: "src/ship.rs:3",
        ..PODS.properties
    },
    ..PODS
};

fn map(declared_in: &'static str, resources: Vec<ResourceDescription>) -> StorageMap {
    let mut versions = Vec::new();
    for resource in resources {
        let resource: &'static ResourceDescription = Box::leak(Box::new(resource));
        let entries = vec![entry(resource, None), entry(resource, Some("status"))].leak();
        versions.push(MapVersion { group: resource.kind.group, version: resource.kind.version, entries });
    }
    StorageMap { versions: versions.leak(), declared_in }
}

/// Returns the conflict of a map with a resource of these properties and one with pods, nodes and ships.
fn refusal(properties: &ResourceProperties) -> String {
    let first = map("one::map", vec![PODS, NODES, SHIPS]);
    let second = map("two::map", vec![ResourceDescription { properties: *properties, ..SHIPS }]);
    check_together(&[&first, &second]).map_or_else(|conflict| conflict.to_string(), |()| String::new())
}

#[test]
fn maps_that_claim_one_path_name_or_key_are_refused_with_both_declarations() {
    let other = ResourceProperties { declared_at: "src/other.rs:9", ..SHIPS.properties };
    assert_eq!(
        refusal(&other),
        "the storage maps of `one::map` and `two::map` cannot be served together: both serve `ships` of \
         `sea.example.dev/v1`: `Ship` (declared at src/ship.rs:3) and `Ship` (declared at src/other.rs:9)"
    );
    let boat = ResourceProperties {
        kind: GroupVersionKind { kind: "Boat", ..SHIPS.kind },
        list_kind: "BoatList",
        plural: "boats",
        singular: "boat",
        short_names: &[],
        storage_prefix: "sea.example.dev/boats",
        ..other
    };
    for (properties, named) in [
        (ResourceProperties { short_names: &["sh"], ..boat }, "the short name `sh` of `Boat`"),
        (ResourceProperties { singular: "ship", ..boat }, "the singular `ship` of `Boat`"),
        (ResourceProperties { kind: SHIPS.kind, ..boat }, "the kind `Ship` of `Ship`"),
        (ResourceProperties { plural: "ship", ..boat }, "the plural `ship` of `Boat`"),
        (
            ResourceProperties { storage_prefix: "minions", ..boat },
            "two stores for the keys below `minions`: `Node`",
        ),
    ] {
        let message = refusal(&properties);
        assert!(message.contains(named) && message.contains("src/other.rs:9"), "{message}");
    }
    // Another version of a kind, in another crate, uses the same keys.
    let message =
        refusal(&ResourceProperties { kind: GroupVersionKind { version: "v2", ..SHIPS.kind }, ..other });
    assert!(message.contains("one says `hub = …`"), "{message}");
}

#[test]
fn maps_of_different_resources_are_served_together() {
    let elsewhere = ResourceProperties {
        kind: GroupVersionKind { group: "air.example.dev", ..SHIPS.kind },
        storage_prefix: "air.example.dev/ships",
        ..SHIPS.properties
    };
    assert_eq!(refusal(&elsewhere), "");
}
