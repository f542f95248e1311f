//! The rules that apply to a definition.

use std::collections::HashSet;
use std::sync::Arc;

use registry_core::cel::StoredExpressions;

/// The rules that apply to a definition. A change may violate rules that are newer than the stored definition.
pub(super) struct Options<'a> {
    /// A webhook must understand a version of reviews that the server speaks.
    pub(super) review_version_is_known: bool,
    /// The scope and the kind must not change.
    pub(super) names_are_fixed: bool,
    /// Every version must have a schema.
    pub(super) schema_is_required: bool,
    /// Types must be those of OpenAPI.
    pub(super) types_are_known: bool,
    /// Schemas must be structural.
    pub(super) is_structural: bool,
    /// Defaults must not have unknown fields.
    pub(super) defaults_are_pruned: bool,
    /// Elements of sets must be atomic.
    pub(super) sets_are_atomic: bool,
    /// Keys of lists must be set, and their elements not null.
    pub(super) keys_are_set: bool,
    /// The certificates of a webhook may be unreadable.
    pub(super) allows_bad_bundle: bool,
    /// Versions that may have too many selectable fields; the empty name stands for all versions.
    pub(super) many_selectable: HashSet<&'a str>,
    /// Versions whose schema did not change: their rules may cost what they cost.
    pub(super) unchanged: HashSet<&'a str>,
    /// The expressions of the definition before the change: they may use what new ones may not.
    pub(super) stored: Arc<StoredExpressions<'a>>,
}

// === impl Options ===

impl Options<'_> {
    /// Returns the rules for new definitions: all.
    pub(super) fn for_creation() -> Self {
        Self {
            review_version_is_known: true,
            names_are_fixed: false,
            schema_is_required: true,
            types_are_known: true,
            is_structural: true,
            defaults_are_pruned: true,
            sets_are_atomic: true,
            keys_are_set: true,
            // The server looks at the certificates before it serves the resource.
            allows_bad_bundle: true,
            many_selectable: HashSet::new(),
            unchanged: HashSet::new(),
            stored: Arc::default(),
        }
    }
}
