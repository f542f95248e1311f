//! Representations of an object: whole, its metadata alone, or a table row; as JSON, or in a binary encoding
//! that is shared between clients.
//!
//! | module | contents |
//! |---|---|
//! | `item` | one encoded object: its bytes, and the parts they are cut into |
//! | `partial` | `PartialObjectMetadata` |
//! | `table` | `Table` |
//! | `form` | the form of a list's items |
//! | `protobuf`, `cbor` | objects as messages, and as maps |
//!
//! Kubernetes concept: `transformResponseObject` in `k8s.io/apiserver/pkg/endpoints/handlers`.

pub(super) mod cbor;
pub(super) mod form;
pub(super) mod item;
pub(super) mod partial;
pub(super) mod protobuf;
pub(super) mod table;

pub(super) use form::ItemForm;
pub(super) use item::Item;
pub(super) use table::Table;
