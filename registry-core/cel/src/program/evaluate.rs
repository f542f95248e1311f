//! Evaluation of a plan.

use std::sync::Arc;

use super::{Activation, Node, NodeId, Program};
use crate::budget::CostBudget;
use crate::declarations::CostClass;
use crate::library::Call;
use crate::value::{Entries, Evaluated, EvaluationError, List, Map, Text, Value, fail, no_such_overload};

/// The state of one evaluation.
pub(super) struct Machine<'a, 'r> {
    pub(super) program: &'a Program,
    pub(super) activation: &'r Activation<'a>,
    pub(super) budget: &'r CostBudget<'r>,
    pub(super) slots: Vec<Slot<'a>>,
}

/// The value of a comprehension's variable.
#[derive(Clone, Debug)]
pub(super) enum Slot<'a> {
    Empty,
    /// It is computed when it is used for the first time.
    Lazy(NodeId),
    Value(Value<'a>),
    Failed(Box<EvaluationError>),
}

/// The cost of a regular node: a variable, a field, an index.
const ATTRIBUTE_COST: u64 = 1;
/// The cost of making a list.
const LIST_COST: u64 = 10;
/// The cost of making a map.
const MAP_COST: u64 = 30;
/// The cost of making an object.
const OBJECT_COST: u64 = 40;

/// Largest size in bytes of a made text for which the cost of its operator is enough.
const MAX_FREE_BYTES: usize = 1024;
/// Number of bytes of a larger text that cost 1, as in the concatenation of texts of known types.
const BYTES_PER_COST: u64 = 10;

// === impl Program: evaluation ===

impl Program {
    /// Evaluates the expression.
    pub fn evaluate<'a>(
        &'a self,
        activation: &Activation<'a>,
        budget: &CostBudget<'_>,
    ) -> Result<Value<'a>, EvaluationError> {
        let slots = if self.slots == 0 { Vec::new() } else { vec![Slot::Empty; self.slots] };
        let mut machine = Machine { program: self, activation, budget, slots };
        machine.eval(self.root).map_err(|error| *error)
    }
}

/// Whether an error ends the evaluation: nothing absorbs it.
fn is_final(error: &EvaluationError) -> bool {
    !matches!(error, EvaluationError::Failed(_))
}

// === impl Machine ===

