//! Calls that are rewritten into other expressions while parsing.

use std::sync::Arc;

use super::ast::{ACCUMULATOR, Ast, Comprehension, Expr, ExprId, Literal, Name, UNUSED_VARIABLE, operators};

/// The macros that an environment has beyond the standard macros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Macros {
    pub(crate) optionals: bool,
    pub(crate) two_variables: bool,
    pub(crate) bindings: bool,
    pub(crate) list_sort_by: bool,
}

/// The result of expanding a call.
pub(crate) enum Expanded {
    /// The call is not a macro.
    No,
    To(ExprId),
    Error {
        at: ExprId,
        message: String,
    },
}

/// A macro whose arguments do not fit: the argument and what is wrong.
type Refused = (ExprId, String);

/// Builds the expansion of one call.
struct Builder<'a> {
    ast: &'a mut Ast,
    offset: u32,
}

/// The expressions that a loop evaluates: the first value of its accumulator, then for each element whether it goes on, and the
/// next value.
struct Loop {
    init: ExprId,
    condition: ExprId,
    step: ExprId,
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

// === impl Macros ===

impl Macros {
    /// Expands a call if it is one of a macro.
    pub(crate) fn expand(
        self,
        ast: &mut Ast,
        offset: u32,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Expanded {
        let mut builder = Builder { ast, offset };
        let expanded = match (function, target, args) {
            ("has", None, [arg]) => builder.has(*arg),
            ("bind", Some(target), [variable, init, result]) if self.bindings => {
                if !matches!(builder.ast.get(target), Expr::Ident(name) if name.as_ref() == "cel") {
                    return Expanded::No;
                }
                builder.bind_call(*variable, *init, *result)
            }
            ("optMap", Some(target), [variable, result]) if self.optionals => {
                builder.opt_map(target, *variable, *result, "optMap")
            }
            ("optFlatMap", Some(target), [variable, result]) if self.optionals => {
                builder.opt_map(target, *variable, *result, "optFlatMap")
            }
            ("sortBy", Some(target), [variable, key]) if self.list_sort_by => {
                builder.sort_by(target, *variable, *key)
            }
            (_, Some(range), [_, _] | [_, _, _]) if function == "map" => builder.map(range, args),
            ("filter", Some(range), [variable, filter]) => builder.filter(range, *variable, *filter),
            (_, Some(range), [variable, predicate]) => match quantifier(function) {
                Some(kind) => builder.quantifier(kind, range, *variable, *predicate),
                None => return Expanded::No,
            },
            (_, Some(range), [first, second, rest @ ..])
                if self.two_variables && matches!(rest.len(), 1 | 2) =>
            {
                match builder.two_variables(function, range, (*first, *second), rest) {
                    Some(expanded) => expanded,
                    None => return Expanded::No,
                }
            }
            _ => return Expanded::No,
        };
        match expanded {
            Ok(id) => Expanded::To(id),
            Err((at, message)) => Expanded::Error { at, message },
        }
    }
}

fn quantifier(function: &str) -> Option<Quantifier> {
    match function {
        "all" => Some(Quantifier::All),
        "exists" => Some(Quantifier::Exists),
        "exists_one" | "existsOne" => Some(Quantifier::ExistsOne),
        _ => None,
    }
}

// === impl Builder: nodes ===

impl Builder<'_> {
    fn add(&mut self, expr: Expr) -> ExprId {
        self.ast.add(self.offset, expr)
    }

    fn accumulator(&mut self) -> ExprId {
        self.ident(ACCUMULATOR)
    }

    fn ident(&mut self, name: &str) -> ExprId {
        self.add(Expr::Ident(Name::from(name)))
    }

    fn bool(&mut self, value: bool) -> ExprId {
        self.add(Expr::Literal(Literal::Bool(value)))
    }

    fn int(&mut self, value: i64) -> ExprId {
        self.add(Expr::Literal(Literal::Int(value)))
    }

    fn list(&mut self, elements: Vec<ExprId>) -> ExprId {
        self.add(Expr::List { elements, optional: Vec::new() })
    }

    fn call(&mut self, function: &str, args: Vec<ExprId>) -> ExprId {
        self.add(Expr::Call { function: Arc::from(function), target: None, args })
    }

    fn member_call(&mut self, function: &str, target: ExprId, args: Vec<ExprId>) -> ExprId {
        self.add(Expr::Call { function: Arc::from(function), target: Some(target), args })
    }

    /// A loop whose result is its accumulator.
    fn fold(&mut self, range: ExprId, variables: (Name, Option<Name>), parts: Loop) -> ExprId {
        let result = self.accumulator();
        self.fold_into(range, variables, parts, result)
    }

