//! Type checking: resolves names, selects overloads, and infers type parameters as cel-go does.

use std::collections::HashMap;
use std::sync::Arc;

use super::declarations::{self, Function, Libraries, Overload};
use super::syntax::ast::{Ast, Expr, ExprId, Literal, Name, operators};
use super::syntax::errors::{CompileError, CompileErrors, Location};
use super::types::{ObjectType, Type};
use unify::Substitutions;

mod aggregates;
mod unify;
pub(crate) mod validate;

/// The declarations from outside of an expression that its names can refer to.
pub(crate) trait Scope {
    /// The type of a variable.
    fn variable(&self, name: &str) -> Option<Type>;
    /// An object type by its name.
    fn object_type(&self, name: &str) -> Option<Arc<ObjectType>>;
    /// The libraries whose functions may be called.
    fn libraries(&self) -> Libraries;
}

/// The declaration that a name or a call refers to.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    /// A variable, declared outside or by a comprehension. A dotted variable is one name.
    Variable(Name),
    /// A type as a value.
    Type(Type),
    /// The overloads that fit, by function and index.
    Overloads(&'static Function, Vec<usize>),
}

/// An expression with the types and references of all its parts.
pub(crate) struct Checked {
    pub(crate) ast: Ast,
    pub(crate) root: ExprId,
    pub(crate) types: Vec<Type>,
    pub(crate) references: HashMap<ExprId, Reference>,
}

/// Checks the types of one expression.
pub(crate) struct Checker<'e> {
    source: &'e str,
    ast: Ast,
    scope: &'e dyn Scope,
    types: Vec<Option<Type>>,
    references: HashMap<ExprId, Reference>,
    substitutions: Substitutions,
    /// The variables of the comprehensions around the place that is checked.
    locals: Vec<(Name, Type)>,
    errors: Vec<CompileError>,
    /// Number of errors that are not kept.
    truncated: usize,
}

/// Maximum number of errors that are kept.
const MAX_ERRORS: usize = 100;
/// Maximum number of types in the type of one expression.
const MAX_TYPE_SIZE: usize = 1_000;

/// Checks an expression.
pub(crate) fn check(
    source: &str,
    ast: Ast,
    root: ExprId,
    scope: &dyn Scope,
) -> Result<Checked, CompileErrors> {
    let types = vec![None; ast.len()];
    let mut checker = Checker {
        source,
        ast,
        scope,
        types,
        references: HashMap::new(),
        substitutions: Substitutions::default(),
        locals: Vec::new(),
        errors: Vec::new(),
        truncated: 0,
    };
    checker.check(root);
    if checker.substitutions.is_exhausted() {
        let message = "types of the expression are too large".to_owned();
        return Err(CompileErrors::new(source, vec![CompileError { location: Location::NONE, message }]));
    }
    if !checker.errors.is_empty() {
        return Err(CompileErrors::new(source, checker.errors).with_truncated(checker.truncated));
    }
    let substitutions = checker.substitutions;
    let types = checker
        .types
        .into_iter()
        .map(|found| found.map_or(Type::Dyn, |found| substitutions.substitute(&found, true)))
        .collect();
    Ok(Checked { ast: checker.ast, root, types, references: checker.references })
}

// === impl Checked ===

impl Checked {
    pub(crate) fn type_of(&self, id: ExprId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Dyn)
    }

    /// The overloads that a call may select.
    pub(crate) fn overloads(&self, id: ExprId) -> Vec<&'static Overload> {
        match self.references.get(&id) {
            Some(Reference::Overloads(function, indices)) => {
                indices.iter().filter_map(|index| function.overloads.get(*index)).collect()
            }
            _ => Vec::new(),
        }
    }
}

// === impl Checker ===

