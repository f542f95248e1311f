//! Storage: keys, revisions and bytes, with the attributes that selectors evaluate. Independent of the Rust types of
//! resources and of HTTP.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | [`testing`] | the conformance suite that every backend and decorator passes |
//! | [`factory`] | opens the backend for a storage type |
//! | `transfer` | moves the keys of a store into another one, or into a file and back (feature `embedded`) |
//! | `etcd3` | implements [`mvcc`] on etcd (feature `etcd3`) |
//! | `embedded` | implements [`mvcc`] in this process, durably (feature `embedded`) |
//! | [`cacher`] | the watch cache: a decorator of any [`Interface`] |
//! | [`versioned`] | the one implementation of [`Interface`] over any engine: retries, paging, selection, watch transitions |
//! | [`lazy`] | a storage that is opened by its first use |
//! | [`interface`] | [`Interface`]: what the registry requires of a store; one instance per resource |
//! | [`shared_watch`] | one watch of the engine, shared by the caches of all resources |
//! | [`measured`] | an engine with request metrics for one resource |
//! | [`mvcc`] | the contract of a multi-version key-value engine, etcd's |
//! | [`moving_key`] | a key on its way to another store |
//! | [`predicate`], [`continue_token`] | the selection of objects; tokens of pages |
//! | [`entry`], [`error`], [`transform`] | a stored object and its encodings; the errors of stores and watches; transformation of values at rest: identity, encryption |
//! | [`metrics`] | storage metrics with Kubernetes' names |
//! | [`spans`] | spans of the stages of a request, for distributed tracing |
//! | [`directory_lock`] | exclusive lock of a directory |
//! | [`durable_file`] | files that are written atomically, flushed to disk and readable only by their owner |
//! | [`notice`] | log lines about events that repeat |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage`.

pub mod cacher;
pub mod continue_token;
pub mod directory_lock;
pub mod durable_file;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod entry;
pub mod error;
#[cfg(feature = "etcd3")]
pub mod etcd3;
pub mod factory;
pub mod interface;
pub mod lazy;
pub mod measured;
pub mod metrics;
pub mod moving_key;
pub mod mvcc;
pub mod notice;
pub mod predicate;
pub mod shared_watch;
pub mod spans;
pub mod testing;
#[cfg(feature = "embedded")]
pub mod transfer;
pub mod transform;
pub mod versioned;

pub use entry::{
    Attributes, AttributesOf, CanonicalForm, Encoding, EncodingBudget, Entry, InvalidValue, StoredObject,
    StoredVersionError,
};
pub use error::{
    CorruptObject, CorruptObjects, InvalidRequest, PreconditionField, StorageError, Unreadable, WatchError,
};
pub use interface::{
    Interface, ListPage, ListRequest, NewValue, Rest, RestStream, TryUpdate, Updated, WatchEvent,
    WatchRequest, WatchStream,
};
pub use mvcc::NotReady;
pub use predicate::Predicate;

/// A revision of the store's single history. 0 is before the first write.
pub type Revision = u64;
