//! Expressions of admission: match conditions of webhooks, and policies.
//!
//! An [`ExpressionCompiler`] has the variables that Kubernetes gives such expressions. All programs of all compilers have
//! their variables in the same places, so that one [`Activation`] serves for all of them.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/cel`.

use std::sync::{Arc, LazyLock};

use super::declarations::{Libraries, Library};
use super::environment::{CompileFailure, Environment};
use super::program::{Activation, CompositedVariables, Program, TooDeep};
use super::syntax::CompileErrors;
use super::types::{DeclType, ObjectType, Type};
use registry_meta::budget::Budget;

mod declared;

/// The object of the request.
pub const OBJECT: &str = "object";
/// The object before the request.
pub const OLD_OBJECT: &str = "oldObject";
/// The attributes of the request.
pub const REQUEST: &str = "request";
/// The parameters of a policy's binding.
pub const PARAMS: &str = "params";
/// The namespace of the request.
pub const NAMESPACE_OBJECT: &str = "namespaceObject";
/// The authorizer.
pub const AUTHORIZER: &str = "authorizer";
/// The authorizer's check of the request's resource.
pub const REQUEST_RESOURCE: &str = "authorizer.requestResource";
/// The variables of a policy.
pub const VARIABLES: &str = "variables";

/// Maximum cost of all match conditions of one policy or webhook, as Kubernetes limits it.
pub const MATCH_CONDITIONS_COST_BUDGET: u64 = super::RUNTIME_COST_BUDGET / 4;

/// The features that an expression may use in addition to the object and the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The functions: those of the release in which the expression was written.
    pub age: Age,
    /// Parameters.
    pub params: bool,
    /// The authorizer.
    pub authorizer: bool,
    /// The types of patches: `Object`, `JSONPatch`.
    pub patches: bool,
}

/// The required type of an expression's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Anything.
    Any,
    /// A truth value.
    Bool,
    /// A text.
    String,
    /// A text or `null`.
    StringOrNull,
    /// An `Object`.
    Object,
    /// A list of `JSONPatch`.
    JsonPatches,
}

/// The time since which an expression exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Age {
    /// It was stored before, and may use everything.
    Stored,
    /// It is written now, and may use what the previous version of Kubernetes knows too.
    #[default]
    New,
}

/// The reason for which an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It does not compile. Not retryable.
    #[error(transparent)]
    Compile(#[from] CompileFailure),
    /// It has another type. Not retryable.
    #[error("must evaluate to {wanted} but got {found}")]
    WrongType {
        /// The type that it must have, or several.
        wanted: &'static str,
        /// Its type.
        found: String,
    },
    /// The variables that it selects are nested too deeply. Not retryable.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
}

/// Compiles expressions over the variables of admission.
#[derive(Debug)]
pub struct ExpressionCompiler {
    /// The environments by the bits of [`Uses`].
    environments: [Option<Environment>; 16],
    /// The type of the variables so far; `None` if there cannot be any.
    variables: Option<Arc<ObjectType>>,
    compiled: CompositedVariables,
    /// The types of the object and of the parameters, if they are known.
    overwritten: Option<(Type, Type)>,
}

/// The environments without variables of policies, for stored expressions.
static STORED: LazyLock<Environment> = LazyLock::new(|| base(Libraries::for_stored_expressions()));
/// The same for new expressions.
static NEW: LazyLock<Environment> = LazyLock::new(|| base(Libraries::for_new_expressions()));

fn base(libraries: Libraries) -> Environment {
    let authorizer = |name: &str| Type::Object(Arc::new(ObjectType::without_fields(name)));
    Environment::new(libraries)
        .with_variable(OBJECT, Type::Dyn)
        .with_variable(OLD_OBJECT, Type::Dyn)
        .with_variable(REQUEST, declared::request().cel_type().clone())
        .with_variable(NAMESPACE_OBJECT, declared::namespace().cel_type().clone())
        .with_variable(PARAMS, Type::Dyn)
        .with_variable(AUTHORIZER, authorizer("kubernetes.authorization.Authorizer"))
        .with_variable(REQUEST_RESOURCE, authorizer("kubernetes.authorization.ResourceCheck"))
        .with_variable(VARIABLES, Type::Dyn)
}