impl Checker<'_> {
    fn error(&mut self, offset: u32, message: String) {
        if self.errors.len() >= MAX_ERRORS {
            self.truncated += 1;
            return;
        }
        self.errors
            .push(CompileError { location: Location::from_offset(self.source, offset as usize), message });
    }

    fn error_at(&mut self, id: ExprId, message: String) {
        let offset = self.ast.offset(id);
        self.error(offset, message);
    }

    fn undeclared(&mut self, id: ExprId, name: &str) {
        let name = name.trim_start_matches('.');
        self.error_at(id, format!("undeclared reference to '{name}' (in container '')"));
    }

    fn set_type(&mut self, id: ExprId, mut found: Type) {
        if !found.is_smaller_than(MAX_TYPE_SIZE) {
            self.error_at(id, "type of the expression is too large".to_owned());
            found = Type::Error;
        }
        if let Some(place) = self.types.get_mut(id.index()) {
            *place = Some(found);
        }
    }

    fn type_of(&self, id: ExprId) -> Type {
        self.types.get(id.index()).cloned().flatten().unwrap_or(Type::Error)
    }

    fn resolved_type(&self, id: ExprId) -> Type {
        self.substitutions.substitute(&self.type_of(id), false)
    }

    fn check(&mut self, id: ExprId) {
        match self.ast.get(id) {
            Expr::Error => self.set_type(id, Type::Error),
            Expr::Literal(literal) => {
                let found = literal_type(literal);
                self.set_type(id, found);
            }
            Expr::Ident(name) => {
                let name = Arc::clone(name);
                self.check_ident(id, &name);
            }
            Expr::Select { operand, field, test_only } => {
                let operand = *operand;
                let field = Arc::clone(field);
                let test_only = *test_only;
                self.check_select(id, operand, &field, test_only);
            }
            Expr::Call { function, target, args } => {
                let function = Arc::clone(function);
                let target = *target;
                let args = args.clone();
                self.check_call(id, &function, target, &args);
            }
            Expr::List { elements, optional } => {
                let elements = elements.clone();
                let optional = optional.clone();
                self.check_list(id, &elements, &optional);
            }
            Expr::Map { entries } => {
                let entries = entries.clone();
                self.check_map(id, &entries);
            }
            Expr::Struct { type_name, fields } => {
                let type_name = Arc::clone(type_name);
                let fields = fields.clone();
                self.check_struct(id, &type_name, &fields);
            }
            Expr::Comprehension(fold) => {
                let fold = fold.clone();
                self.check_comprehension(id, &fold);
            }
        }
    }

    /// Resolves a name. Variables of comprehensions hide the variables of the environment.
    fn resolve(&self, name: &str) -> Option<(Type, Reference)> {
        let local = self.locals.iter().rev().find(|(local, _)| local.as_ref() == name);
        if let Some((local, found)) = local {
            return Some((found.clone(), Reference::Variable(Arc::clone(local))));
        }
        let name = name.trim_start_matches('.');
        if let Some(found) = self.scope.variable(name) {
            return Some((found, Reference::Variable(Name::from(name))));
        }
        let found = declarations::named_type(name)
            .or_else(|| self.scope.object_type(name).map(Type::Object))
            .filter(|_| name != "dyn" && name != "duration" && name != "timestamp")?;
        Some((Type::Type(Some(Arc::new(found.clone()))), Reference::Type(found)))
    }

    fn check_ident(&mut self, id: ExprId, name: &str) {
        match self.resolve(name) {
            Some((found, reference)) => {
                self.set_type(id, found);
                self.references.insert(id, reference);
            }
            None => {
                self.set_type(id, Type::Error);
                self.undeclared(id, name);
            }
        }
    }

    fn check_select(&mut self, id: ExprId, operand: ExprId, field: &str, test_only: bool) {
        // A selection of names may be one dotted name.
        if let Some(name) = self.qualified_name(id)
            && !self.is_local_root(id)
            && let Some((found, reference)) = self.resolve(&name)
        {
            self.set_type(id, found);
            self.references.insert(id, reference);
            return;
        }
        let mut found = self.select_field(id, operand, field, false);
        if test_only {
            found = Type::Bool;
        }
        let found = self.substitutions.substitute(&found, false);
        self.set_type(id, found);
    }

    /// The names of a selection joined by dots, if it consists of names only.
    fn qualified_name(&self, id: ExprId) -> Option<String> {
        match self.ast.get(id) {
            Expr::Ident(name) => Some(name.as_ref().to_owned()),
            Expr::Select { operand, field, test_only: false } => {
                let mut name = self.qualified_name(*operand)?;
                name.push('.');
                name.push_str(field);
                Some(name)
            }
            _ => None,
        }
    }

    fn is_local_root(&self, id: ExprId) -> bool {
        match self.ast.get(id) {
            Expr::Ident(name) => self.locals.iter().any(|(local, _)| local == name),
            Expr::Select { operand, .. } => self.is_local_root(*operand),
            _ => false,
        }
    }

    fn select_field(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.resolved_type(operand);
        let unwrapped = operand_type.optional_parameter().cloned();
        let is_optional = optional || unwrapped.is_some();
        let target = unwrapped.unwrap_or(operand_type);
        let result = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(object) if !object.has_fields() => {
                self.error_at(id, format!("unexpected failed resolution of '{}'", object.name()));
                Type::Error
            }
            Type::Object(object) => match object.field_type(field) {
                Some(found) => found,
                None => {
                    self.error_at(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Param(_) => {
                self.substitutions.is_assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Any | Type::Error => Type::Dyn,
            other => {
                self.error_at(id, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if is_optional { Type::optional(result) } else { result }
    }

    fn check_call(&mut self, id: ExprId, function: &str, target: Option<ExprId>, args: &[ExprId]) {
        if function == operators::OPTIONAL_SELECT {
            self.check_optional_select(id, args);
            return;
        }
        for arg in args {
            self.check(*arg);
        }
        let Some(target) = target else {
            match self.function(function.trim_start_matches('.')) {
                Some(found) => self.resolve_overload(id, found, None, args),
                None => {
                    self.undeclared(id, function);
                    self.set_type(id, Type::Error);
                }
            }
            return;
        };
        // The receiver and the name may be one dotted name of a function.
        if let Some(prefix) = self.qualified_name(target)
            && let Some(found) = self.function(&format!("{}.{function}", prefix.trim_start_matches('.')))
        {
            let name = Name::from(found.name);
            self.ast.set(id, Expr::Call { function: name, target: None, args: args.to_vec() });
            self.resolve_overload(id, found, None, args);
            return;
        }
        self.check(target);
        match self.function(function) {
            Some(found) => self.resolve_overload(id, found, Some(target), args),
            None => {
                self.set_type(id, Type::Error);
                self.undeclared(id, function);
            }
        }
    }

    /// A function of which the environment has at least one overload.
    fn function(&self, name: &str) -> Option<&'static Function> {
        let libraries = self.scope.libraries();
        declarations::function(name)
            .filter(|function| function.overloads.iter().any(|overload| libraries.contains(overload.library)))
    }

    fn check_optional_select(&mut self, id: ExprId, args: &[ExprId]) {
        let [operand, field] = args else {
            return;
        };
        let Expr::Literal(Literal::String(name)) = self.ast.get(*field) else {
            return;
        };
        let name = Arc::clone(name);
        let found = self.select_field(id, *operand, &name, true);
        let found = self.substitutions.substitute(&found, false);
        self.set_type(id, found);
        self.set_type(*field, Type::String);
        if let Some(function) = self.function(operators::OPTIONAL_SELECT) {
            self.references.insert(id, Reference::Overloads(function, vec![0]));
        }
    }

    fn resolve_overload(
        &mut self,
        id: ExprId,
        function: &'static Function,
        target: Option<ExprId>,
        args: &[ExprId],
    ) {
        let arg_types: Vec<_> = target.iter().chain(args).map(|arg| self.type_of(*arg)).collect();
        if matches!(function.name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
            self.resolve_logic(id, function, args, &arg_types);
            return;
        }
        let libraries = self.scope.libraries();
        let mut result: Option<Type> = None;
        let mut found = Vec::new();
        for (index, overload) in function.overloads.iter().enumerate() {
            if overload.is_member != target.is_some()
                || overload.args.len() != arg_types.len()
                || !libraries.contains(overload.library)
            {
                continue;
            }
            let (parameters, declared_result) = if overload.is_generic {
                self.substitutions.instantiate(&overload.args, &overload.result)
            } else {
                (overload.args.clone(), overload.result.clone())
            };
            if !self.substitutions.are_assignable(&arg_types, &parameters) {
                continue;
            }
            found.push(index);
            let this = self.substitutions.substitute(&declared_result, false);
            result = Some(match result {
                None => this,
                Some(Type::Dyn) => Type::Dyn,
                Some(previous) if previous == this => previous,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(result) => {
                self.set_type(id, result);
                self.references.insert(id, Reference::Overloads(function, found));
            }
            None => {
                self.no_matching_overload(id, function.name, &arg_types, target.is_some());
                self.set_type(id, Type::Error);
            }
        }
    }

    fn resolve_logic(
        &mut self,
        id: ExprId,
        function: &'static Function,
        args: &[ExprId],
        arg_types: &[Type],
    ) {
        let mut fits = true;
        for (arg, found) in args.iter().zip(arg_types) {
            if !self.substitutions.is_assignable(found, &Type::Bool) {
                self.error_at(*arg, format!("expected type 'bool' but found '{found}'"));
                fits = false;
            }
        }
        self.set_type(id, if fits { Type::Bool } else { Type::Error });
        self.references.insert(id, Reference::Overloads(function, vec![0]));
    }

    fn no_matching_overload(&mut self, id: ExprId, name: &str, arg_types: &[Type], is_member: bool) {
        let names: Vec<_> =
            arg_types.iter().map(|found| self.substitutions.substitute(found, true).to_string()).collect();
        let signature = match names.split_first() {
            Some((target, rest)) if is_member => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", names.join(", ")),
        };
        self.error_at(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
