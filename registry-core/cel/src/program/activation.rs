//! The values of variables.

use std::sync::Arc;

use serde_json::Value as Json;

use super::composed::{Composed, CompositedVariables};
use crate::syntax::ast::Name;
use crate::types::{DYN, DeclType};
use crate::value::{Evaluated, EvaluationError, Map, Value, fail, json};

/// The values of the variables of an environment, for one or more evaluations.
#[derive(Clone, Debug)]
pub struct Activation<'a> {
    names: Arc<[Name]>,
    values: Vec<Binding<'a>>,
    composed: Option<Composed<'a>>,
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
        Self { names: Arc::clone(names), values: vec![Binding::Unbound; names.len()], composed: None }
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

    /// Gives a variable the fields of an object of unknown type.
    pub fn bind_fields(&mut self, name: &str, fields: &'a serde_json::Map<String, Json>) {
        self.bind(name, Binding::Value(Value::Map(Map::Json(fields, &DYN))));
    }

    /// Gives a variable the values of expressions as its fields. Each is computed when it is selected first, and once.
    pub fn bind_composited(&mut self, name: &str, variables: &'a CompositedVariables) {
        let place = self.names.iter().position(|other| other.as_ref() == name);
        if let Some(place) = place {
            self.composed = Some(Composed::new(place as u32, variables));
        }
    }

    /// Returns the variables that are computed when they are selected, if the place is the place of the variable that has them as
    /// its fields.
    pub(super) fn composed_at(&self, place: u32) -> Option<&Composed<'a>> {
        self.composed.as_ref().filter(|composed| composed.place() == place)
    }

    pub(super) fn composed(&self) -> Option<&Composed<'a>> {
        self.composed.as_ref()
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
