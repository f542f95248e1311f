//! Checks that spokes have a hub and that no two stores use the same keys.

use super::message::{Culprit, Message, same};
use crate::registry::storage_map::{Install, MapEntry, StorageMap, WrittenVersion};
use crate::resource::ResourceProperties;

/// Returns the first spoke of a version whose hub the map does not serve, or the first resource that shares its keys
/// with another.
pub(super) const fn misused(map: &StorageMap, written: &[WrittenVersion], this: usize) -> Option<Message> {
    let entries = map.versions[this].entries;
    let mut index = 0;
    while index < entries.len() {
        let culprit = Culprit { entry: &entries[index], storage: written[this].paths[index].storage };
        if is_stored(culprit.entry) {
            if let Some(message) = without_hub(map, &culprit) {
                return Some(message);
            }
            if let Some(message) = shared_keys(map, written, &culprit, this, index) {
                return Some(message);
            }
        }
        index += 1;
    }
    None
}

/// Checks that the hub of a spoke is served.
const fn without_hub(map: &StorageMap, spoke: &Culprit<'_>) -> Option<Message> {
    let Some(conversion) = spoke.entry.resource.hub else { return None };
    let hub = conversion.hub;
    let names = &hub.properties;
    let mut version = 0;
    while version < map.versions.len() {
        let entries = map.versions[version].entries;
        let mut index = 0;
        while index < entries.len() {
            if is_stored(&entries[index]) && is_same(&entries[index].resource.properties, names) {
                return None;
            }
            index += 1;
        }
        version += 1;
    }
    let message = Message::new()
        .text("a spoke without its hub: ")
        .culprit(spoke)
        .text(" is stored as `")
        .text(names.plural)
        .text("` of `")
        .group_version(names.kind.group, names.kind.version)
        .text("` (declared at ")
        .text(names.declared_at);
    Some(message.text("), which the map does not have"))
}

/// Checks that two resources that are not spokes do not use the same keys.
const fn shared_keys(
    map: &StorageMap,
    written: &[WrittenVersion],
    second: &Culprit<'_>,
    this: usize,
    end: usize,
) -> Option<Message> {
    if second.entry.resource.hub.is_some() {
        return None;
    }
    let mut version = 0;
    while version <= this {
        let entries = map.versions[version].entries;
        let mut index = 0;
        while index < entries.len() && (version < this || index < end) {
            let first = Culprit { entry: &entries[index], storage: written[version].paths[index].storage };
            if share_keys(first.entry, second.entry) {
                return Some(two_stores(&first, second));
            }
            index += 1;
        }
        version += 1;
    }
    None
}

/// Whether both store objects below the same prefix.
pub(super) const fn share_keys(first: &MapEntry, second: &MapEntry) -> bool {
    is_stored(first)
        && is_stored(second)
        && first.resource.hub.is_none()
        && second.resource.hub.is_none()
        && same(first.resource.properties.storage_prefix, second.resource.properties.storage_prefix)
}

pub(super) const fn two_stores(first: &Culprit<'_>, second: &Culprit<'_>) -> Message {
    let message = Message::new()
        .text("two stores for the keys below `")
        .text(second.entry.resource.properties.storage_prefix)
        .text("`: ")
        .culprit(first)
        .text(" and ")
        .culprit(second);
    message.text("; of two versions of one kind, one says `hub = …`")
}

/// Whether the entry is a resource that is stored.
const fn is_stored(entry: &MapEntry) -> bool {
    entry.subresource.is_none() && matches!(entry.install, Install::OverStore(_))
}

const fn is_same(left: &ResourceProperties, right: &ResourceProperties) -> bool {
    same(left.kind.group, right.kind.group)
        && same(left.kind.version, right.kind.version)
        && same(left.plural, right.plural)
}