/// Returns an activation in which no variable has a value yet.
pub fn activation<'a>() -> Activation<'a> {
    STORED.activation()
}

// === impl ExpressionCompiler ===

impl ExpressionCompiler {
    /// A compiler of expressions that cannot use variables of a policy.
    pub fn new() -> Self {
        Self {
            environments: Default::default(),
            variables: None,
            compiled: CompositedVariables::default(),
            overwritten: None,
        }
    }

    /// A compiler of the expressions of one policy, which can use its variables.
    pub fn with_variables() -> Self {
        let none = ObjectType::new("kubernetes.variables", std::collections::BTreeMap::new());
        Self { variables: Some(Arc::new(none)), ..Self::new() }
    }

    /// Declares the types of the objects and of the parameters, to find errors that otherwise show when expressions are
    /// evaluated. `authorizer.requestResource` is unknown then, as in Kubernetes.
    #[must_use]
    pub fn with_types(mut self, object: Option<&DeclType>, params: Option<&DeclType>) -> Self {
        let of =
            |declared: Option<&DeclType>| declared.map_or(Type::Dyn, |declared| declared.cel_type().clone());
        self.overwritten = Some((of(object), of(params)));
        self
    }

    /// Compiles an expression within the budget of the request that it is part of.
    ///
    /// # Errors
    /// Fails if it has errors, or evaluates to something else.
    pub fn compile(
        &mut self,
        source: &str,
        returns: Returns,
        uses: Uses,
        budget: &Budget,
    ) -> Result<Program, ExpressionError> {
        let program = self.environment(uses).compile(source, budget)?;
        returns.check(program.output_type())?;
        self.compiled.check_depth(&program)?;
        Ok(program)
    }

    /// Checks the types of an expression, which may use the functions of any age.
    ///
    /// # Errors
    /// Fails if it has errors.
    pub fn check_types(&mut self, source: &str, uses: Uses) -> Result<Type, CompileErrors> {
        match self.environment(Uses { age: Age::Stored, ..uses }).compile(source, &Budget::unlimited()) {
            Ok(program) => Ok(program.output_type().clone()),
            Err(CompileFailure::Errors(errors)) => Err(errors),
            // Constants are not evaluated to check types.
            Err(CompileFailure::Instantiation(_) | CompileFailure::Exhausted(_)) => Ok(Type::Dyn),
        }
    }

    /// Compiles a variable, which later expressions can use. Of one with errors the type is unknown.
    ///
    /// # Errors
    /// Fails if it has errors.
    pub fn compile_variable(
        &mut self,
        name: &str,
        source: &str,
        uses: Uses,
        budget: &Budget,
    ) -> Result<(), ExpressionError> {
        let result = self.compile(source, Returns::Any, uses, budget);
        let of = result.as_ref().map_or(Type::Dyn, |program| kept_type(program.output_type()));
        self.declare_variable(name, &of);
        let failure = result.as_ref().err().cloned();
        self.compiled.insert(name, result.map(Arc::new));
        failure.map_or(Ok(()), Err)
    }

    /// Declares a variable of a type, without an expression for it.
    pub fn declare_variable(&mut self, name: &str, of: &Type) {
        let Some(variables) = &self.variables else { return };
        let variables = Arc::new(variables.with_further_field(name, DeclType::from_type(kept_type(of))));
        for environment in self.environments.iter_mut().flatten() {
            environment.set_type(VARIABLES, Type::Object(Arc::clone(&variables)));
        }
        self.variables = Some(variables);
    }

    /// Returns the variables that were compiled.
    pub fn into_variables(self) -> CompositedVariables {
        self.compiled
    }

