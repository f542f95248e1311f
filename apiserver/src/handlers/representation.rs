//! An object's bytes in the form a client gets them: whole, its metadata alone, or a table's row; as JSON, or in
//! binary as they were encoded once for everybody.
//!
//! | module | what lives there |
//! |---|---|
//! | `item` | one encoded object: its bytes, and the parts they are cut into |
//! | `partial` | `PartialObjectMetadata` |
//! | `table` | `Table` |
//! | `form` | which of them the items of a list have |
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
