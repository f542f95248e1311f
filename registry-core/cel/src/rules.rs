//! The validation rules of custom resources: `x-kubernetes-validations` in structural schemas.
//!
//! [`ValidationRules`] evaluates the rules of a schema for objects; [`DefinitionCheck`] checks the rules themselves when a
//! definition is written.
//!
//! Kubernetes concept: [validation rules](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules).

use serde_json::Value;

use crate::budget::RUNTIME_COST_BUDGET;
use crate::schema::declare;
use correlation::{Correlated, Ratchet};
use place::Place;
use registry_meta::budget::Budget;
use registry_meta::validation::{ErrorList, FieldPath};
use tree::{Declared, Node};
use walk::Walk;

mod compiled;
mod correlation;
mod cost;
mod definition;
mod failure;
mod field_path;
mod place;
mod tree;
mod walk;

pub use definition::{DefinitionCheck, StoredExpressions, check_definition};

/// The validation rules of a structural schema, shared by all requests.
///
/// Types are declared once for the whole schema. The rules of a node compile when they are evaluated for the first time.
#[derive(Debug)]
pub struct ValidationRules {
    root: Node,
}

/// The cost that is left for the rules of one object.
#[derive(Clone, Debug)]
pub struct RuleBudget<'b> {
    /// The cost that is left; negative once a limit was exceeded.
    remaining: i64,
    /// The budget of the request.
    request: Option<&'b Budget>,
}

// === impl ValidationRules ===

impl ValidationRules {
    /// Reads the rules of a structural schema; `None` if it has none.
    ///
    /// `is_resource_root` says that the schema describes a resource: `apiVersion`, `kind`, `metadata.name` and
    /// `metadata.generateName` can be used in its rules even if they are not declared.
    ///
    /// Rules that do not compile, because another version accepted them, are errors of the objects they apply to.
    pub fn compile(schema: &Value, is_resource_root: bool) -> Option<Self> {
        if !tree::has_rules(schema) {
            return None;
        }
        let declared = declare(schema, tree::SELF_TYPE, is_resource_root);
        Some(Self { root: Node::new(schema, Declared::from_declaration(declared.as_ref())) })
    }

    /// Evaluates the rules for an object that is created, or that replaces `old`.
    ///
    /// The errors of values that an update does not change are not added to `errors` but returned: Kubernetes reports them
    /// as warnings (`CRDValidationRatcheting`).
    pub fn validate(
        &self,
        path: &FieldPath,
        new: &Value,
        old: Option<&Value>,
        budget: &mut RuleBudget<'_>,
        errors: &mut ErrorList,
    ) -> ErrorList {
        let old = old.filter(|old| !old.is_null());
        let correlated = old.map(|old| Correlated::new(&self.root, new, old));
        let ratchet = Ratchet::new(correlated.as_ref());
        let mut walk = Walk::new(budget, errors);
        // An exceeded budget ends the walk; what it found is in the list.
        let _ = walk.validate(&self.root, &Place::Root(path), new, old, ratchet);
        walk.into_ratcheted()
    }
}

// === impl RuleBudget ===

impl Default for RuleBudget<'_> {
    fn default() -> Self {
        Self::new(RUNTIME_COST_BUDGET)
    }
}

impl<'b> RuleBudget<'b> {
    /// A budget of a number of cost units.
    pub fn new(cost: u64) -> Self {
        Self { remaining: i64::try_from(cost).unwrap_or(i64::MAX), request: None }
    }

    /// Takes the work from the budget of a request.
    #[must_use]
    pub fn within(mut self, request: &'b Budget) -> Self {
        self.request = Some(request);
        self
    }

    /// Returns the cost that is left for further rules; 0 once a limit was exceeded.
    pub fn remaining(&self) -> u64 {
        u64::try_from(self.remaining).unwrap_or(0)
    }

    /// Whether a limit was exceeded, so that no further rules are evaluated.
    pub fn is_exhausted(&self) -> bool {
        self.remaining < 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at what is missing")]
mod tests;
