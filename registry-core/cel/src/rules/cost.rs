//! Limits of the estimated costs of rules, and their messages.

use registry_meta::validation::{ErrorList, FieldError, FieldPath};

/// Maximum estimated cost of one expression, times the number of values it applies to.
pub(super) const EXPRESSION_LIMIT: u64 = 10_000_000;
/// Maximum estimated cost of all expressions of a schema.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// Number of expressions that are named when the limit of the schema is exceeded.
const MAX_NAMED: usize = 4;

/// The estimated costs of the expressions of a schema.
#[derive(Debug, Default)]
pub(super) struct TotalCost {
    total: u64,
    /// The most expensive expressions first.
    most_expensive: Vec<(FieldPath, u64)>,
}

// === impl TotalCost ===

impl TotalCost {
    /// Adds the cost of an expression.
    pub(super) fn add(&mut self, path: &FieldPath, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < SCHEMA_LIMIT / 100 {
            return;
        }
        self.most_expensive.push((path.clone(), cost));
        self.most_expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.most_expensive.truncate(MAX_NAMED);
    }

    /// Reports an exceeded limit.
    pub(super) fn check(self, schema: &FieldPath, errors: &mut ErrorList) {
        if self.total <= SCHEMA_LIMIT {
            return;
        }
        for (path, _) in self.most_expensive {
            let message =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(path, message));
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(schema.clone(), exceeded(name, self.total, SCHEMA_LIMIT)));
    }
}

/// The message of an exceeded limit.
pub(super) fn exceeded(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}
