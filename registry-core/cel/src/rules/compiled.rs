//! Single rules: what they declare, and how they compile.

use std::cell::OnceCell;
use std::sync::LazyLock;

use serde_json::Value;

use super::field_path;
use crate::declarations::Libraries;
use crate::environment::{CompileFailure, Environment};
use crate::program::{PlanError, Program};
use crate::syntax::CompileErrors;
use crate::types::{DeclType, Type};
use registry_meta::budget::{Budget, Exhausted};
use registry_meta::validation::FieldErrorKind;

/// A rule as a schema declares it.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) expression: Box<str>,
    pub(super) message: Box<str>,
    pub(super) message_expression: Box<str>,
    pub(super) reason: FieldErrorKind,
    /// The path of the field that errors are about, below the value; `None` for the value itself.
    pub(super) field_path: Option<Box<str>>,
    pub(super) is_optional_old_self: bool,
}

/// The result of compiling a rule.
#[derive(Debug)]
pub(super) enum CompiledRule {
    /// There is no expression.
    Empty,
    Failed(String),
    Compiled(Box<RulePrograms>),
}

/// The programs of a rule.
#[derive(Debug)]
pub(super) struct RulePrograms {
    pub(super) rule: Program,
    pub(super) uses_old_self: bool,
    /// The program of `messageExpression`, or why it has none; `None` if there is no such expression.
    pub(super) message: Option<Result<Program, MessageError>>,
}

/// The reason for which a `messageExpression` cannot be used. Not retryable. The text is Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum MessageError {
    #[error("messageExpression must evaluate to a string")]
    NotAString,
    #[error("messageExpression compilation failed: {0}")]
    Malformed(#[source] CompileErrors),
    #[error("messageExpression instantiation failed: {0}")]
    Instantiation(#[source] PlanError),
    #[error(transparent)]
    Exhausted(Exhausted),
}

/// The environments of the rules of one schema.
pub(super) struct Environments<'d> {
    declared: &'d DeclType,
    libraries: &'static LazyLock<Environment>,
    plain: OnceCell<Environment>,
    optional: OnceCell<Environment>,
}

/// The variables of rules with all libraries; their types are set for each schema. The names are shared by all programs.
static STORED: LazyLock<Environment> = LazyLock::new(|| variables(Libraries::for_stored_expressions()));
/// The same with the libraries of new rules.
static NEW: LazyLock<Environment> = LazyLock::new(|| variables(Libraries::for_new_expressions()));

fn variables(libraries: Libraries) -> Environment {
    Environment::new(libraries).with_variable("self", Type::Dyn).with_variable("oldSelf", Type::Dyn)
}

/// Compiles a rule and its message expression, each in an environment of its own.
pub(super) fn compile(
    rule: &Rule,
    rules: &Environments<'_>,
    messages: &Environments<'_>,
    budget: &Budget,
) -> CompiledRule {
    if rule.expression.trim().is_empty() {
        return CompiledRule::Empty;
    }
    let program = match rules.for_rule(rule).compile(&rule.expression, budget) {
        Ok(program) => program,
        Err(failure) => return CompiledRule::Failed(failure.to_string()),
    };
    if *program.output_type() != Type::Bool {
        return CompiledRule::Failed("cel expression must evaluate to a bool".to_owned());
    }
    let has_message = !rule.message_expression.is_empty();
    let message = has_message.then(|| compile_message(rule, messages.for_rule(rule), budget));
    let uses_old_self = program.references("oldSelf");
    CompiledRule::Compiled(Box::new(RulePrograms { rule: program, uses_old_self, message }))
}

fn compile_message(rule: &Rule, environment: &Environment, budget: &Budget) -> Result<Program, MessageError> {
    match environment.compile(&rule.message_expression, budget) {
        Ok(program) if *program.output_type() == Type::String => Ok(program),
        Ok(_) => Err(MessageError::NotAString),
        Err(CompileFailure::Errors(errors)) => Err(MessageError::Malformed(errors)),
        Err(CompileFailure::Exhausted(exhausted)) => Err(MessageError::Exhausted(exhausted)),
        Err(CompileFailure::Instantiation(error)) => Err(MessageError::Instantiation(error)),
    }
}

// === impl Rule ===

impl Rule {
    /// Reads a rule of a schema.
    pub(super) fn new(rule: &Value, schema: &Value) -> Self {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
        let reason = match text("reason") {
            "FieldValueForbidden" => FieldErrorKind::Forbidden,
            "FieldValueRequired" => FieldErrorKind::Required,
            "FieldValueDuplicate" => FieldErrorKind::Duplicate,
            _ => FieldErrorKind::Invalid,
        };
        let path = Some(text("fieldPath")).filter(|path| !path.is_empty());
        let path = path.and_then(|path| field_path::resolve(path, schema));
        Self {
            expression: text("rule").into(),
            message: text("message").into(),
            message_expression: text("messageExpression").into(),
            reason,
            field_path: path.map(|path| path.to_string().into()),
            is_optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
        }
    }

    /// Returns the text that stands for the rule in messages.
    pub(super) fn shown(&self) -> &str {
        if self.message.is_empty() { self.expression.trim() } else { self.message.trim() }
    }
}

// === impl CompiledRule ===

impl CompiledRule {
    /// Whether one of the expressions does not compile.
    pub(super) fn has_errors(&self) -> bool {
        match self {
            Self::Empty => false,
            Self::Failed(_) => true,
            Self::Compiled(programs) => matches!(programs.message, Some(Err(_))),
        }
    }
}

// === impl Environments ===

impl<'d> Environments<'d> {
    /// For rules that were accepted, by whatever version.
    pub(super) fn for_stored(declared: &'d DeclType) -> Self {
        Self { declared, libraries: &STORED, plain: OnceCell::new(), optional: OnceCell::new() }
    }

    /// For rules that are written now.
    pub(super) fn for_new(declared: &'d DeclType) -> Self {
        Self { libraries: &NEW, ..Self::for_stored(declared) }
    }

    fn for_rule(&self, rule: &Rule) -> &Environment {
        let of = self.declared.cel_type();
        if rule.is_optional_old_self {
            self.optional.get_or_init(|| self.with_types(of.clone(), Type::optional(of.clone())))
        } else {
            self.plain.get_or_init(|| self.with_types(of.clone(), of.clone()))
        }
    }

    fn with_types(&self, own: Type, old: Type) -> Environment {
        self.libraries.with_types_of_variables([own, old]).with_sizes_of(self.declared.clone())
    }
}

/// An activation for the variables of rules.
pub(super) fn activation<'a>() -> crate::program::Activation<'a> {
    STORED.activation()
}
