//! Assignability of types, and the values of type parameters that make them assignable.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{OpaqueType, Param, Type};

/// The types that stand for type parameters so far.
#[derive(Debug, Default)]
pub(super) struct Substitutions {
    bound: BTreeMap<Param, Type>,
    /// The state before each binding of the current attempt, to undo the binding.
    undo: Vec<(Param, Option<Type>)>,
    next: u32,
    steps: Cell<u32>,
}

/// Maximum number of types that are looked at for one expression. Types that contain others twice grow exponentially.
const MAX_STEPS: u32 = 2_000_000;

// === impl Substitutions ===

impl Substitutions {
    /// Counts a type that is looked at. Returns whether there were too many.
    fn step(&self) -> bool {
        self.steps.set(self.steps.get().saturating_add(1));
        self.is_exhausted()
    }

    /// Whether the expression's types are too large to be checked.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps.get() > MAX_STEPS
    }

    /// Makes a type parameter that nothing is known about.
    pub(super) fn fresh(&mut self) -> Type {
        let number = self.next;
        self.next += 1;
        Type::Param(Param::Fresh(number))
    }

    /// Replaces the type parameters of a signature by fresh ones.
    pub(super) fn instantiate(&mut self, args: &[Type], result: &Type) -> (Vec<Type>, Type) {
        let mut fresh = BTreeMap::new();
        let args = args.iter().map(|arg| self.rename(arg, &mut fresh)).collect();
        let result = self.rename(result, &mut fresh);
        (args, result)
    }

    fn rename(&mut self, of: &Type, fresh: &mut BTreeMap<Param, Type>) -> Type {
        match of {
            Type::Param(param) => {
                if let Some(known) = fresh.get(param) {
                    return known.clone();
                }
                let made = self.fresh();
                fresh.insert(*param, made.clone());
                made
            }
            other => map_parameters(other, &mut |parameter| self.rename(parameter, fresh)),
        }
    }

    /// Replaces bound type parameters by their types, and unbound ones by `dyn` if that is wanted.
    pub(super) fn substitute(&self, of: &Type, unbound_to_dyn: bool) -> Type {
        if self.step() {
            return Type::Dyn;
        }
        match of {
            Type::Param(param) => match self.bound.get(param) {
                Some(bound) => self.substitute(bound, unbound_to_dyn),
                None if unbound_to_dyn => Type::Dyn,
                None => of.clone(),
            },
            Type::List(_) | Type::Map(_) | Type::Opaque(_) | Type::Type(Some(_)) => {
                map_parameters(of, &mut |parameter| self.substitute(parameter, unbound_to_dyn))
            }
            other => other.clone(),
        }
    }

    /// Whether a value of the second type can be used as one of the first; binds type parameters if so.
    pub(super) fn is_assignable(&mut self, first: &Type, second: &Type) -> bool {
        self.attempt(|substitutions| substitutions.assignable(first, second))
    }

    /// The same for all pairs of two lists.
    pub(super) fn are_assignable(&mut self, first: &[Type], second: &[Type]) -> bool {
        self.attempt(|substitutions| substitutions.all_assignable(first, second))
    }

    fn attempt(&mut self, attempt: impl FnOnce(&mut Self) -> bool) -> bool {
        self.undo.clear();
        let succeeded = attempt(self);
        let undo = std::mem::take(&mut self.undo);
        if !succeeded {
            for (param, before) in undo.into_iter().rev() {
                match before {
                    Some(before) => self.bound.insert(param, before),
                    None => self.bound.remove(&param),
                };
            }
        }
        succeeded
    }

    fn bind(&mut self, param: Param, to: Type) {
        let before = self.bound.insert(param, to);
        self.undo.push((param, before));
    }

    fn all_assignable(&mut self, first: &[Type], second: &[Type]) -> bool {
        first.len() == second.len()
            && first.iter().zip(second).all(|(first, second)| self.assignable(first, second))
    }

    fn assignable(&mut self, first: &Type, second: &Type) -> bool {
        if self.step() {
            return true;
        }
        if let Type::Param(param) = second {
            let (valid, has_binding) = self.valid_binding(first, *param);
            if valid || has_binding {
                return valid;
            }
        }
        if let Type::Param(param) = first {
            return self.valid_binding(second, *param).0;
        }
        if first.is_dyn_or_error() || second.is_dyn_or_error() {
            return true;
        }
        match (first, second) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::List(a), Type::List(b)) => self.assignable(a, b),
            (Type::Map(a), Type::Map(b)) => self.assignable(&a.0, &b.0) && self.assignable(&a.1, &b.1),
            (Type::Opaque(a), Type::Opaque(b)) => {
                a.name == b.name && self.all_assignable(&a.parameters, &b.parameters)
            }
            (Type::Type(_), Type::Type(_)) => true,
            _ => first == second,
        }
    }

    /// Whether a type can stand for a parameter, and whether the parameter is bound already.
    fn valid_binding(&mut self, candidate: &Type, param: Param) -> (bool, bool) {
        if *candidate == Type::Param(param) {
            return (true, true);
        }
        let Some(bound) = self.bound.get(&param).cloned() else {
            let valid = !self.occurs(param, candidate);
            if valid {
                self.bind(param, candidate.clone());
            }
            return (valid, false);
        };
        if *candidate == bound {
            return (true, true);
        }
        if !self.assignable(candidate, &bound) {
            return (false, true);
        }
        let general = most_general(candidate, &bound).clone();
        if !self.occurs(param, &general) {
            self.bind(param, general);
        }
        (true, true)
    }

    /// Whether a parameter occurs in a type, directly or through what is bound.
    fn occurs(&self, param: Param, within: &Type) -> bool {
        if self.step() {
            return true;
        }
        match within {
            Type::Param(other) if *other == param => true,
            Type::Param(other) => self.bound.get(other).is_some_and(|bound| self.occurs(param, bound)),
            Type::List(element) => self.occurs(param, element),
            Type::Map(entry) => self.occurs(param, &entry.0) || self.occurs(param, &entry.1),
            Type::Opaque(opaque) => opaque.parameters.iter().any(|parameter| self.occurs(param, parameter)),
            Type::Type(Some(of)) => self.occurs(param, of),
            _ => false,
        }
    }
}

