//! Typed views of Kubernetes' built-in objects, which stay JSON trees.
//!
//! A view is a value in the tree and its path. It has a method for each field of its Go type, so that a misspelt or
//! misplaced field, or text that is read from a number, does not compile. Nothing is decoded, and paths are only
//! written out for errors. A null is the same as an absent field.
//!
//! ```
//! use registry_core::api::Object;
//! use registry_core::api::validation::ErrorList;
//! use resource_views::coordination::v1::{Lease, LeaseMut};
//! use serde_json::json;
//!
//! let mut object = Object::from_value(json!({"spec": {"leaseTransitions": -1}})).unwrap();
//! LeaseMut(&mut object).spec().or_new().holder_identity().or("nobody");
//! let mut errors = ErrorList::default();
//! let spec = Lease(&object).spec();
//! spec.lease_transitions().check_not_negative(&mut errors);
//! assert_eq!(spec.holder_identity().text(), "nobody");
//! assert_eq!(errors.0[0].field.to_string(), "spec.leaseTransitions");
//! ```
//!
//! The modules of the API groups are `generated` by `cargo xtask codegen` from the facts about upstream's types. Fields
//! that have a name of a method of [`View`] come first: `(*host_path).path()` is where a `hostPath` is, and
//! `host_path.path()` is the field in it.

#[macro_use]
mod declare;
pub mod alike;
pub mod generated;
pub mod scalars;
pub mod several;
pub mod slot;
pub mod view;

pub use generated::*;
pub use scalars::{Boolean, Bytes, Double, IntOrString, Integer, Quantity, Raw, Text, Time};
pub use several::{List, Map};
pub use view::{Typed, View};