    fn environment(&mut self, uses: Uses) -> &Environment {
        let (is_new, base) = match uses.age {
            Age::Stored => (false, &*STORED),
            Age::New => (true, &*NEW),
        };
        let bits = [uses.params, uses.authorizer, uses.patches, is_new];
        let place = bits.iter().fold(0, |place, bit| place << 1 | usize::from(*bit));
        let variables = self.variables.as_ref();
        let overwritten = self.overwritten.as_ref();
        // The place has four bits.
        let Some(environment) = self.environments.get_mut(place) else { return base };
        environment.get_or_insert_with(|| extended(base, uses, variables, overwritten))
    }
}

impl Default for ExpressionCompiler {
    fn default() -> Self {
        Self::new()
    }
}

fn extended(
    base: &Environment,
    uses: Uses,
    variables: Option<&Arc<ObjectType>>,
    overwritten: Option<&(Type, Type)>,
) -> Environment {
    let mut environment = base.clone();
    match variables {
        Some(variables) => environment.set_type(VARIABLES, Type::Object(Arc::clone(variables))),
        None => environment = environment.hiding(VARIABLES),
    }
    if let Some((object, params)) = overwritten {
        environment.set_type(OBJECT, object.clone());
        environment.set_type(OLD_OBJECT, object.clone());
        environment.set_type(PARAMS, params.clone());
        environment = environment.hiding(REQUEST_RESOURCE);
    }
    if !uses.params {
        environment = environment.hiding(PARAMS);
    }
    if !uses.authorizer {
        environment = environment.hiding(AUTHORIZER).hiding(REQUEST_RESOURCE);
    }
    if uses.patches {
        environment = environment
            .with_library(Library::JsonPatch)
            .with_object_type(declared::json_patch())
            .with_open_object_types(declared::OBJECT_TYPE);
    }
    environment
}

/// Returns the declared type of a variable: the types of scalars, lists and maps are kept, other types become dynamic.
fn kept_type(of: &Type) -> Type {
    match of {
        Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Duration
        | Type::Timestamp => of.clone(),
        Type::List(element) => Type::list(kept_type(element)),
        Type::Map(entry) => Type::map(kept_type(&entry.0), kept_type(&entry.1)),
        _ => Type::Dyn,
    }
}

// === impl ExpressionError ===

impl ExpressionError {
    /// Whether the expression is correct, but cannot be evaluated.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Compile(CompileFailure::Instantiation(_) | CompileFailure::Exhausted(_)))
    }
}

// === impl Returns ===

impl Returns {
    fn check(self, found: &Type) -> Result<(), ExpressionError> {
        let is_right = match self {
            Self::Any => true,
            Self::Bool => *found == Type::Bool,
            Self::String => *found == Type::String,
            Self::StringOrNull => matches!(found, Type::String | Type::Null),
            Self::Object => is_object(found, declared::OBJECT_TYPE),
            Self::JsonPatches => {
                matches!(found, Type::List(element) if is_object(element, declared::JSON_PATCH_TYPE))
            }
        };
        if is_right {
            return Ok(());
        }
        let wanted = match self {
            Self::Any => "any",
            Self::Bool => "bool",
            Self::String => "string",
            Self::StringOrNull => "one of [string null_type]",
            Self::Object => "Object",
            Self::JsonPatches => "list(JSONPatch)",
        };
        Err(ExpressionError::WrongType { wanted, found: declared_name(found) })
    }
}

fn is_object(of: &Type, name: &str) -> bool {
    matches!(of, Type::Object(object) if object.name() == name)
}

/// The name of a type with its parameters, as declarations have it.
fn declared_name(of: &Type) -> String {
    match of {
        Type::List(element) => format!("list({})", declared_name(element)),
        Type::Map(entry) => format!("map({}, {})", declared_name(&entry.0), declared_name(&entry.1)),
        Type::Null | Type::Duration | Type::Timestamp => of.name().to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
