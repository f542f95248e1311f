//! Variables, fields and indexes.

use super::evaluate::{Machine, Slot};
use super::{Node, NodeId};
use crate::syntax::ast::Name;
use crate::value::{Evaluated, Map, Value, fail};

// === impl Machine: attributes ===

impl<'a> Machine<'a, '_> {
    pub(super) fn local(&mut self, slot: u32) -> Evaluated<'a> {
        let lazy = match self.slots.get(slot as usize) {
            Some(Slot::Value(value)) => return Ok(value.clone()),
            Some(Slot::Failed(error)) => return Err(error.clone()),
            Some(Slot::Lazy(init)) => *init,
            Some(Slot::Empty) | None => return fail("no such attribute(s)"),
        };
        let value = self.eval(lazy);
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = match &value {
                Ok(value) => Slot::Value(value.clone()),
                Err(error) => Slot::Failed(error.clone()),
            };
        }
        value
    }

    pub(super) fn select(&mut self, operand: NodeId, field: &'a Name, optional: bool) -> Evaluated<'a> {
        if let Some(value) = self.composited(operand, field) {
            self.budget.charge(2)?;
            let value = value?;
            return Ok(if optional { Value::some(value) } else { value });
        }
        let (target, optional) = match self.eval(operand)? {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => (value.as_ref().clone(), true),
            value => (value, optional),
        };
        let found = match &target {
            Value::Map(map) => map.get_str(field),
            _ => None,
        };
        // An optional field that is absent costs nothing.
        self.budget.charge(u64::from(found.is_some() || !optional))?;
        match found.transpose()? {
            Some(value) if optional => Ok(Value::some(value)),
            Some(value) => Ok(value),
            None if optional => Ok(Value::Optional(None)),
            None if is_text_of_patch(&target, field) => Ok(Value::string("")),
            None => fail(format!("no such key: {field}")),
        }
    }

    /// The value of a composited variable, if that is what is selected.
    fn composited(&mut self, operand: NodeId, field: &'a Name) -> Option<Evaluated<'a>> {
        let Node::Variable(place) = self.program.node(operand) else {
            return None;
        };
        let activation = self.activation;
        Some(activation.composed_at(*place)?.value(field, activation, self.budget))
    }

    pub(super) fn has(&mut self, operand: NodeId, field: &'a Name) -> Evaluated<'a> {
        if let Some(value) = self.composited(operand, field) {
            self.budget.charge(1)?;
            return value.map(|_| Value::Bool(true));
        }
        let operand = self.eval(operand)?;
        let target = match operand {
            Value::Optional(None) => return Ok(Value::Bool(false)),
            Value::Optional(Some(value)) => value.as_ref().clone(),
            value => value,
        };
        match &target {
            Value::Map(map) => Ok(Value::Bool(map.get_str(field).transpose()?.is_some())),
            _ => Ok(Value::Bool(false)),
        }
    }

    pub(super) fn index(&mut self, operand: NodeId, index: NodeId, optional: bool) -> Evaluated<'a> {
        let operand = self.eval(operand)?;
        // An index that is a variable has cost what an index costs.
        let cost = u64::from(!self.program.is_attribute(index));
        let index = self.eval(index)?;
        let (target, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => (value.as_ref().clone(), true),
            value => (value, optional),
        };
        let found = match &target {
            Value::Map(map) => map.get(&index),
            Value::List(list) => match list_index(&index)? {
                Some(place) => list.get(place),
                None => None,
            },
            _ => None,
        };
        self.budget.charge(if found.is_some() || !optional { cost } else { 0 })?;
        match found.transpose()? {
            Some(value) if optional => Ok(Value::some(value)),
            Some(value) => Ok(value),
            None if optional => Ok(Value::Optional(None)),
            None if matches!(target, Value::List(_)) => fail(format!("index out of bounds: {index}")),
            None => fail(format!("no such key: {index}")),
        }
    }
}

/// Whether a field is a text of a JSON patch's operation, which is empty if it is not set.
fn is_text_of_patch(target: &Value<'_>, field: &str) -> bool {
    matches!(target, Value::Map(Map::Object(_, of)) if of.name() == "JSONPatch")
        && matches!(field, "op" | "path" | "from")
}

/// The place that an index names; `None` if it is below the first.
fn list_index(index: &Value<'_>) -> Result<Option<usize>, Box<crate::value::EvaluationError>> {
    match index {
        Value::Int(number) => Ok(usize::try_from(*number).ok()),
        Value::Uint(number) => Ok(usize::try_from(*number).ok()),
        Value::Double(number) if number.fract() == 0.0 && *number >= 0.0 => Ok(Some(*number as usize)),
        Value::Double(_) => fail(format!("unsupported index value {index} in list")),
        _ => fail(format!("unsupported index type '{}' in list", index.type_of().name())),
    }
}
