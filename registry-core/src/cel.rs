//! The Common Expression Language, as Kubernetes uses it.
//!
//! An [`Environment`] declares variables and libraries. It compiles expressions to [`Program`]s, which are evaluated
//! with the values of an [`Activation`] within a [`CostBudget`]. Messages of errors are those of cel-go. `schema`
//! makes declared types of JSON schemas.
//!
//! Values borrow the JSON trees they come from; nothing is copied to evaluate `self.replicas <= self.max`.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the language converts between number types; places where a number may not fit check it"
)]
#![allow(
    clippy::single_match_else,
    clippy::unnecessary_wraps,
    reason = "functions of one table have one signature, and both cases of a look-up stand side by side"
)]

pub mod admission;
mod checker;
mod cost;
mod declarations;
mod environment;
mod kinds;
mod library;
mod program;
mod rules;
mod schema;
mod syntax;
mod types;
mod value;

pub use cost::CostEstimate;
pub use declarations::{Libraries, Library};
pub use environment::{CompileFailure, Environment, overloads};
pub use kinds::declare_kind;
pub use library::Foreign;
pub use library::authorizer::{Authorizer, AuthorizerValue, Check, Decision};
pub use program::{
    Activation, CompositedVariables, CostBudget, OutOfBudget, PER_CALL_LIMIT, Program, RUNTIME_COST_BUDGET,
};
pub use rules::{DefinitionCheck, RuleBudget, StoredExpressions, ValidationRules, check_definition};
pub use schema::{KEYWORDS, declare, escape, max_cardinality, unescape};
pub use syntax::{CompileError, CompileErrors, Location};
pub use types::{DeclType, Field, ListKind, ObjectType, OpaqueType, Param, Shape, Type};
pub use value::{Entries, EvaluationError, Key, List, Map, Text, Timestamp, Value};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends at what is missing")]
mod tests;