    /// A loop whose result is computed from its accumulator.
    fn fold_into(
        &mut self,
        range: ExprId,
        (variable, second_variable): (Name, Option<Name>),
        Loop { init, condition, step }: Loop,
        result: ExprId,
    ) -> ExprId {
        let accumulator = Name::from(ACCUMULATOR);
        self.add(Expr::Comprehension(Box::new(Comprehension {
            range,
            variable,
            second_variable,
            accumulator,
            init,
            condition,
            step,
            result,
        })))
    }

    /// An expression in which a variable has a value: a loop over nothing.
    fn bind(&mut self, variable: Name, init: ExprId, result: ExprId) -> ExprId {
        let range = self.list(Vec::new());
        let condition = self.bool(false);
        let step = self.ident(&variable);
        self.add(Expr::Comprehension(Box::new(Comprehension {
            range,
            variable: Name::from(UNUSED_VARIABLE),
            second_variable: None,
            accumulator: variable,
            init,
            condition,
            step,
            result,
        })))
    }

    fn variable(&self, arg: ExprId, message: &str) -> Result<Name, Refused> {
        match self.ast.get(arg) {
            Expr::Ident(name) if name.as_ref() == ACCUMULATOR => {
                Err((arg, "iteration variable overwrites accumulator variable".to_owned()))
            }
            Expr::Ident(name) => Ok(Arc::clone(name)),
            _ => Err((arg, message.to_owned())),
        }
    }

    /// `accumulator + [element]`, or only where a filter holds.
    fn append(&mut self, element: ExprId, filter: Option<ExprId>) -> ExprId {
        let accumulator = self.accumulator();
        let list = self.list(vec![element]);
        let step = self.call(operators::ADD, vec![accumulator, list]);
        self.filtered(step, filter)
    }

    fn filtered(&mut self, step: ExprId, filter: Option<ExprId>) -> ExprId {
        match filter {
            None => step,
            Some(filter) => {
                let accumulator = self.accumulator();
                self.call(operators::CONDITIONAL, vec![filter, step, accumulator])
            }
        }
    }
}

// === impl Builder: macros ===

impl Builder<'_> {
    fn has(&mut self, arg: ExprId) -> Result<ExprId, Refused> {
        match self.ast.get(arg) {
            Expr::Select { operand, field, test_only: false } => {
                let operand = *operand;
                let field = Arc::clone(field);
                Ok(self.add(Expr::Select { operand, field, test_only: true }))
            }
            _ => Err((arg, "invalid argument to has() macro".to_owned())),
        }
    }

    fn bind_call(&mut self, variable: ExprId, init: ExprId, result: ExprId) -> Result<ExprId, Refused> {
        let Expr::Ident(name) = self.ast.get(variable) else {
            return Err((variable, "cel.bind() variable names must be simple identifiers".to_owned()));
        };
        let name = Arc::clone(name);
        Ok(self.bind(name, init, result))
    }

