//! Variables that are expressions themselves.
//!
//! Kubernetes concept: `variables` of admission policies; `CompositedCompiler` in
//! `k8s.io/apiserver/pkg/admission/plugin/cel`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::Program;
use crate::budget::RUNTIME_COST_BUDGET;
use crate::syntax::ast::Name;
use crate::value::{Evaluated, EvaluationError};

/// Maximum number of nodes around each other, over all variables that select each other. Each takes some of the stack.
const MAX_DEPTH: u32 = 500;

/// The compiled variables of a policy. Each can select those before it.
#[derive(Debug, Default)]
pub struct CompositedVariables {
    pub(super) places: HashMap<Name, usize>,
    pub(super) variables: Vec<Variable>,
}

/// One of the variables.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: Name,
    /// The program, or the failure of each selection.
    pub(super) program: Result<Arc<Program>, EvaluationError>,
    /// The depth of nested nodes, including the nodes of the variables that the expression selects.
    depth: u32,
}

/// The values of the variables in one activation.
#[derive(Clone, Debug)]
pub(super) struct Composed<'a> {
    place: u32,
    pub(super) variables: &'a CompositedVariables,
    /// The values that were computed.
    pub(super) values: RefCell<Vec<Option<Evaluated<'a>>>>,
    /// The cost of the variables that were computed since it was asked for last.
    pub(super) cost: Cell<u64>,
    /// The cost that they may have.
    pub(super) limit: Cell<u64>,
}

/// Error of an expression that this crate cannot evaluate although Kubernetes can. Not retryable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("variables that select each other are nested too deeply")]
pub struct TooDeep;

// === impl CompositedVariables ===

impl CompositedVariables {
    /// Adds a variable, or replaces one of this name. One that does not compile fails when it is selected.
    pub fn insert<E: fmt::Display>(&mut self, name: &str, program: Result<Arc<Program>, E>) {
        let depth = program.as_ref().map_or(0, |program| self.depth_of(program));
        let failed = |failure: &dyn fmt::Display| {
            let text = format!("composited variable \"{name}\" fails to compile: {failure}");
            Err(EvaluationError::Failed(text))
        };
        let program = match program {
            Ok(_) if depth > MAX_DEPTH => failed(&TooDeep),
            Ok(program) => Ok(program),
            Err(failure) => failed(&failure),
        };
        let name = Name::from(name);
        let variable = Variable { name: Name::clone(&name), program, depth };
        let next = self.variables.len();
        let place = *self.places.entry(name).or_insert(next);
        match self.variables.get_mut(place) {
            Some(own) => *own = variable,
            None => self.variables.push(variable),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// Checks that the variables that an expression selects, directly or through others, can be evaluated.
    pub(crate) fn check_depth(&self, program: &Program) -> Result<(), TooDeep> {
        if self.depth_of(program) > MAX_DEPTH { Err(TooDeep) } else { Ok(()) }
    }

    /// The programs of the variables that an expression selects, directly or through others.
    pub fn selected_by<'v>(&'v self, programs: &[&'v Program]) -> Vec<&'v Program> {
        let mut found = vec![false; self.variables.len()];
        let mut pending: Vec<&Program> = programs.to_vec();
        let mut selected = Vec::new();
        while let Some(program) = pending.pop() {
            for place in self.places_in(program) {
                let Some(is_found) = found.get_mut(place).filter(|is_found| !**is_found) else { continue };
                *is_found = true;
                if let Some(Variable { program: Ok(program), .. }) = self.variables.get(place) {
                    selected.push(program.as_ref());
                    pending.push(program);
                }
            }
        }
        selected
    }

    fn depth_of(&self, program: &Program) -> u32 {
        let below = self.places_in(program).filter_map(|place| self.variables.get(place));
        let below = below.map(|variable| variable.depth).max().unwrap_or(0);
        program.depth.saturating_add(below)
    }

    fn places_in<'p>(&'p self, program: &'p Program) -> impl Iterator<Item = usize> + 'p {
        program.paths.iter().filter_map(|path| {
            let mut names = path.split('.').skip(1);
            self.places.get(names.next()?).copied()
        })
    }
}

// === impl Composed ===

impl<'a> Composed<'a> {
    pub(super) fn new(place: u32, variables: &'a CompositedVariables) -> Self {
        Self {
            place,
            variables,
            values: RefCell::new(vec![None; variables.variables.len()]),
            cost: Cell::new(0),
            limit: Cell::new(RUNTIME_COST_BUDGET),
        }
    }

    /// The place of the variable whose fields these are.
    pub(super) fn place(&self) -> u32 {
        self.place
    }
}
