//! The Common Expression Language, as Kubernetes uses it.
//!
//! An [`Environment`] declares variables and libraries. It compiles expressions to [`Program`]s, which are evaluated
//! with the values of an [`Activation`] within a [`CostBudget`]. Messages of errors are those of cel-go.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `rules` | the validation rules of a schema (`x-kubernetes-validations`) |
//! | [`admission`] | the variables of admission policies and match conditions |
//! | [`shards`] | selectors of the shards of a list |
//! | `kinds`, `schema` | declared types of kinds and of JSON schemas |
//! | `environment` | what expressions may use; compiles them |
//! | `program` | expressions planned for evaluation |
//! | `cost` | the costs of expressions, estimated, and of calls, when they are evaluated |
//! | `checker` | the type checker |
//! | `library` | the functions |
//! | `value` | the values |
//! | `budget`, `evaluation_error` | the costs and the errors of an evaluation |
//! | `declarations` | the signatures of functions |
//! | `types`, `field_names` | types; names of fields as identifiers |
//! | `syntax` | the parser |
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
mod budget;
mod checker;
mod cost;
mod declarations;
mod environment;
mod evaluation_error;
mod field_names;
mod kinds;
mod library;
mod program;
mod rules;
mod schema;
pub mod shards;
mod syntax;
mod types;
mod value;

pub use budget::{CostBudget, PER_CALL_LIMIT, RUNTIME_COST_BUDGET};
pub use cost::CostEstimate;
pub use declarations::{Libraries, Library};
pub use environment::{CompileFailure, Environment, overloads};
pub use field_names::{escape, unescape};
pub use kinds::declare_kind;
pub use program::{Activation, CompositedVariables, OutOfBudget, PlanError, Program, TooDeep};
pub use rules::{DefinitionCheck, RuleBudget, StoredExpressions, ValidationRules, check_definition};
pub use schema::{declare, max_cardinality};
pub use syntax::parser::KEYWORDS;
pub use syntax::{CompileError, CompileErrors, Location};
pub use types::{DeclType, Field, ListKind, ObjectType, OpaqueType, Param, Shape, Type};
pub use value::foreign::authorizer::{Authorizer, AuthorizerValue, Check, Decision};
pub use value::{Entries, EvaluationError, Foreign, Key, List, Map, Text, Timestamp, Value};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends at what is missing")]
mod tests;
