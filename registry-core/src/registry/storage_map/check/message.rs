//! Messages built at compile time, where `format!` is not available.

use crate::registry::storage_map::MapEntry;
use crate::resource::ResourceProperties;
use crate::resource::same_bytes;

/// Maximum length of a message, in bytes; longer ones are truncated. Two entries with their paths take a third of it.
const CAPACITY_BYTES: usize = 2048;

/// A message under construction.
#[derive(Clone, Copy)]
pub(super) struct Message {
    bytes: [u8; CAPACITY_BYTES],
    length: usize,
}

/// An entry as named in messages.
pub(super) struct Culprit<'a> {
    pub(super) entry: &'a MapEntry,
    /// Its type as written in the map.
    pub(super) storage: &'a str,
}

// === impl Message ===

impl Message {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CAPACITY_BYTES], length: 0 }
    }

    /// Appends a text; omits a text that does not fit completely, so that the message remains UTF-8.
    pub(super) const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        if self.length + text.len() > CAPACITY_BYTES {
            return self;
        }
        let mut index = 0;
        while index < text.len() {
            self.bytes[self.length] = text[index];
            self.length += 1;
            index += 1;
        }
        self
    }

    /// Appends `` `Main<Pods>` (declared at src/pods.rs:7) ``.
    pub(super) const fn culprit(self, culprit: &Culprit<'_>) -> Self {
        self.text("`").text(culprit.storage).text("` (declared at ").text(culprit.entry.declared_at).text(")")
    }

    /// Appends `pods` or `pods/status`.
    pub(super) const fn path(self, entry: &MapEntry) -> Self {
        let message = self.text(entry.resource.properties.plural);
        match entry.subresource {
            Some(subresource) => message.text("/").text(subresource),
            None => message,
        }
    }

    /// Appends `v1` or `apps/v1`.
    pub(super) const fn group_version(self, group: &str, version: &str) -> Self {
        if group.is_empty() { self.text(version) } else { self.text(group).text("/").text(version) }
    }

    /// Appends `cluster-scoped` or `namespaced`.
    pub(super) const fn scope(self, resource: &ResourceProperties) -> Self {
        self.text(if resource.is_namespaced() { "namespaced" } else { "cluster-scoped" })
    }

    /// Returns the message.
    pub(super) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "the storage map contradicts itself",
        }
    }

    /// Fails the compilation with this message.
    #[track_caller]
    pub(super) const fn refuse(&self) -> ! {
        panic!("{}", self.as_str())
    }
}

/// `a == b` as a const function.
pub(super) const fn same(a: &str, b: &str) -> bool {
    same_bytes(a.as_bytes(), b.as_bytes())
}
