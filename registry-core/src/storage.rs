//! Storage: keys, revisions and bytes, with the attributes that selectors evaluate. Independent of the Rust types of
//! resources and of HTTP.
//!
//! | module | contents |
//! |---|---|
//! | [`interface`] | [`Interface`]: what the registry requires of a store; one instance per resource |
//! | [`versioned`] | the one implementation over any [`mvcc::Mvcc`] engine: retries, paging, selection, watch transitions |
//! | [`cacher`] | the watch cache: a decorator of any [`Interface`] |
//! | [`shared_watch`] | one watch of the engine, shared by the caches of all resources |
//! | [`lazy`] | a storage that is opened by its first use |
//! | [`measured`] | an engine with request metrics for one resource |
//! | [`transform`] | transformation of values at rest: identity, encryption |
//! | [`mvcc`] | the contract of a multi-version key-value engine, etcd's |
//! | `etcd3` | implements the contract on etcd (feature `etcd3`) |
//! | `embedded` | implements the contract in this process, durably (feature `embedded`) |
//! | [`factory`] | opens the backend for a storage type |
//! | [`testing`] | the conformance suite that every backend and decorator passes |
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
pub mod lazy;
pub mod measured;
pub mod mvcc;
pub mod predicate;
pub mod shared_watch;
pub mod testing;
pub mod transform;
pub mod versioned;

pub use entry::{Attributes, AttributesOf, CanonicalForm, Encoding, EncodingBudget, Entry, StoredObject};
pub use error::{StorageError, WatchError};
pub use interface::{
    Interface, ListPage, ListRequest, NewValue, Rest, RestStream, TryUpdate, Updated, WatchEvent,
    WatchRequest, WatchStream,
};
pub use predicate::Predicate;

/// A revision of the store's single history. 0 is before the first write.
pub type Revision = u64;
