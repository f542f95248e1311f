//! The generic registry: the store used by all resources, and the storages built on it.
//!
//! | module | contents |
//! |---|---|
//! | [`storage_map`] | the resources that are served: group, version, path and storage |
//! | `serving` | changes of them while the server runs |
//! | [`store`] | the generic store |
//! | `unstored` | objects that a server reads from files |
//! | [`subresource`], [`scale`], [`mod@connect`] | storages of subresources |
//! | `converted`, `object_adapter` | storages of versions that are not the stored one; the conversion of objects |
//! | [`informer`] | compiled forms of objects that follow every change |
//! | [`services`] | components of the server that resources need |
//! | [`errors`] | the table from storage errors to those that clients receive |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/registry/generic/registry`.

pub mod connect;
mod converted;
pub mod errors;
pub mod informer;
mod object_adapter;
pub mod scale;
pub mod services;
mod serving;
pub mod storage_map;
pub mod store;
pub mod subresource;
#[cfg(test)]
pub(crate) mod testing;
mod unstored;

pub use connect::{ConnectRules, ConnectStore};
pub use errors::interpret_watch;
pub use informer::{Compiled, Informer, InformerChange, InformerHandler, InformerTask, Synced};
pub use scale::ScaleStore;
pub use services::{Services, Stores};
pub use serving::{LateResources, ServeResources, ServedChange};
pub use storage_map::{
    ApiPath, Custom, Install, InstalledApi, InstalledPath, Main, MapEntry, MapVersion, OpenStorage, Scale,
    ServedKind, Status, StorageMap, Subresource, Virtual, VirtualResource, VirtualStorage, install_kinds,
};
pub use store::{
    FinishHook, MainRules, PreparedWrite, RuledStore, StatusRules, Store, StoreHooks, StoreOptions,
    UpdateRules,
};
pub use subresource::SubresourceStore;
pub use unstored::{UnacceptedError, accept_unstored};
