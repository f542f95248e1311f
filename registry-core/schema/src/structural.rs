//! Structural schemas: what a CustomResourceDefinition says about the objects of one version.
//!
//! The JSON of `openAPIV3Schema` is compiled once to an arena of [`Node`]s. Every algorithm on objects (pruning,
//! defaulting, validation, …) follows the object and the nodes together, so its cost depends on the object, not on the
//! schema. Custom resources are not type-checked when they are decoded: a wrong type is an error of validation.
//!
//! Kubernetes concept: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema` and `…/validation`.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use registry_meta::budget::{Budget, Exhausted};
use registry_meta::{ErrorList, FieldPath};

use super::{ConformError, FieldIssue};

mod compile;
mod correlate;
mod default_values;
mod defaults;
mod formats;
mod kind;
mod limited;
mod lists;
mod metadata;
mod node;
mod numbers;
mod prune;
#[cfg(test)]
mod tests;
mod types;
mod validate;

pub(crate) use compile::{RECURSIVE, SAME_AS};
use node::{Node, NodeId, Tree};

/// The compiled structural schema of a custom kind in one version, or of a part of it.
///
/// Cheap to clone.
#[derive(Clone)]
pub struct StructuralSchema {
    tree: Arc<Tree>,
    root: NodeId,
}

// === impl StructuralSchema ===

impl StructuralSchema {
    /// Compiles a schema that passed validation. What it does not understand accepts any value.
    ///
    /// `preserve_unknown_fields`: the definition's field of this name, which turns pruning off.
    pub fn compile(schema: &Value, preserve_unknown_fields: bool) -> Self {
        let (tree, root) = compile::compile(schema, preserve_unknown_fields);
        Self { tree: Arc::new(tree), root }
    }

    /// Compiles the schema of a Rust type, which can contain itself.
    pub(super) fn compile_recursive(schema: &Value) -> Self {
        let (tree, root) = compile::compile_recursive(schema);
        Self { tree: Arc::new(tree), root }
    }

    /// Returns the schema of a property, so that the `status` subresource can be validated alone; `None` if the schema
    /// does not have it.
    pub fn property(&self, name: &str) -> Option<Self> {
        let root = self.node().property(name)?;
        Some(Self { tree: Arc::clone(&self.tree), root })
    }

    /// Returns the schema of a list's elements; `None` if the schema does not have it.
    pub fn items(&self) -> Option<Self> {
        let root = self.node().items?;
        Some(Self { tree: Arc::clone(&self.tree), root })
    }

    /// Checks and normalises the `metadata` of the object and of its embedded resources: drops the fields that
    /// `ObjectMeta` does not have, adding their paths to `issues`.
    ///
    /// `drop_invalid`: fields of the wrong type are dropped, as for objects from storage.
    ///
    /// # Errors
    /// Fails if a field has the wrong type, unless those are dropped.
    pub fn coerce_metadata(
        &self,
        value: &mut Value,
        drop_invalid: bool,
        issues: &mut Vec<FieldIssue>,
    ) -> Result<(), ConformError> {
        metadata::coerce_own(value, drop_invalid, issues)?;
        metadata::coerce_embedded(&self.tree, self.root, value, drop_invalid, issues)
    }

    /// Removes the fields that the schema does not have, adding their paths to `issues`. Does nothing if the definition
    /// preserves unknown fields.
    pub fn prune(&self, value: &mut Value, issues: &mut Vec<FieldIssue>) {
        if !self.tree.preserves_unknown_fields {
            prune::prune(&self.tree, self.root, value, issues);
        }
    }

    /// Normalises a decoded object: its metadata, what the schema does not have, nulls, and numbers.
    pub(super) fn conform(
        &self,
        value: &mut Value,
        issues: &mut Vec<FieldIssue>,
    ) -> Result<(), ConformError> {
        metadata::coerce_own(value, false, issues)?;
        self.prune(value, issues);
        self.prune_nulls(value);
        numbers::shorten(&self.tree, Some(self.root), value);
        metadata::coerce_embedded(&self.tree, self.root, value, false, issues)
    }

    /// [Prunes](Self::prune) a part of an object, such as a default: it has metadata only if the schema says so.
    pub fn prune_part(&self, value: &mut Value) {
        if !self.tree.preserves_unknown_fields {
            prune::prune_part(&self.tree, self.root, value);
        }
    }

    /// Removes nulls that the schema does not allow.
    pub(super) fn prune_nulls(&self, value: &mut Value) {
        if !self.tree.preserves_unknown_fields {
            defaults::prune_nulls(&self.tree, self.root, value);
        }
    }

    /// Removes nulls that the schema does not allow, and sets the defaults of absent properties, whose memory it takes from
    /// a budget. Idempotent.
    ///
    /// # Errors
    /// Fails if the budget is exhausted. Some defaults are set then.
    pub fn apply_defaults(&self, value: &mut Value, budget: &Budget) -> Result<(), Exhausted> {
        self.prune_nulls(value);
        defaults::apply(&self.tree, self.root, value, budget)
    }

    /// Whether [`apply_defaults`](Self::apply_defaults) would set defaults in an object.
    pub fn lacks_defaults(&self, object: &Map<String, Value>) -> bool {
        let root = self.node();
        root.is(node::Flags::HAS_DEFAULTS) && defaults::are_lacking(&self.tree, root, object)
    }

    /// Validates a value: types, formats, enums, ranges, lengths, patterns, required properties, and the combinations
    /// of these. The errors are kube-apiserver's, up to a total size that no honest object reaches.
    ///
    /// Does not check that lists are [distinct](Self::validate_lists), [embedded resources](Self::validate_embedded),
    /// or rules in CEL.
    pub fn validate(&self, path: &FieldPath, value: &Value, budget: &Budget, errors: &mut ErrorList) {
        validate::create((&self.tree, self.root), path, value, budget, errors);
    }

    /// Validates an update. Errors of values that the update does not change are not reported: the schema may have
    /// become stricter since (validation ratcheting).
    pub fn validate_update(
        &self,
        path: &FieldPath,
        new: &Value,
        old: &Value,
        budget: &Budget,
        errors: &mut ErrorList,
    ) {
        validate::update((&self.tree, self.root), path, (new, old), budget, errors);
    }

    /// Checks that the elements of sets and the keys of maps are distinct. Reports nothing if `old`, the value before
    /// the update, violates this too.
    pub fn validate_lists(&self, path: &FieldPath, new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        if old.is_some_and(|old| lists::has_duplicates(&self.tree, self.root, old)) {
            return;
        }
        lists::validate(&self.tree, self.root, path, new, errors);
    }

    /// Checks that embedded resources have an `apiVersion`, a `kind`, and valid metadata.
    pub fn validate_embedded(&self, path: &FieldPath, value: &Value, errors: &mut ErrorList) {
        metadata::validate_embedded(&self.tree, self.root, path, value, errors);
    }

    /// Whether unknown fields of the value itself are kept.
    pub fn keeps_unknown(&self) -> bool {
        self.tree.preserves_unknown_fields || self.node().is(node::Flags::KEEPS_UNKNOWN)
    }

    fn node(&self) -> &Node {
        self.tree.node(self.root)
    }
}

/// Formats only the size: schemas are large.
impl fmt::Debug for StructuralSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StructuralSchema").field("nodes", &self.tree.len()).finish_non_exhaustive()
    }
}
