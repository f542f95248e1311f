//! Request options: the `*Options` kinds of `meta.k8s.io/v1`.
//!
//! The values are already validated: the HTTP layer parses query parameters and bodies into these types and rejects
//! invalid options.

use super::selector::{FieldSelector, LabelSelector};
use super::sharding::ShardSelector;

/// Options of `get`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// `""` or absent: the newest; `"0"`: any; `n`: at least as new as `n`.
    pub resource_version: Option<u64>,
}

/// Options of `list`, `watch` and `deletecollection`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// The label selector that objects must match.
    pub label_selector: LabelSelector,
    /// The field selector that objects must match.
    pub field_selector: FieldSelector,
    /// The shard that objects must belong to.
    pub shard_selector: Option<ShardSelector>,
    /// See [`ResourceVersionMatch`]; for a watch, the version to start after.
    pub resource_version: Option<u64>,
    /// The interpretation of `resource_version`.
    pub resource_version_match: Option<ResourceVersionMatch>,
    /// Maximum number of objects in a page; 0 means no limit.
    pub limit: u64,
    /// The opaque continue token of the previous page.
    pub continue_token: Option<String>,
    /// For a watch: the timeout after which it ends, in seconds.
    pub timeout_seconds: Option<u64>,
    /// For a watch: whether to send bookmarks.
    pub allow_watch_bookmarks: bool,
    /// For a watch: whether to send the existing objects first, followed by a bookmark.
    pub send_initial_events: Option<bool>,
}

/// The interpretation of the resource version of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceVersionMatch {
    /// Exactly the state at this revision.
    Exact,
    /// Any state at least as new.
    NotOlderThan,
}

/// Options of `create`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Whether to skip the write.
    pub dry_run: DryRun,
    /// The number of times that the client gave `dryRun=All`. An eviction compares it with the options in its body.
    pub dry_run_count: usize,
    /// The treatment of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// The manager of the fields set; if empty, it is derived from the user agent.
    pub field_manager: String,
}

/// Options of `update`.
pub type UpdateOptions = CreateOptions;

/// Options of `patch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// Whether to skip the write.
    pub dry_run: DryRun,
    /// The treatment of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// The manager of the fields set.
    pub field_manager: String,
    /// For apply: whether to take over fields of other managers.
    pub force: bool,
}

/// Options of `delete`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Whether to skip the write.
    pub dry_run: DryRun,
    /// Grace period before the object is removed, in seconds; absent means the kind's default. Never negative.
    pub grace_period_seconds: Option<i64>,
    /// Conditions that the object must fulfil.
    pub preconditions: Preconditions,
    /// The treatment of dependents; absent means the kind's default.
    pub propagation_policy: Option<PropagationPolicy>,
    /// The deprecated form of the policy, if the client used it.
    pub orphan_dependents: Option<bool>,
    /// Whether to delete the object even if the stored data cannot be decoded.
    pub ignore_store_read_error: bool,
}

/// Conditions on the stored object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object's uid.
    pub uid: Option<String>,
    /// The object's resource version.
    pub resource_version: Option<String>,
}

/// The treatment of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// Dependents are kept, without the owner reference.
    Orphan,
    /// Dependents are deleted after the owner.
    Background,
    /// Dependents are deleted before the owner.
    Foreground,
}

/// Whether a write is a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// The write is performed.
    #[default]
    Off,
    /// All stages run, but nothing is stored.
    All,
}

/// The treatment of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Ignore them.
    Ignore,
    /// Accept them, with a warning for each.
    #[default]
    Warn,
    /// Reject the request.
    Strict,
}

impl DryRun {
    /// Whether this is a dry run.
    pub fn is_on(self) -> bool {
        self == Self::All
    }
}

impl Preconditions {
    /// Whether there are no preconditions.
    pub fn is_empty(&self) -> bool {
        self.uid.is_none() && self.resource_version.is_none()
    }
}

impl PropagationPolicy {
    /// Returns the policy with this name, if it exists.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Orphan" => Some(Self::Orphan),
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            _ => None,
        }
    }
}
