//! One object's bytes in the form a list, a table or a watch gives it.

use registry_core::storage::Entry;

use super::negotiation::MetaVersion;
use super::partial;
use super::table::Table;

/// An encoded object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    /// The object as JSON.
    pub(super) json: &'a [u8],
    /// Its bytes from the first field after `apiVersion` and `kind`; empty when that is not known.
    pub(super) tail: &'a [u8],
    /// The resource version, when it is known without looking.
    pub(super) revision: Option<u64>,
}

/// The form of a list's items.
#[derive(Clone, Debug)]
pub(super) enum ItemForm {
    /// The whole object.
    Whole,
    /// The object without `apiVersion` and `kind`.
    Tail,
    /// A `PartialObjectMetadata`.
    Partial(MetaVersion),
    /// A table's row.
    Row(Table),
}

// === impl Item ===

impl<'a> Item<'a> {
    /// A stored object.
    pub(super) fn stored(entry: &'a Entry) -> Self {
        let tail = usize::try_from(entry.item_offset).ok().and_then(|offset| entry.json.get(offset..));
        Self { json: &entry.json, tail: tail.unwrap_or_default(), revision: Some(entry.revision) }
    }

    /// An object that was encoded for this answer.
    pub(super) fn encoded(json: &'a [u8]) -> Self {
        Self { json, tail: b"", revision: None }
    }
}

// === impl ItemForm ===

impl ItemForm {
    /// Writes an item.
    pub(super) fn write(&self, buffer: &mut Vec<u8>, item: &Item<'_>) {
        match self {
            Self::Tail if !item.tail.is_empty() => {
                buffer.push(b'{');
                buffer.extend_from_slice(item.tail);
            }
            Self::Whole | Self::Tail => buffer.extend_from_slice(item.json),
            Self::Partial(version) => partial::write(buffer, item, *version),
            Self::Row(table) => table.write_row(buffer, item),
        }
    }

    /// How many bytes [`write`](Self::write) will write, for the forms that copy.
    pub(super) fn exact_len(&self, item: &Item<'_>) -> Option<usize> {
        match self {
            Self::Tail if !item.tail.is_empty() => Some(1 + item.tail.len()),
            Self::Whole | Self::Tail => Some(item.json.len()),
            Self::Partial(_) | Self::Row(_) => None,
        }
    }
}
