//! The generic registry: one concrete store for every resource, and what is built on it.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/registry/generic/registry`.

pub mod scale;
pub mod status;
pub mod storage_map;
pub mod store;

pub use scale::ScaleStore;
pub use status::StatusStore;
pub use storage_map::{InstalledApi, InstalledPath, MapEntry, MapVersion, StorageMap, Subresource};
pub use store::Store;
