//! Name collisions. Within a group, all resource names (plural, singular, short) must be distinct, and all kinds (of
//! objects and lists), in all versions, as Kubernetes requires for custom resources; versions of one resource share
//! their names.

use super::message::{Culprit, Message, same};
use crate::registry::storage_map::{StorageMap, WrittenVersion};
use crate::resource::ResourceProperties;

/// Returns the first collision between the resources of two versions (or of one with itself).
pub(super) const fn collision(
    map: &StorageMap,
    written: &[WrittenVersion],
    this: usize,
    other: usize,
) -> Option<Message> {
    let version = &map.versions[this];
    let earlier = &map.versions[other];
    if !same(version.group, earlier.group) {
        return None;
    }
    if this != other && same(version.version, earlier.version) {
        let message = Message::new().text("the map has `").group_version(version.group, version.version);
        return Some(message.text("` twice: put its paths in one place"));
    }
    let mut second = 0;
    while second < version.entries.len() {
        let mut first = 0;
        let end = if this == other { second } else { earlier.entries.len() };
        while first < end {
            let a = Culprit { entry: &earlier.entries[first], storage: written[other].paths[first].storage };
            let b = Culprit { entry: &version.entries[second], storage: written[this].paths[second].storage };
            if a.entry.subresource.is_none()
                && b.entry.subresource.is_none()
                && let Some(message) = between(&a, &b, this != other)
            {
                return Some(message);
            }
            first += 1;
        }
        second += 1;
    }
    None
}

/// Returns the collision between two resources of a group, if any.
pub(super) const fn between(a: &Culprit<'_>, b: &Culprit<'_>, versions_differ: bool) -> Option<Message> {
    let first = &a.entry.resource.properties;
    let second = &b.entry.resource.properties;
    if versions_differ && same(first.plural, second.plural) && same(first.kind.kind, second.kind.kind) {
        if first.is_namespaced() == second.is_namespaced() {
            return None;
        }
        let message = Message::new()
            .text("one resource in two scopes: ")
            .culprit(a)
            .text(" is ")
            .scope(first)
            .text(", ")
            .culprit(b)
            .text(" is ")
            .scope(second);
        return Some(message);
    }
    let kind = second.kind.kind;
    if same(first.kind.kind, kind) || same(first.list_kind, kind) {
        return Some(collide("kind", kind, a, b));
    }
    if same(first.kind.kind, second.list_kind) || same(first.list_kind, second.list_kind) {
        return Some(collide("kind", second.list_kind, a, b));
    }
    if has_name(first, second.plural) {
        return Some(collide("plural", second.plural, a, b));
    }
    if has_name(first, second.singular) {
        return Some(collide("singular", second.singular, a, b));
    }
    let mut index = 0;
    while index < second.short_names.len() {
        if has_name(first, second.short_names[index]) {
            return Some(collide("short name", second.short_names[index], a, b));
        }
        index += 1;
    }
    None
}

const fn collide(what: &str, name: &str, a: &Culprit<'_>, b: &Culprit<'_>) -> Message {
    let message = Message::new().text("the ").text(what).text(" `").text(name).text("` of ").culprit(b);
    let group = b.entry.resource.properties.kind.group;
    let message = if group.is_empty() {
        message.text(" is taken in the core group by ")
    } else {
        message.text(" is taken in group `").text(group).text("` by ")
    };
    message.culprit(a)
}

/// Whether this is one of the resource's names.
const fn has_name(resource: &ResourceProperties, name: &str) -> bool {
    if same(resource.plural, name) || same(resource.singular, name) {
        return true;
    }
    let mut index = 0;
    while index < resource.short_names.len() {
        if same(resource.short_names[index], name) {
            return true;
        }
        index += 1;
    }
    false
}
