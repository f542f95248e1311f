//! Environments: which variables, types and functions expressions can use.

use std::collections::HashMap;
use std::sync::Arc;

use super::checker::{self, Scope};
use super::cost;
use super::declarations::{self, Libraries, Library};
use super::program::{self, Activation, PlanError, Program};
use super::syntax::ast::Name;
use super::syntax::errors::{CompileError, CompileErrors, Location};
use super::syntax::macros::Macros;
use super::syntax::parser;
use super::types::{DeclType, ObjectType, Type};
use registry_meta::budget::{Budget, Exhausted};

/// The variables, types and functions that expressions can use.
#[derive(Clone, Debug)]
pub struct Environment {
    variables: Vec<(Name, Type)>,
    names: Arc<[Name]>,
    types: HashMap<Name, Arc<ObjectType>>,
    object_prefix: Option<Name>,
    libraries: Libraries,
    sizes: Option<DeclType>,
}

/// Number of steps that a byte of an expression costs.
const STEPS_PER_BYTE: u64 = 8;

/// The reason for which an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileFailure {
    /// It has errors. Not retryable.
    #[error("compilation failed: {0}")]
    Errors(#[from] CompileErrors),
    /// A constant part has no value. Not retryable.
    #[error("program instantiation failed: {0}")]
    Instantiation(#[from] PlanError),
    /// The request may cause no further work.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

// === impl Environment ===

impl Environment {
    /// An environment without variables, with the libraries of stored expressions.
    pub fn kubernetes() -> Self {
        Self::new(Libraries::for_stored_expressions())
    }

    /// An environment without variables.
    pub fn new(libraries: Libraries) -> Self {
        Self {
            variables: Vec::new(),
            names: Arc::from([]),
            types: HashMap::new(),
            object_prefix: None,
            libraries,
            sizes: None,
        }
    }

    /// Declares a variable. Its name may have dots.
    #[must_use]
    pub fn with_variable(mut self, name: &str, of: Type) -> Self {
        self.variables.retain(|(other, _)| other.as_ref() != name);
        self.variables.push((Name::from(name), of));
        self.names = self.variables.iter().map(|(name, _)| Arc::clone(name)).collect();
        self
    }

    /// Makes a variable unknown to expressions. The places of the others stay, so that programs of both environments can be
    /// evaluated with the same activation.
    #[must_use]
    pub(crate) fn hiding(mut self, name: &str) -> Self {
        self.variables.retain(|(other, _)| other.as_ref() != name);
        self
    }

    /// Sets the type of a variable that is declared. Its place stays.
    pub(crate) fn set_type(&mut self, name: &str, of: Type) {
        if let Some((_, own)) = self.variables.iter_mut().find(|(other, _)| other.as_ref() == name) {
            *own = of;
        }
    }

    /// Sets the types of all variables, in the order of their declaration. Their names stay shared.
    pub(crate) fn with_types_of_variables(&self, types: impl IntoIterator<Item = Type>) -> Self {
        let mut environment = self.clone();
        for ((_, of), new) in environment.variables.iter_mut().zip(types) {
            *of = new;
        }
        environment
    }

    /// Declares an object type that expressions can make values of.
    #[must_use]
    pub fn with_object_type(mut self, object: ObjectType) -> Self {
        self.types.insert(Name::from(object.name()), Arc::new(object));
        self
    }

    /// Declares that a name, and every name that starts with it and a dot, is an object type with any field.
    #[must_use]
    pub fn with_open_object_types(mut self, prefix: &str) -> Self {
        self.object_prefix = Some(Name::from(prefix));
        self
    }

    /// Adds a library.
    #[must_use]
    pub(crate) fn with_library(mut self, library: Library) -> Self {
        self.libraries = self.libraries.with(library);
        self
    }

    /// Sets the declared type that sizes are estimated from.
    #[must_use]
    pub fn with_sizes_of(mut self, declared: DeclType) -> Self {
        self.sizes = Some(declared);
        self
    }

    /// Compiles an expression: parses it, checks its types and constants, plans it, and estimates its cost. The work is taken
    /// from the budget of the request that it is part of.
    pub fn compile(&self, source: &str, budget: &Budget) -> Result<Program, CompileFailure> {
        budget.take_steps((source.len() as u64).saturating_mul(STEPS_PER_BYTE))?;
        budget.check()?;
        let macros = Macros {
            optionals: self.libraries.contains(Library::Optional),
            two_variables: self.libraries.contains(Library::Comprehensions),
            bindings: self.libraries.contains(Library::Bindings),
            list_sort_by: self.libraries.contains(Library::Lists),
        };
        let parsed = parser::parse(source, macros)?;
        budget.check()?;
        let checked = checker::check(source, parsed.ast, parsed.root, self)?;
        budget.check()?;
        checker::validate::validate(source, &checked)?;
        let estimate = cost::estimate(&checked, self.sizes.as_ref());
        Ok(program::plan(&checked, &self.names, estimate)?)
    }

    /// An activation in which no variable has a value yet.
    pub fn activation<'a>(&self) -> Activation<'a> {
        Activation::new(&self.names)
    }
}

impl Scope for Environment {
    fn variable(&self, name: &str) -> Option<Type> {
        self.variables.iter().find(|(other, _)| other.as_ref() == name).map(|(_, of)| of.clone())
    }

    fn object_type(&self, name: &str) -> Option<Arc<ObjectType>> {
        if let Some(found) = self.types.get(name) {
            return Some(Arc::clone(found));
        }
        let prefix = self.object_prefix.as_deref()?;
        let rest = name.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| Arc::new(ObjectType::with_any_field(name)))
    }

    fn libraries(&self) -> Libraries {
        self.libraries
    }
}

// === impl CompileFailure ===

impl CompileFailure {
    /// A failure that concerns an expression as a whole.
    pub fn without_position(source: &str, message: &str) -> Self {
        let error = CompileError { location: Location::NONE, message: message.to_owned() };
        Self::Errors(CompileErrors::new(source, vec![error]))
    }
}

/// All overloads of an environment, as function and identifier.
pub fn overloads(libraries: Libraries) -> Vec<(&'static str, &'static str)> {
    let functions = declarations::functions().flat_map(|function| {
        let present = function.overloads.iter().filter(move |overload| libraries.contains(overload.library));
        present.map(|overload| (function.name, overload.id))
    });
    let mut all: Vec<_> = functions.collect();
    all.sort_unstable();
    all
}