fn is_nullable(of: &Type) -> bool {
    matches!(of, Type::Null | Type::Object(_) | Type::Opaque(_) | Type::Duration | Type::Timestamp)
}

/// The more general of two types that are assignable.
pub(super) fn most_general<'t>(first: &'t Type, second: &'t Type) -> &'t Type {
    if is_equal_or_less_specific(first, second) { first } else { second }
}

fn is_equal_or_less_specific(first: &Type, second: &Type) -> bool {
    if first.is_dyn() || matches!(first, Type::Param(_)) {
        return true;
    }
    if second.is_dyn() || matches!(second, Type::Param(_)) {
        return false;
    }
    match (first, second) {
        (Type::List(a), Type::List(b)) => is_equal_or_less_specific(a, b),
        (Type::Map(a), Type::Map(b)) => {
            is_equal_or_less_specific(&a.0, &b.0) && is_equal_or_less_specific(&a.1, &b.1)
        }
        (Type::Opaque(a), Type::Opaque(b)) => {
            a.name == b.name
                && a.parameters.len() == b.parameters.len()
                && a.parameters.iter().zip(&b.parameters).all(|(a, b)| is_equal_or_less_specific(a, b))
        }
        (Type::Type(_), Type::Type(_)) => true,
        _ => first == second,
    }
}

fn map_parameters(of: &Type, map: &mut dyn FnMut(&Type) -> Type) -> Type {
    match of {
        Type::List(element) => Type::list(map(element)),
        Type::Map(entry) => Type::map(map(&entry.0), map(&entry.1)),
        Type::Opaque(opaque) if !opaque.parameters.is_empty() => Type::Opaque(Arc::new(OpaqueType {
            name: Arc::clone(&opaque.name),
            parameters: opaque.parameters.iter().map(map).collect(),
        })),
        Type::Type(Some(of)) => Type::Type(Some(Arc::new(map(of)))),
        other => other.clone(),
    }
}
