//! Variables, fields and indexes.

use super::evaluate::{Machine, Slot};
use super::{Node, NodeId};
use crate::cel::syntax::ast::Name;
use crate::cel::value::{Evaluated, Value, fail};

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
        let operand = self.eval(operand)?;
        self.budget.charge(1)?;
        let (target, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => (value.as_ref().clone(), true),
            value => (value, optional),
        };
        let found = match &target {
            Value::Map(map) => map.get_str(field).transpose()?,
            _ => None,
        };
        match found {
            Some(value) if optional => Ok(Value::some(value)),
            Some(value) => Ok(value),
            None if optional => Ok(Value::Optional(None)),
            None => fail(format!("no such key: {field}")),
        }
    }

    pub(super) fn has(&mut self, operand: NodeId, field: &'a Name) -> Evaluated<'a> {
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
        let is_constant = matches!(self.program.node(index), Node::Constant(_));
        let index = self.eval(index)?;
        self.budget.charge(u64::from(is_constant))?;
        if !is_constant {
            self.budget.charge(1)?;
        }
        let (target, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => (value.as_ref().clone(), true),
            value => (value, optional),
        };
        let found = match &target {
            Value::Map(map) => map.get(&index).transpose()?,
            Value::List(list) => match list_index(&index)? {
                Some(place) => list.get(place).transpose()?,
                None => None,
            },
            _ => None,
        };
        match found {
            Some(value) if optional => Ok(Value::some(value)),
            Some(value) => Ok(value),
            None if optional => Ok(Value::Optional(None)),
            None if matches!(target, Value::List(_)) => fail(format!("index out of bounds: {index}")),
            None => fail(format!("no such key: {index}")),
        }
    }
}

/// The place that an index names; `None` if it is below the first.
fn list_index(index: &Value<'_>) -> Result<Option<usize>, Box<crate::cel::value::EvaluationError>> {
    match index {
        Value::Int(number) => Ok(usize::try_from(*number).ok()),
        Value::Uint(number) => Ok(usize::try_from(*number).ok()),
        Value::Double(number) if number.fract() == 0.0 && *number >= 0.0 => Ok(Some(*number as usize)),
        Value::Double(_) => fail(format!("unsupported index value {index} in list")),
        _ => fail(format!("unsupported index type '{}' in list", index.type_of().name())),
    }
}
