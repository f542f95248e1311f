//! Compile-time checks of a storage map. The messages name both conflicting entries and where they are declared.

#![expect(clippy::indexing_slicing, reason = "runs at compile time, where a wrong index is a compile error")]

mod message;
mod names;
mod stores;
pub mod together;

use super::{MapEntry, StorageMap};
use crate::resource::same_bytes;
use message::{Culprit, Message, same};

/// A group and version of a map's text.
#[derive(Clone, Copy, Debug)]
pub struct WrittenVersion {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// Its paths, in the order of the map's entries.
    pub paths: &'static [WrittenPath],
}

/// A path of a map's text.
#[derive(Clone, Copy, Debug)]
pub struct WrittenPath {
    /// The path, for example `pods/status`.
    pub path: &'static str,
    /// The storage's type as written, for example `Status<crate::core::pods::Pods>`.
    pub storage: &'static str,
}

/// Rejects an inconsistent map.
///
/// # Panics
/// Panics on an inconsistent map; at compile time, the message is the compiler's error.
#[track_caller]
pub const fn check(map: &StorageMap, written: &[WrittenVersion]) {
    if let Some(message) = contradiction(map, written) {
        message.refuse();
    }
}

/// Returns the first inconsistency of a map.
const fn contradiction(map: &StorageMap, written: &[WrittenVersion]) -> Option<Message> {
    let mut this = 0;
    while this < map.versions.len() {
        let entries = map.versions[this].entries;
        let mut index = 0;
        while index < entries.len() {
            let culprit = Culprit { entry: &entries[index], storage: written[this].paths[index].storage };
            if let Some(message) = misplaced(&culprit, &written[this], &written[this].paths[index]) {
                return Some(message);
            }
            if let Some(message) = misnamed(&culprit) {
                return Some(message);
            }
            if let Some(message) = served_twice(entries, &written[this], index) {
                return Some(message);
            }
            if let Some(message) = stray_subresource(&culprit, entries, &written[this], index) {
                return Some(message);
            }
            index += 1;
        }
        let mut other = 0;
        while other <= this {
            if let Some(message) = names::collision(map, written, this, other) {
                return Some(message);
            }
            other += 1;
        }
        if let Some(message) = stores::misused(map, written, this) {
            return Some(message);
        }
        this += 1;
    }
    None
}

/// Checks that a type is listed at its own path.
const fn misplaced(culprit: &Culprit<'_>, version: &WrittenVersion, path: &WrittenPath) -> Option<Message> {
    let resource = &culprit.entry.resource.properties;
    let fits = same(resource.kind.group, version.group)
        && same(resource.kind.version, version.version)
        && is_path(path.path, resource.plural, culprit.entry.subresource);
    if fits {
        return None;
    }
    let message = Message::new()
        .text("the map puts ")
        .culprit(culprit)
        .text(" at `")
        .text(path.path)
        .text("` of `")
        .group_version(version.group, version.version)
        .text("`, but it is `")
        .path(culprit.entry)
        .text("` of `")
        .group_version(resource.kind.group, resource.kind.version);
    Some(message.text("`"))
}

/// Checks that the name of a subresource is a valid path segment.
const fn misnamed(culprit: &Culprit<'_>) -> Option<Message> {
    let Some(name) = culprit.entry.subresource else { return None };
    let bytes = name.as_bytes();
    let mut index = 0;
    let mut is_name = !bytes.is_empty();
    while index < bytes.len() {
        is_name = is_name && matches!(bytes[index], b'a'..=b'z' | b'0'..=b'9' | b'-');
        index += 1;
    }
    if is_name {
        return None;
    }
    let message = Message::new().text("the subresource `").text(name).text("` of ").culprit(culprit);
    Some(message.text(" cannot be part of a path: its `NAME` has lower-case letters, digits and `-`"))
}

/// Checks that a path does not have two storages.
const fn served_twice(entries: &[MapEntry], version: &WrittenVersion, index: usize) -> Option<Message> {
    let mut earlier = 0;
    while earlier < index {
        let first = &entries[earlier];
        let second = &entries[index];
        if same(first.resource.properties.plural, second.resource.properties.plural)
            && same_option(first.subresource, second.subresource)
        {
            let message = Message::new()
                .text("two storages for one path, `")
                .path(second)
                .text("` of `")
                .group_version(version.group, version.version)
                .text("`: ")
                .culprit(&Culprit { entry: first, storage: version.paths[earlier].storage })
                .text(" and ")
                .culprit(&Culprit { entry: second, storage: version.paths[index].storage });
            return Some(message);
        }
        earlier += 1;
    }
    None
}

/// Checks that a subresource has a parent with the same scope, and that its resource declares it.
const fn stray_subresource(
    culprit: &Culprit<'_>,
    entries: &[MapEntry],
    version: &WrittenVersion,
    index: usize,
) -> Option<Message> {
    let Some(subresource) = culprit.entry.subresource else { return None };
    let resource = &culprit.entry.resource.properties;
    let mut earlier = 0;
    while earlier < index {
        let parent = &entries[earlier];
        if parent.subresource.is_none() && same(parent.resource.properties.plural, resource.plural) {
            let parent = Culprit { entry: parent, storage: version.paths[earlier].storage };
            if parent.entry.resource.properties.is_namespaced() != resource.is_namespaced() {
                return Some(scopes_differ(&parent, culprit));
            }
            return undeclared(culprit, &parent, subresource);
        }
        earlier += 1;
    }
    let message = Message::new()
        .text("a subresource without its parent: ")
        .culprit(culprit)
        .text(" is `")
        .path(culprit.entry)
        .text("`, but the map has no `")
        .text(resource.plural)
        .text("` of `")
        .group_version(version.group, version.version);
    Some(message.text("` before it"))
}

const fn scopes_differ(parent: &Culprit<'_>, child: &Culprit<'_>) -> Message {
    Message::new()
        .text("a ")
        .scope(&parent.entry.resource.properties)
        .text(" parent with a ")
        .scope(&child.entry.resource.properties)
        .text(" child: ")
        .culprit(parent)
        .text(" and ")
        .culprit(child)
}

/// Checks that the resource of a `status` or `scale` has one.
const fn undeclared(child: &Culprit<'_>, parent: &Culprit<'_>, subresource: &str) -> Option<Message> {
    let resource = &parent.entry.resource.properties;
    let declared = if same(subresource, "status") {
        resource.has_status
    } else if same(subresource, "scale") {
        resource.scale.is_some()
    } else {
        true
    };
    if declared {
        return None;
    }
    let message = Message::new()
        .text("the map serves ")
        .culprit(child)
        .text(", but ")
        .culprit(parent)
        .text(" declares no `")
        .text(subresource);
    Some(message.text("`"))
}

/// Whether a path's text is this plural and subresource.
const fn is_path(text: &str, plural: &str, subresource: Option<&str>) -> bool {
    let text = text.as_bytes();
    let plural = plural.as_bytes();
    if text.len() < plural.len() || !same_bytes(text.split_at(plural.len()).0, plural) {
        return false;
    }
    let rest = text.split_at(plural.len()).1;
    match (subresource, rest) {
        (None, []) => true,
        (Some(name), [b'/', rest @ ..]) => same_bytes(rest, name.as_bytes()),
        _ => false,
    }
}

const fn same_option(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same(a, b),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
