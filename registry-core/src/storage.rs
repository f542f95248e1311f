//! Storage: keys, revisions and bytes, with the attributes selectors look at. No Rust type of any resource,
//! no HTTP.
//!
//! | module | what lives there |
//! |---|---|
//! | [`interface`] | [`Interface`]: what the registry asks of a store; one instance per resource |
//! | [`versioned`] | the one implementation over any [`mvcc::Mvcc`] engine: retries, paging, selection, watch transitions |
//! | [`cacher`] | the watch cache: a decorator of any [`Interface`] |
//! | [`hub`] | one watch of the engine, shared by the caches of all resources |
//! | [`measured`] | an engine, counted and measured for one resource |
//! | [`transform`] | what a value looks like at rest: identity, encrypted |
//! | [`mvcc`] | the contract of a multi-version key-value engine, etcd's |
//! | `etcd3` | that contract by a real etcd (feature `etcd3`) |
//! | `embedded` | that contract in this process, durable (feature `embedded`) |
//! | [`factory`] | a storage type's name to a backend |
//! | [`testing`] | the conformance suite every backend and decorator passes |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage`.

pub mod cacher;
mod continue_token;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod entry;
pub mod error;
#[cfg(feature = "etcd3")]
pub mod etcd3;
pub mod factory;
pub mod interface;
pub mod measured;
pub mod mvcc;
pub mod predicate;
pub mod shared_watch;
pub mod testing;
pub mod transform;
pub mod versioned;

pub use entry::{Attributes, AttributesOf, Encoding, EncodingBudget, Entry, StoredObject};
pub use error::{StorageError, WatchError};
pub use interface::{
    Interface, ListPage, ListRequest, NewValue, Rest, RestStream, TryUpdate, Updated, WatchEvent,
    WatchRequest, WatchStream,
};
pub use predicate::Predicate;

/// A point in the store's one history. 0 is before the first write.
pub type Revision = u64;
