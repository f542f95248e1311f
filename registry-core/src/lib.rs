//! The engine of Orlop: everything a Kubernetes-style API server does that is about *resources* and not
//! about HTTP.
//!
//! Arrows between the modules point down this list and never up:
//!
//! | module | what lives there |
//! |---|---|
//! | [`admission`] | plug-ins that change or refuse writes, and their chain |
//! | [`registry`] | the generic store, strategies, subresource stores, dry run, the storage map |
//! | [`rest`] | the capability traits a handler asks of a storage (`Getter`, `Lister`, `Creater`, …) |
//! | [`apply`] | server-side apply, and who manages which fields |
//! | [`resource`] | what the derive makes of an annotated struct: [`Resource`] and [`ResourceType`] |
//! | [`storage`] | keys, revisions and bytes: the interface, its backends and decorators |
//! | [`patch`] | JSON patch, merge patch, strategic merge patch |
//! | [`cel`] | expressions of policies and validation rules: checked, estimated, evaluated |
//! | [`codec`] | bytes to objects and back |
//! | [`schema`] | one compiled form per kind: types, defaults, list keys |
//! | [`directory_lock`] | the right of one process to use a directory |
//! | [`durable_file`] | files that are written atomically, flushed to disk and private |
//! | [`metrics`] | what storage counts and measures, by Kubernetes' names |
//! | [`context`] | who asks for what, until when |
//! | [`api`] | meta types, `Status` errors, selectors, request options |

pub mod admission;
pub mod api;
pub mod apply;
pub mod cel;
pub mod codec;
pub mod context;
pub mod directory_lock;
pub mod durable_file;
#[doc(hidden)]
pub mod expansion;
pub mod metrics;
pub mod patch;
pub mod registry;
pub mod resource;
pub mod rest;
pub mod schema;
pub mod storage;

pub use context::RequestContext;
pub use resource::{Resource, ResourceType};
