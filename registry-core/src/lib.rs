//! The core library of Orlop: everything about *resources* in a Kubernetes-style API server, independent of HTTP.
//!
//! Modules depend only on modules below them in this list. The lower half are crates of their own, which can be used
//! alone and appear here under the names that authors of resources use:
//!
//! | module | contents |
//! |---|---|
//! | [`admission`] | the plug-ins that change or refuse writes, and their chain |
//! | [`registry`] | the generic store, subresource stores, dry run, the storage map, informers |
//! | [`rest`] | the capability traits of storages that handlers use (`Getter`, `Lister`, `Creater`, …) |
//! | [`apply`] | server-side apply and field ownership |
//! | [`resource`] | the definition of a resource: what the derive generates for an annotated struct ([`Resource`], [`ResourceType`]), strategies, columns, versions |
//! | [`context`] | the user, target and deadline of a request |
//! | [`reflector`] | a collection that is listed and watched, kept up to date |
//! | [`storage`], [`metrics`], [`spans`], [`notice`], [`durable_file`], [`directory_lock`] | the crate `registry-storage`: the storage interface, its backends and decorators, and what they stand on |
//! | [`cel`] | the crate `registry-cel`: CEL expressions of policies and validation rules |
//! | [`schema`], [`codec`], [`patch`] | the crate `registry-schema`: compiled schemas, encodings, patches |
//! | [`api`], [`backoff`], [`budget`], [`features`], [`go_duration`], [`json_fields`], [`release`] | the crate `registry-meta`: meta types, `Status` errors, selectors; the limits of the work that one request causes; feature gates |

pub mod admission;
pub mod apply;
pub mod context;
#[doc(hidden)]
pub mod expansion;
pub mod reflector;
pub mod registry;
pub mod resource;
pub mod rest;

#[doc(inline)]
pub use registry_cel as cel;
#[doc(inline)]
pub use registry_meta as api;
#[doc(inline)]
pub use registry_meta::{backoff, budget, features, go_duration, json_fields, release};
#[doc(inline)]
pub use registry_schema as schema;
#[doc(inline)]
pub use registry_schema::{codec, patch};
#[doc(inline)]
pub use registry_storage as storage;
#[doc(inline)]
pub use registry_storage::{directory_lock, durable_file, metrics, notice, spans, stage};

pub use context::RequestContext;
pub use resource::{Resource, ResourceType};
