//! The values of variables.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::cel::syntax::ast::Name;
use crate::cel::types::{DYN, DeclType};
use crate::cel::value::{Evaluated, EvaluationError, Value, fail, json};

/// The values of the variables of an environment, for one or more evaluations.
#[derive(Clone, Debug)]
pub struct Activation<'a> {
    names: Arc<[Name]>,
    values: Vec<Binding<'a>>,
}

#[derive(Clone, Debug)]
enum Binding<'a> {
    Unbound,
    Json(&'a Json, &'a DeclType),
    Value(Value<'a>),
    Failed(EvaluationError),
}

// === impl Activation ===

impl<'a> Activation<'a> {
    /// An activation in which no variable has a value.
    pub(crate) fn new(names: &Arc<[Name]>) -> Self {
        Self { names: Arc::clone(names), values: vec![Binding::Unbound; names.len()] }
    }

    fn bind(&mut self, name: &str, binding: Binding<'a>) {
        let place = self.names.iter().position(|other| other.as_ref() == name);
        if let Some(place) = place.and_then(|place| self.values.get_mut(place)) {
            *place = binding;
        }
    }

    /// Gives a variable a JSON value of a declared type. Variables that are not declared are ignored.
    pub fn bind_json(&mut self, name: &str, value: &'a Json, declared: &'a DeclType) {
        self.bind(name, Binding::Json(value, declared));
    }

    /// Gives a variable a JSON value of unknown type.
    pub fn bind_dynamic(&mut self, name: &str, value: &'a Json) {
        self.bind(name, Binding::Json(value, &DYN));
    }

    /// Gives a variable a value.
    pub fn bind_value(&mut self, name: &str, value: Value<'a>) {
        self.bind(name, Binding::Value(value));
    }

    /// Gives a variable the error of an expression that was to compute it.
    pub fn bind_error(&mut self, name: &str, error: EvaluationError) {
        self.bind(name, Binding::Failed(error));
    }

    pub(crate) fn get(&self, place: u32) -> Evaluated<'a> {
        match self.values.get(place as usize) {
            Some(Binding::Json(value, declared)) => json::adapt(value, declared),
            Some(Binding::Value(value)) => Ok(value.clone()),
            Some(Binding::Failed(error)) => Err(Box::new(error.clone())),
            Some(Binding::Unbound) | None => {
                let name = self.names.get(place as usize).map(AsRef::as_ref).unwrap_or_default();
                fail(format!("no such attribute(s): {name}"))
            }
        }
    }
}
