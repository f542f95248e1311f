//! The core library of Orlop: everything about *resources* in a Kubernetes-style API server, independent of HTTP.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | [`admission`] | the plug-ins that change or refuse writes, and their chain |
//! | [`registry`] | the generic store, strategies, subresource stores, dry run, the storage map |
//! | [`rest`] | the capability traits of storages that handlers use (`Getter`, `Lister`, `Creater`, …) |
//! | [`apply`] | server-side apply and field ownership |
//! | [`resource`] | the types that the derive generates for an annotated struct: [`Resource`] and [`ResourceType`] |
//! | [`storage`] | the storage interface, its backends and decorators |
//! | [`patch`] | JSON patch, merge patch, strategic merge patch |
//! | [`cel`] | CEL expressions of policies and validation rules: type check, cost estimate, evaluation |
//! | [`codec`] | encoding and decoding of objects |
//! | [`schema`] | the compiled schema of a kind: types, defaults, list keys |
//! | [`directory_lock`] | exclusive lock of a directory |
//! | [`features`] | the features that an operator can enable or disable |
//! | [`notice`] | log lines about events that repeat |
//! | [`durable_file`] | files that are written atomically, flushed to disk and readable only by their owner |
//! | [`metrics`] | storage metrics with Kubernetes' names |
//! | [`spans`] | spans of the stages of a request, for distributed tracing |
//! | [`context`] | the user, target and deadline of a request |
//! | [`budget`] | the limits of the work that one request causes |
//! | [`api`] | meta types, `Status` errors, selectors, request options |

pub mod admission;
pub mod api;
pub mod apply;
pub mod budget;
pub mod cel;
pub mod codec;
pub mod context;
pub mod directory_lock;
pub mod durable_file;
#[doc(hidden)]
pub mod expansion;
pub mod features;
pub mod metrics;
pub mod notice;
pub mod patch;
pub mod registry;
pub mod resource;
pub mod rest;
pub mod schema;
pub mod spans;
pub mod storage;

pub use context::RequestContext;
pub use resource::{Resource, ResourceType};