    fn opt_map(
        &mut self,
        target: ExprId,
        variable: ExprId,
        result: ExprId,
        name: &str,
    ) -> Result<ExprId, Refused> {
        let Expr::Ident(variable) = self.ast.get(variable) else {
            return Err((variable, format!("{name}() variable name must be a simple identifier")));
        };
        let variable = Arc::clone(variable);
        let has_value = self.member_call("hasValue", target, Vec::new());
        let copy = self.ast.copy(target);
        let value = self.member_call("value", copy, Vec::new());
        let mut mapped = self.bind(variable, value, result);
        if name == "optMap" {
            mapped = self.call("optional.of", vec![mapped]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call(operators::CONDITIONAL, vec![has_value, mapped, none]))
    }

    /// `list.sortBy(x, key)`: the list is bound to a variable, and sorted by the list of its keys.
    fn sort_by(&mut self, target: ExprId, variable: ExprId, key: ExprId) -> Result<ExprId, Refused> {
        const SORTED_LIST: &str = "@__sortBy_input__";
        let allowed = matches!(
            self.ast.get(target),
            Expr::List { .. }
                | Expr::Select { .. }
                | Expr::Ident(_)
                | Expr::Comprehension(_)
                | Expr::Call { .. }
        );
        if !allowed {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err((target, message.to_owned()));
        }
        let input = self.ident(SORTED_LIST);
        let keys = self.map(input, &[variable, key])?;
        let sorted = self.ident(SORTED_LIST);
        let result = self.member_call("@sortByAssociatedKeys", sorted, vec![keys]);
        Ok(self.bind(Name::from(SORTED_LIST), target, result))
    }

    fn map(&mut self, range: ExprId, args: &[ExprId]) -> Result<ExprId, Refused> {
        let (variable, filter, transform) = match args {
            [variable, filter, transform] => (*variable, Some(*filter), *transform),
            [variable, transform] => (*variable, None, *transform),
            _ => return Err((range, "unexpected arguments of map()".to_owned())),
        };
        let variable = self.variable(variable, "argument is not an identifier")?;
        let init = self.list(Vec::new());
        let condition = self.bool(true);
        let step = self.append(transform, filter);
        Ok(self.fold(range, (variable, None), Loop { init, condition, step }))
    }

    fn filter(&mut self, range: ExprId, variable: ExprId, filter: ExprId) -> Result<ExprId, Refused> {
        let name = self.variable(variable, "argument is not an identifier")?;
        let init = self.list(Vec::new());
        let condition = self.bool(true);
        let step = self.append(variable, Some(filter));
        Ok(self.fold(range, (name, None), Loop { init, condition, step }))
    }

    fn quantifier(
        &mut self,
        kind: Quantifier,
        range: ExprId,
        variable: ExprId,
        predicate: ExprId,
    ) -> Result<ExprId, Refused> {
        let variable = self.variable(variable, "argument must be a simple name")?;
        Ok(self.quantify(kind, range, (variable, None), predicate))
    }

    fn quantify(
        &mut self,
        kind: Quantifier,
        range: ExprId,
        variables: (Name, Option<Name>),
        predicate: ExprId,
    ) -> ExprId {
        let accumulator = self.accumulator();
        match kind {
            Quantifier::All => {
                let init = self.bool(true);
                let condition = self.call(operators::NOT_STRICTLY_FALSE, vec![accumulator]);
                let so_far = self.accumulator();
                let step = self.call(operators::LOGICAL_AND, vec![so_far, predicate]);
                self.fold(range, variables, Loop { init, condition, step })
            }
            Quantifier::Exists => {
                let init = self.bool(false);
                let not = self.call(operators::LOGICAL_NOT, vec![accumulator]);
                let condition = self.call(operators::NOT_STRICTLY_FALSE, vec![not]);
                let so_far = self.accumulator();
                let step = self.call(operators::LOGICAL_OR, vec![so_far, predicate]);
                self.fold(range, variables, Loop { init, condition, step })
            }
            Quantifier::ExistsOne => {
                let init = self.int(0);
                let condition = self.bool(true);
                let increment = self.int(1);
                let more = self.call(operators::ADD, vec![accumulator, increment]);
                let step = self.filtered(more, Some(predicate));
                let count = self.accumulator();
                let expected = self.int(1);
                let result = self.call(operators::EQUALS, vec![count, expected]);
                self.fold_into(range, variables, Loop { init, condition, step }, result)
            }
        }
    }

    /// The macros with a variable for the index or key and one for the value; `None` if the function is none of them.
    fn two_variables(
        &mut self,
        function: &str,
        range: ExprId,
        variables: (ExprId, ExprId),
        rest: &[ExprId],
    ) -> Option<Result<ExprId, Refused>> {
        let (filter, body) = match rest {
            [body] => (None, *body),
            [filter, body] => (Some(*filter), *body),
            _ => return None,
        };
        let kind = quantifier(function).filter(|_| filter.is_none());
        if kind.is_none() && !matches!(function, "transformList" | "transformMap" | "transformMapEntry") {
            return None;
        }
        let names = match self.variable_pair(variables) {
            Ok(names) => names,
            Err(refused) => return Some(Err(refused)),
        };
        if let Some(kind) = kind {
            return Some(Ok(self.quantify(kind, range, names, body)));
        }
        let (init, step) = if function == "transformList" {
            (self.list(Vec::new()), self.append(body, filter))
        } else {
            let init = self.add(Expr::Map { entries: Vec::new() });
            let mut args = vec![self.accumulator()];
            if function == "transformMap" {
                args.push(self.ident(&names.0));
            }
            args.push(body);
            let insert = self.call("cel.@mapInsert", args);
            (init, self.filtered(insert, filter))
        };
        let condition = self.bool(true);
        Some(Ok(self.fold(range, names, Loop { init, condition, step })))
    }

    fn variable_pair(&self, (first, second): (ExprId, ExprId)) -> Result<(Name, Option<Name>), Refused> {
        let first_name = self.variable(first, "argument must be a simple name")?;
        let second_name = self.variable(second, "argument must be a simple name")?;
        if first_name == second_name {
            return Err((second, format!("duplicate variable name: {first_name}")));
        }
        Ok((first_name, Some(second_name)))
    }
}
