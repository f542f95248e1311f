//! Types shared by all requests and objects: identities, metadata, selectors, options and the `Status` errors that
//! clients receive.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the options of requests: lists, writes, deletions |
//! | [`selector`], [`sharding`] | label and field selectors; shards of a list |
//! | [`object`] | an object: its JSON tree with typed metadata |
//! | [`status`] | the `Status` errors that clients receive |
//! | [`validation`] | field errors and their paths, names, checks of metadata |
//! | [`identity`], `version_priority` | groups, versions, kinds and resources; the order of versions |
//! | [`json_path`] | JSONPath, as columns and selectable fields use it |
//! | [`clock`] | the time of day, which tests can advance |
//! | [`time`] | times as Kubernetes writes them |
//! | [`json_fields`] | fields of JSON documents: set, and null |
//! | [`go_text`], [`go_duration`] | values as Go prints them; durations as Go reads and prints them |
//! | [`budget`] | the limits of the work that one request causes |
//! | [`backoff`] | pauses between attempts that fail |
//! | [`features`] | the features that an operator can enable or disable |
//! | [`release`] | releases of Kubernetes, and the time in which they serve a kind |
//!
//! Kubernetes concept: [API conventions](https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md).

pub mod backoff;
pub mod budget;
pub mod clock;
pub mod features;
pub mod go_duration;
pub mod go_text;
pub mod identity;
pub mod json_fields;
pub mod json_path;
pub mod object;
pub mod options;
pub mod release;
pub mod selector;
pub mod sharding;
pub mod status;
pub mod time;
pub mod validation;
mod version_priority;

pub use identity::{
    GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, Scope, split_api_version,
};
pub use object::Object;
pub use options::{
    CreateOptions, DeleteOptions, DryRun, FieldValidation, GetOptions, ListOptions, PatchOptions,
    Preconditions, PropagationPolicy, ResourceVersionMatch, UpdateOptions,
};
pub use status::{Reason, StatusCause, StatusError};
pub use validation::{ErrorList, FieldError, FieldPath};
pub use version_priority::compare_versions;
