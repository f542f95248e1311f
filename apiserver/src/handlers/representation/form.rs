//! The form of list items and of watch events' objects.

use registry_core::api::{Reason, StatusError};
use responses::negotiation::{Output, ResponseShape};

use super::super::call::Call;
use super::super::routing::Route;
use super::item::Item;
use super::partial::Partial;
use super::table::Table;

/// The form of the objects in a list or a watch.
#[derive(Clone, Debug)]
pub(crate) enum ItemForm {
    /// The whole object.
    Whole,
    /// The object without `kind` and `apiVersion`.
    Tail,
    /// A `PartialObjectMetadata`.
    Partial(Partial),
    /// A table's row.
    Row(Table),
}

// === impl ItemForm ===

impl ItemForm {
    /// Returns the form of a list's items in the shape that the client requests.
    ///
    /// # Errors
    /// 406: the requested shape is not a list. 400: see [`Table::from_request`].
    pub(crate) fn for_list(call: &Call<'_>, output: &Output) -> Result<Self, StatusError> {
        Ok(match output.shape {
            // Items of Kubernetes' typed lists omit kind and version, which the list implies.
            ResponseShape::Whole if call.route.path.resource.is_builtin => Self::Tail,
            ResponseShape::Whole => Self::Whole,
            ResponseShape::PartialList(version) => {
                Self::Partial(Partial::for_resource(&call.route.path.resource, version))
            }
            ResponseShape::Table(version) => Self::Row(Table::from_request(call, version)?),
            ResponseShape::Partial(_) => {
                let list_kind =
                    call.route.path.capabilities.lister.as_ref().map_or("", |lister| lister.list_kind());
                return Err(StatusError::new(
                    Reason::NotAcceptable,
                    format!(
                        "you requested PartialObjectMetadata, but the requested object is a list (*{})",
                        call.route.go_type(list_kind)
                    ),
                ));
            }
        })
    }

    /// Returns the form of a watch's objects in the shape that the client requests.
    ///
    /// # Errors
    /// See [`Table::from_request`].
    pub(crate) fn for_watch(call: &Call<'_>, output: &Output) -> Result<Self, StatusError> {
        Ok(match output.shape {
            ResponseShape::Whole => Self::Whole,
            ResponseShape::Partial(version) | ResponseShape::PartialList(version) => {
                Self::Partial(Partial::for_resource(&call.route.path.resource, version))
            }
            ResponseShape::Table(version) => Self::Row(Table::from_request(call, version)?),
        })
    }

    /// Returns `apiVersion` and `kind` of a route's objects in this form; for a row, those of its table.
    pub(crate) fn type_of<'r>(&self, route: &'r Route) -> (&'r str, &'static str) {
        match self {
            Self::Whole | Self::Tail => (&route.api_version, route.kind.kind),
            Self::Partial(partial) => (partial.version.api_version(), "PartialObjectMetadata"),
            Self::Row(table) => (table.version().api_version(), "Table"),
        }
    }

    /// Writes an item.
    ///
    /// # Errors
    /// 500 if its bytes are not an object.
    pub(crate) fn write(&self, buffer: &mut Vec<u8>, item: &Item<'_>) -> Result<(), StatusError> {
        match self {
            Self::Tail if !item.tail.is_empty() => {
                buffer.push(b'{');
                buffer.extend_from_slice(item.tail);
            }
            Self::Whole | Self::Tail => buffer.extend_from_slice(item.json),
            Self::Partial(partial) => return partial.write(buffer, item),
            Self::Row(table) => return table.write_row(buffer, item),
        }
        Ok(())
    }

    /// Returns the number of bytes that [`write`](Self::write) writes, for the forms that copy.
    pub(crate) fn exact_len(&self, item: &Item<'_>) -> Option<usize> {
        match self {
            Self::Tail if !item.tail.is_empty() => Some(1 + item.tail.len()),
            Self::Whole | Self::Tail => Some(item.json.len()),
            Self::Partial(_) | Self::Row(_) => None,
        }
    }
}
