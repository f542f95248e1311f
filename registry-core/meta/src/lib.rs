//! Types shared by all requests and objects: identities, metadata, selectors, options and the `Status` errors that
//! clients receive.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the options of requests: lists, writes, deletions |
//! | [`selector`] | label and field selectors; shards of a list |
//! | [`object`] | an object: its JSON tree with typed metadata |
//! | [`status`] | the `Status` errors that clients receive |
//! | [`validation`] | field errors and their paths, names, checks of metadata |
//! | [`identity`] | groups, versions, kinds and resources; the order of versions |
//! | [`json`] | parts of JSON documents: fields, JSONPath |
//! | [`time`] | times as Kubernetes writes them, the time of day, durations, pauses between attempts |
//! | [`go_text`] | values as Go prints them |
//! | [`budget`] | the limits of the work that one request causes |
//! | [`release`] | releases of Kubernetes, the time in which they serve a kind, and features |
//!
//! Kubernetes concept: [API conventions](https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md).

pub mod budget;
pub mod go_text;
pub mod identity;
pub mod json;
pub mod object;
pub mod options;
pub mod release;
pub mod selector;
pub mod status;
pub mod time;
pub mod validation;

pub use identity::{
    GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, Scope, compare_versions,
    split_api_version,
};
pub use json::{fields as json_fields, path as json_path};
pub use object::Object;
pub use options::{
    CreateOptions, DeleteOptions, DryRun, FieldValidation, GetOptions, ListOptions, PatchOptions,
    Preconditions, PropagationPolicy, ResourceVersionMatch, UpdateOptions,
};
pub use release::features;
pub use selector::sharding;
pub use status::{Reason, StatusCause, StatusError};
pub use time::{backoff, clock, go_duration};
pub use validation::{ErrorList, FieldError, FieldPath};
