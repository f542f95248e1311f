//! What a request may ask for beside its object: the `*Options` kinds of `meta.k8s.io/v1`.
//!
//! Already validated: the HTTP edge parses query parameters and bodies into these types, and nothing
//! below it sees an option that makes no sense.

use super::selector::{FieldSelector, LabelSelector};

/// Options of `get`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// `""`/absent: the newest; `"0"`: any; `n`: not older than `n`.
    pub resource_version: Option<u64>,
}

/// Options of `list`, `watch` and `deletecollection`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// Which labels an object must have.
    pub label_selector: LabelSelector,
    /// Which fields an object must have.
    pub field_selector: FieldSelector,
    /// See [`ResourceVersionMatch`]; for a watch, where it starts.
    pub resource_version: Option<u64>,
    /// How `resource_version` is meant.
    pub resource_version_match: Option<ResourceVersionMatch>,
    /// At most so many objects in one page; 0 is no limit.
    pub limit: u64,
    /// The opaque token of the page before.
    pub continue_token: Option<String>,
    /// For a watch: end after so many seconds.
    pub timeout_seconds: Option<u64>,
    /// For a watch: send bookmarks.
    pub allow_watch_bookmarks: bool,
    /// For a watch: begin with the present objects, closed by a bookmark.
    pub send_initial_events: Option<bool>,
}

/// How the resource version of a list is meant.
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
    /// Do all but the write.
    pub dry_run: DryRun,
    /// What to do about unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Who manages the fields set; empty takes it from the user agent.
    pub field_manager: String,
}

/// Options of `update`.
pub type UpdateOptions = CreateOptions;

/// Options of `patch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// Do all but the write.
    pub dry_run: DryRun,
    /// What to do about unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Who manages the fields set.
    pub field_manager: String,
    /// For apply: take fields over from their managers.
    pub force: bool,
}

/// Options of `delete`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Do all but the write.
    pub dry_run: DryRun,
    /// Seconds until the object is removed; absent takes the kind's default. Never negative.
    pub grace_period_seconds: Option<i64>,
    /// What must hold of the object for the deletion to happen.
    pub preconditions: Preconditions,
    /// What becomes of dependents; absent takes the kind's default.
    pub propagation_policy: Option<PropagationPolicy>,
    /// Delete even if the stored object cannot be read.
    pub ignore_store_read_error: bool,
}

/// What must hold of the stored object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object's uid.
    pub uid: Option<String>,
    /// The object's resource version.
    pub resource_version: Option<String>,
}

/// What becomes of an object's dependents when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// They stay, without their owner.
    Orphan,
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
}

/// Whether the write is to happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It is.
    #[default]
    Off,
    /// All stages run, nothing is stored.
    All,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Say nothing.
    Ignore,
    /// Accept, with a warning each.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

impl DryRun {
    /// Whether nothing is to be stored.
    pub fn is_on(self) -> bool {
        self == Self::All
    }
}

impl Preconditions {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.uid.is_none() && self.resource_version.is_none()
    }
}

impl PropagationPolicy {
    /// The policy of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Orphan" => Some(Self::Orphan),
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            _ => None,
        }
    }
}
