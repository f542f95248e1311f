//! Comprehensions.

use super::Fold;
use super::evaluate::{Machine, Slot};
use crate::value::{Evaluated, EvaluationError, Value};

// === impl Machine: comprehensions ===

impl<'a> Machine<'a, '_> {
    fn set(&mut self, slot: u32, value: Slot<'a>) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = value;
        }
    }

    pub(super) fn fold(&mut self, fold: &'a Fold) -> Evaluated<'a> {
        let range = self.eval(fold.range)?;
        self.set(fold.accumulator, Slot::Lazy(fold.init));
        match range {
            Value::List(list) => {
                for index in 0..list.len() {
                    let Some(element) = list.get(index) else { break };
                    let (first, second) = match fold.second {
                        Some(_) => (Ok(Value::Int(index as i64)), Some(element)),
                        None => (element, None),
                    };
                    if !self.fold_step(fold, first, second)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                self.budget.visit(map.len())?;
                for key in map.keys() {
                    let second = fold.second.and_then(|_| map.get(&key));
                    if !self.fold_step(fold, Ok(key), second)? {
                        break;
                    }
                }
            }
            other => return other.not_iterable(fold.second.is_some()),
        }
        self.eval(fold.result)
    }

    /// Runs one step. Returns whether there may be another.
    fn fold_step(
        &mut self,
        fold: &'a Fold,
        first: Evaluated<'a>,
        second: Option<Evaluated<'a>>,
    ) -> Result<bool, Box<EvaluationError>> {
        self.budget.tick(1)?;
        self.set(fold.first, to_slot(first));
        if let (Some(slot), Some(value)) = (fold.second, second) {
            self.set(slot, to_slot(value));
        }
        match self.eval(fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(error) if !matches!(*error, EvaluationError::Failed(_)) => return Err(error),
            _ => {}
        }
        // A list or a map that is built up has to be there before it is taken out of its slot.
        if matches!(self.slots.get(fold.accumulator as usize), Some(Slot::Lazy(_))) {
            self.initialize(fold);
        }
        let value = self.eval(fold.step);
        match value {
            Err(error) if !matches!(*error, EvaluationError::Failed(_)) => return Err(error),
            value => self.set(fold.accumulator, to_slot(value)),
        }
        Ok(true)
    }

    fn initialize(&mut self, fold: &'a Fold) {
        let value = self.eval(fold.init);
        self.set(fold.accumulator, to_slot(value));
    }
}

fn to_slot(value: Evaluated<'_>) -> Slot<'_> {
    match value {
        Ok(value) => Slot::Value(value),
        Err(error) => Slot::Failed(error),
    }
}