impl<'a> Machine<'a, '_> {
    pub(super) fn eval(&mut self, id: NodeId) -> Evaluated<'a> {
        let program: &'a Program = self.program;
        self.budget.tick(1)?;
        match program.node(id) {
            Node::Constant(value) => Ok(value.clone()),
            Node::Variable(place) => {
                self.budget.charge(ATTRIBUTE_COST)?;
                self.activation.get(*place)
            }
            Node::Local(slot) => {
                self.budget.charge(ATTRIBUTE_COST)?;
                self.local(*slot)
            }
            Node::Select { operand, field, optional } => self.select(*operand, field, *optional),
            Node::Has { operand, field } => self.has(*operand, field),
            Node::Index { operand, index, optional } => self.index(*operand, *index, *optional),
            Node::And(left, right) => self.logic(*left, *right, false),
            Node::Or(left, right) => self.logic(*left, *right, true),
            Node::Conditional(condition, if_true, if_false) => match self.eval(*condition)? {
                Value::Bool(true) => self.branch(*if_true),
                Value::Bool(false) => self.branch(*if_false),
                _ => no_such_overload(),
            },
            Node::Binary { operator, operands, cost } => {
                let (left, right) = self.operands(*operands, *cost)?;
                self.visit_texts([&left, &right])?;
                let result = super::operators::binary(*operator, &left, &right, self.budget);
                let charge = cost.compute_operator(&left, &right);
                self.budget.charge(charge)?;
                self.charge_made(result.as_ref().ok(), *cost == CostClass::One)?;
                result
            }
            Node::InSet { element, set } => {
                let element = self.eval(*element)?;
                Ok(Value::Bool(element.to_key().is_some_and(|key| set.contains(&key))))
            }
            Node::Not(operand) => self.unary(*operand, |value| match value {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => no_such_overload(),
            }),
            Node::Negate(operand) => self.unary(*operand, super::operators::negate),
            Node::NotStrictlyFalse(operand) => self.not_strictly_false(*operand),
            Node::OptionalOr { operands, unwrap } => self.optional_or(*operands, *unwrap),
            Node::Fold(fold) => self.fold(fold),
            _ => self.eval_aggregate(id),
        }
    }

    /// Counts the work on texts, which operators and functions read, and whose characters their costs count.
    fn visit_texts<'v>(
        &self,
        values: impl IntoIterator<Item = &'v Value<'a>>,
    ) -> Result<(), Box<EvaluationError>>
    where
        'a: 'v,
    {
        for value in values {
            match value {
                Value::String(text) => self.budget.visit_text(text.as_str().len())?,
                Value::Bytes(bytes) => self.budget.visit_text(bytes.len())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Charges for what an operator has made: the costs of operators on operands of unknown types do not depend on sizes, so
    /// that repeated doubling would take all memory.
    fn charge_made(&mut self, made: Option<&Value<'a>>, is_fixed: bool) -> Result<(), Box<EvaluationError>> {
        match made {
            Some(Value::List(list)) => self.budget.work(list.len() as u64),
            _ if !is_fixed => Ok(()),
            Some(Value::String(text)) if text.as_str().len() > MAX_FREE_BYTES => {
                self.budget.charge(text.as_str().len() as u64 / BYTES_PER_COST)
            }
            Some(Value::Bytes(bytes)) if bytes.len() > MAX_FREE_BYTES => {
                self.budget.charge(bytes.len() as u64 / BYTES_PER_COST)
            }
            _ => Ok(()),
        }
    }

    /// Nodes that make something. Apart, so that the frame of the function above stays small.
    fn eval_aggregate(&mut self, id: NodeId) -> Evaluated<'a> {
        let program: &'a Program = self.program;
        match program.node(id) {
            Node::Call { function, native, args, cost, pattern } => {
                let args = self.arguments(args, *cost)?;
                self.visit_texts(&args)?;
                if cost.is_known_before() {
                    self.budget.charge(cost.compute(&args, None, self.budget)?)?;
                }
                let mut call =
                    Call { function, args: &args, pattern: pattern.as_deref(), budget: self.budget };
                let result = native(&mut call);
                self.visit_texts(result.as_ref().ok())?;
                if !cost.is_known_before() {
                    self.budget.charge(cost.compute(&args, result.as_ref().ok(), self.budget)?)?;
                }
                result
            }
            Node::List { elements, optional } => self.make_list(elements, optional),
            Node::Map { entries } => self.make_map(entries),
            Node::Object { type_of, fields } => {
                let mut made = Entries::new();
                for (name, value, optional) in fields {
                    if let Some(value) = self.eval_optional(*value, *optional)? {
                        let key = Value::String(Text::Borrowed(name));
                        if let Some(index) = key.to_key() {
                            made.insert(index, (key, value));
                        }
                    }
                }
                self.budget.charge(OBJECT_COST)?;
                Ok(Value::Map(Map::Object(Arc::new(made), Arc::clone(type_of))))
            }
            Node::Append { slot, element, is_constant } => self.append(*slot, *element, *is_constant),
            Node::Insert { slot, key, value } => self.insert(*slot, *key, *value),
            _ => no_such_overload(),
        }
    }

    /// The arguments of a call. One or two are evaluated, and the call costs something, even if the first fails.
    fn arguments(
        &mut self,
        nodes: &'a [NodeId],
        cost: CostClass,
    ) -> Result<Vec<Value<'a>>, Box<EvaluationError>> {
        if nodes.len() > 2 {
            return nodes.iter().map(|node| self.eval(*node)).collect();
        }
        let mut failure = None;
        let mut values = Vec::with_capacity(nodes.len());
        for node in nodes {
            match self.eval(*node) {
                Ok(value) => values.push(value),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => {
                    values.push(Value::Null);
                    failure.get_or_insert(error);
                }
            }
        }
        let Some(failure) = failure else {
            return Ok(values);
        };
        self.budget.charge(cost.compute(&values, None, self.budget)?)?;
        Err(failure)
    }

    /// The operands of an operator. Both are evaluated, and the operator costs something, even if the first fails.
    fn operands(
        &mut self,
        (left, right): (NodeId, NodeId),
        cost: CostClass,
    ) -> Result<(Value<'a>, Value<'a>), Box<EvaluationError>> {
        let left = self.eval(left);
        if let Err(error) = &left
            && is_final(error)
        {
            return left.map(|left| (left, Value::Null));
        }
        let failure = match (left, self.eval(right)) {
            (Ok(left), Ok(right)) => return Ok((left, right)),
            (_, Err(error)) if is_final(&error) => return Err(error),
            (Err(error), _) | (Ok(_), Err(error)) => error,
        };
        self.budget.charge(cost.compute_operator(&Value::Null, &Value::Null))?;
        Err(failure)
    }

    /// A branch of a conditional. A variable there costs only its fields and elements.
    fn branch(&mut self, id: NodeId) -> Evaluated<'a> {
        let value = self.eval(id);
        if self.program.is_attribute(id) {
            self.budget.refund(ATTRIBUTE_COST);
        }
        value
    }

    fn unary(&mut self, operand: NodeId, apply: impl FnOnce(Value<'a>) -> Evaluated<'a>) -> Evaluated<'a> {
        let operand = self.eval(operand);
        self.budget.charge(1)?;
        apply(operand?)
    }

    /// `&&` and `||`: either side decides, also if the other one fails.
    fn logic(&mut self, left: NodeId, right: NodeId, deciding: bool) -> Evaluated<'a> {
        let first = self.eval(left);
        match &first {
            Ok(Value::Bool(value)) if *value == deciding => return first,
            Err(error) if !matches!(**error, EvaluationError::Failed(_)) => return first,
            _ => {}
        }
        let second = self.eval(right);
        match (&first, &second) {
            (_, Ok(Value::Bool(value))) if *value == deciding => second,
            (_, Err(error)) if !matches!(**error, EvaluationError::Failed(_)) => second,
            (Err(_), _) => first,
            (Ok(Value::Bool(_)), Ok(Value::Bool(_)) | Err(_)) => second,
            _ => no_such_overload(),
        }
    }

    fn not_strictly_false(&mut self, operand: NodeId) -> Evaluated<'a> {
        let value = self.eval(operand);
        self.budget.charge(1)?;
        match value {
            Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
            Err(error) if !matches!(*error, EvaluationError::Failed(_)) => Err(error),
            _ => Ok(Value::Bool(true)),
        }
    }

    fn optional_or(&mut self, (left, right): (NodeId, NodeId), unwrap: bool) -> Evaluated<'a> {
        match self.eval(left)? {
            Value::Optional(Some(value)) if unwrap => Ok(value.as_ref().clone()),
            Value::Optional(Some(value)) => Ok(Value::Optional(Some(value))),
            Value::Optional(None) => self.eval(right),
            _ => no_such_overload(),
        }
    }

    /// The value of an element or an entry; `None` if it is an optional that is not there.
    fn eval_optional(
        &mut self,
        id: NodeId,
        optional: bool,
    ) -> Result<Option<Value<'a>>, Box<EvaluationError>> {
        let value = self.eval(id)?;
        if !optional {
            return Ok(Some(value));
        }
        match value {
            Value::Optional(value) => Ok(value.map(|value| value.as_ref().clone())),
            other => fail(format!("cannot initialize optional list element from non-optional value {other}")),
        }
    }

    fn make_list(&mut self, elements: &'a [NodeId], optional: &'a [bool]) -> Evaluated<'a> {
        let mut made = Vec::with_capacity(elements.len());
        // The list costs what it costs even if an element fails.
        let elements = elements.iter().enumerate().try_for_each(|(index, element)| {
            let is_optional = optional.get(index).copied().unwrap_or(false);
            made.extend(self.eval_optional(*element, is_optional)?);
            Ok::<_, Box<EvaluationError>>(())
        });
        self.budget.charge(LIST_COST)?;
        elements?;
        Ok(Value::list(made))
    }

    fn make_map(&mut self, entries: &'a [(NodeId, NodeId, bool)]) -> Evaluated<'a> {
        let mut made = Entries::new();
        for (key, value, optional) in entries {
            let key = self.eval(*key)?;
            let Some(value) = self.eval_optional(*value, *optional)? else {
                continue;
            };
            let Some(index) = key.to_key() else {
                return fail(format!("unsupported key type: {}", key.type_of().name()));
            };
            made.insert(index, (key, value));
        }
        self.budget.charge(MAP_COST)?;
        Ok(Value::map(made))
    }

    fn append(&mut self, slot: u32, element: NodeId, is_constant: bool) -> Evaluated<'a> {
        let element = self.eval(element)?;
        // The variable, the list of one element and the addition.
        self.budget.charge(ATTRIBUTE_COST + if is_constant { 0 } else { LIST_COST } + 1)?;
        match self.take(slot)? {
            Value::List(List::Owned(mut elements)) => {
                // A list that something else has too is copied.
                if Arc::get_mut(&mut elements).is_none() {
                    self.budget.visit(elements.len())?;
                }
                Arc::make_mut(&mut elements).push(element);
                Ok(Value::List(List::Owned(elements)))
            }
            Value::List(list) => {
                self.budget.visit(list.len())?;
                let mut elements = list.to_vec()?;
                elements.push(element);
                Ok(Value::list(elements))
            }
            _ => no_such_overload(),
        }
    }

    fn insert(&mut self, slot: u32, key: Option<NodeId>, value: NodeId) -> Evaluated<'a> {
        let key = key.map(|key| self.eval(key)).transpose()?;
        let value = self.eval(value)?;
        self.budget.charge(ATTRIBUTE_COST + 1)?;
        let Value::Map(Map::Owned(mut entries)) = self.take(slot)? else {
            return no_such_overload();
        };
        let added = match (key, value) {
            (Some(key), value) => vec![(key, value)],
            (None, Value::Map(map)) => {
                self.budget.visit(map.len())?;
                map.entries()?
            }
            (None, _) => return no_such_overload(),
        };
        if Arc::get_mut(&mut entries).is_none() {
            self.budget.visit(entries.len())?;
        }
        let target = Arc::make_mut(&mut entries);
        for (key, value) in added {
            let Some(index) = key.to_key() else {
                return fail(format!("unsupported key type: {}", key.type_of().name()));
            };
            if target.contains_key(&index) {
                return fail(format!("insert failed: key {key} already exists"));
            }
            target.insert(index, (key, value));
        }
        Ok(Value::Map(Map::Owned(entries)))
    }

    /// Takes a value out of its slot, so that it can be changed in place.
    fn take(&mut self, slot: u32) -> Evaluated<'a> {
        match self.slots.get_mut(slot as usize).map(|slot| std::mem::replace(slot, Slot::Empty)) {
            Some(Slot::Value(value)) => Ok(value),
            Some(Slot::Failed(error)) => Err(error),
            _ => fail("no such attribute(s): accumulator"),
        }
    }
}
