//! From a checked expression to a plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Activation, Binary, Fold, Node, NodeId, Program};
use crate::budget::CostBudget;
use crate::checker::{Checked, Reference};
use crate::declarations::{CostClass, OperatorCost, Overload};
use crate::library;
use crate::syntax::ast::{Comprehension, Expr, ExprId, Literal, Name, is_optional, operators};
use crate::types::Type;
use crate::value::{EvaluationError, Key, List, Text, Value};
use registry_schema::go_regexp::{Pattern, SyntaxError};

/// Error of a checked expression that cannot be planned. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A constant part has no value.
    #[error(transparent)]
    Constant(#[from] EvaluationError),
    /// A constant regular expression is malformed.
    #[error(transparent)]
    Pattern(#[from] SyntaxError),
    /// No function has this name.
    #[error("no such overload: {0}")]
    UnknownFunction(String),
    /// The environment does not have this variable.
    #[error("undeclared variable {0}")]
    UndeclaredVariable(Name),
    /// A value of this type cannot be made.
    #[error("unknown type: {0}")]
    UnknownType(String),
    /// The name of an optional field is not constant.
    #[error("unsupported optional field selection")]
    OptionalSelection,
    /// The checker did not resolve a name.
    #[error("unresolved name")]
    UnresolvedName,
    /// The parser reported errors.
    #[error("expression has errors")]
    Malformed,
}

struct Planner<'c> {
    checked: &'c Checked,
    variables: Arc<[Name]>,
    nodes: Vec<Node>,
    /// The slots of the comprehension variables that can be seen.
    locals: Vec<(Name, u32)>,
    slots: u32,
    /// The number of nodes around the one that is planned, and the most there were.
    depth: u32,
    max_depth: u32,
    referenced: Vec<u32>,
    paths: Vec<String>,
}

/// Plans an expression over the variables of an environment. Fails if a constant part has no value.
pub(crate) fn plan(
    checked: &Checked,
    variables: &Arc<[Name]>,
    estimate: crate::cost::CostEstimate,
) -> Result<Program, PlanError> {
    let mut planner = Planner {
        checked,
        variables: Arc::clone(variables),
        nodes: Vec::with_capacity(checked.ast.len()),
        locals: Vec::new(),
        slots: 0,
        depth: 0,
        max_depth: 0,
        referenced: Vec::new(),
        paths: Vec::new(),
    };
    let root = planner.plan(checked.root)?;
    planner.paths.sort_unstable();
    planner.paths.dedup();
    Ok(Program {
        nodes: planner.nodes,
        root,
        slots: planner.slots as usize,
        depth: planner.max_depth,
        output: checked.type_of(checked.root).clone(),
        variables: planner.variables,
        referenced: planner.referenced,
        paths: planner.paths,
        estimate,
    })
}

// === impl Planner ===

impl Planner<'_> {
    fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    fn is_constant(&self, id: NodeId) -> bool {
        matches!(self.nodes.get(id.0 as usize), Some(Node::Constant(_)))
    }

    fn plan(&mut self, id: ExprId) -> Result<NodeId, PlanError> {
        self.depth += 1;
        self.max_depth = self.max_depth.max(self.depth);
        let planned = self.plan_node(id);
        self.depth -= 1;
        planned
    }

    fn plan_node(&mut self, id: ExprId) -> Result<NodeId, PlanError> {
        let checked = self.checked;
        match checked.ast.get(id) {
            Expr::Error => Err(PlanError::Malformed),
            Expr::Literal(literal) => Ok(self.add(Node::Constant(constant(literal)))),
            Expr::Ident(_) => self.plan_reference(id),
            Expr::Select { .. } if checked.references.contains_key(&id) => self.plan_reference(id),
            Expr::Select { operand, field, test_only } => {
                self.note_path(id);
                let operand = self.plan(*operand)?;
                let field = Arc::clone(field);
                Ok(self.add(if *test_only {
                    Node::Has { operand, field }
                } else {
                    Node::Select { operand, field, optional: false }
                }))
            }
            Expr::Call { function, target, args } => self.plan_call(id, function, *target, args),
            Expr::List { elements, optional } => {
                let planned: Vec<_> =
                    elements.iter().map(|element| self.plan(*element)).collect::<Result<_, _>>()?;
                let is_constant =
                    optional.is_empty() && planned.iter().all(|element| self.is_constant(*element));
                let optional = if optional.is_empty() {
                    Vec::new()
                } else {
                    (0..planned.len()).map(|index| is_optional(optional, index)).collect()
                };
                let node = Node::List { elements: planned.into(), optional: optional.into() };
                self.add_folded(node, is_constant)
            }
            Expr::Map { entries } => {
                let mut planned = Vec::with_capacity(entries.len());
                for entry in entries {
                    planned.push((self.plan(entry.key)?, self.plan(entry.value)?, entry.optional));
                }
                let is_constant = planned.iter().all(|(key, value, optional)| {
                    !optional && self.is_constant(*key) && self.is_constant(*value)
                });
                self.add_folded(Node::Map { entries: planned.into() }, is_constant)
            }
            Expr::Struct { fields, .. } => {
                let mut planned = Vec::with_capacity(fields.len());
                for field in fields {
                    planned.push((Arc::clone(&field.name), self.plan(field.value)?, field.optional));
                }
                match checked.type_of(id) {
                    Type::Object(object) => {
                        Ok(self.add(Node::Object { type_of: Arc::clone(object), fields: planned.into() }))
                    }
                    other => Err(PlanError::UnknownType(other.to_string())),
                }
            }
            Expr::Comprehension(fold) => self.plan_comprehension(fold),
        }
    }

    /// Adds a node, or the constant it computes if all its parts are constants.
    fn add_folded(&mut self, node: Node, is_constant: bool) -> Result<NodeId, PlanError> {
        let id = self.add(node);
        if !is_constant {
            return Ok(id);
        }
        let value = self.evaluate_constant(id)?;
        if let (Some(place), Some(value)) = (self.nodes.get_mut(id.0 as usize), value) {
            *place = Node::Constant(value);
        }
        Ok(id)
    }

    /// The value of a node whose parts are constants; `None` if it is too long to keep.
    fn evaluate_constant(&mut self, root: NodeId) -> Result<Option<Value<'static>>, PlanError> {
        let nodes = std::mem::take(&mut self.nodes);
        let program = Program {
            nodes,
            root,
            slots: 0,
            depth: 0,
            output: Type::Dyn,
            variables: Arc::from([]),
            referenced: Vec::new(),
            paths: Vec::new(),
            estimate: crate::cost::CostEstimate::default(),
        };
        let activation = Activation::new(&program.variables);
        let value = program.evaluate(&activation, &CostBudget::default()).map(|value| value.to_static());
        self.nodes = program.nodes;
        Ok(value?)
    }

    fn plan_reference(&mut self, id: ExprId) -> Result<NodeId, PlanError> {
        match self.checked.references.get(&id) {
            Some(Reference::Type(found)) => {
                Ok(self.add(Node::Constant(Value::Type(Arc::new(found.clone())))))
            }
            Some(Reference::Variable(name)) => {
                if let Some((_, slot)) = self.locals.iter().rev().find(|(local, _)| local == name) {
                    let slot = *slot;
                    return Ok(self.add(Node::Local(slot)));
                }
                let place = self.variables.iter().position(|other| other == name);
                let place = place.ok_or_else(|| PlanError::UndeclaredVariable(Name::clone(name)))? as u32;
                if !self.referenced.contains(&place) {
                    self.referenced.push(place);
                }
                Ok(self.add(Node::Variable(place)))
            }
            _ => Err(PlanError::UnresolvedName),
        }
    }

    /// Notes a selection that starts at a variable of the environment.
    fn note_path(&mut self, id: ExprId) {
        let mut names = Vec::new();
        let mut at = id;
        loop {
            match self.checked.ast.get(at) {
                Expr::Select { operand, field, .. } => {
                    names.push(field.as_ref());
                    at = *operand;
                }
                Expr::Ident(name) if !self.locals.iter().any(|(local, _)| local == name) => {
                    names.push(name.as_ref());
                    names.reverse();
                    self.paths.push(names.join("."));
                    return;
                }
                _ => return,
            }
        }
    }

    fn plan_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Result<NodeId, PlanError> {
        let planned: Vec<_> =
            target.iter().chain(args).map(|arg| self.plan(*arg)).collect::<Result<_, _>>()?;
        let overloads = self.checked.overloads(id);
        let node = match (function, planned.as_slice()) {
            (operators::LOGICAL_AND, [left, right]) => Node::And(*left, *right),
            (operators::LOGICAL_OR, [left, right]) => Node::Or(*left, *right),
            (operators::CONDITIONAL, [condition, if_true, if_false]) => {
                Node::Conditional(*condition, *if_true, *if_false)
            }
            (operators::LOGICAL_NOT, [operand]) => Node::Not(*operand),
            (operators::NEGATE, [operand]) => Node::Negate(*operand),
            (operators::NOT_STRICTLY_FALSE, [operand]) => Node::NotStrictlyFalse(*operand),
            (operators::INDEX, [operand, index]) => {
                Node::Index { operand: *operand, index: *index, optional: false }
            }
            (operators::OPTIONAL_INDEX, [operand, index]) => {
                Node::Index { operand: *operand, index: *index, optional: true }
            }
            (operators::OPTIONAL_SELECT, [operand, field]) => match self.nodes.get(field.0 as usize) {
                Some(Node::Constant(Value::String(text))) => {
                    Node::Select { operand: *operand, field: Name::from(text.as_str()), optional: true }
                }
                _ => return Err(PlanError::OptionalSelection),
            },
            ("or", [left, right]) => Node::OptionalOr { operands: (*left, *right), unwrap: false },
            ("orValue", [left, right]) => Node::OptionalOr { operands: (*left, *right), unwrap: true },
            (_, [left, right]) if let Some(operator) = Binary::from_function(function) => {
                let cost = CostClass::from_overloads(&overloads);
                let constant = (cost == CostClass::Operator(OperatorCost::In))
                    .then(|| self.constant_set(*right))
                    .flatten();
                if let Some(set) = constant {
                    return Ok(self.add(Node::InSet { element: *left, set }));
                }
                Node::Binary { operator, operands: (*left, *right), cost }
            }
            _ => return self.plan_function(function, &overloads, planned),
        };
        Ok(self.add(node))
    }

    /// The elements of a constant list, if all of them can be keys.
    fn constant_set(&self, list: NodeId) -> Option<BTreeSet<Key<'static>>> {
        match self.nodes.get(list.0 as usize)? {
            Node::Constant(Value::List(List::Owned(elements))) => {
                elements.iter().map(Value::to_key).collect()
            }
            _ => None,
        }
    }

    fn plan_function(
        &mut self,
        function: &str,
        overloads: &[&Overload],
        args: Vec<NodeId>,
    ) -> Result<NodeId, PlanError> {
        let (function, native) =
            library::native(function).ok_or_else(|| PlanError::UnknownFunction(function.to_owned()))?;
        let native = match overloads {
            [only] => library::lists::sum_of(only.id).unwrap_or(native),
            _ => native,
        };
        let mut pattern = None;
        if let ("matches" | "find" | "findAll", [_, regex, ..]) = (function, args.as_slice())
            && let Some(Node::Constant(Value::String(text))) = self.nodes.get(regex.0 as usize)
        {
            pattern = Some(Arc::new(Pattern::parse(text.as_str())?));
        }
        let is_conversion = matches!(
            function,
            "bool"
                | "bytes"
                | "double"
                | "duration"
                | "dyn"
                | "int"
                | "string"
                | "timestamp"
                | "type"
                | "uint"
        );
        let is_constant = is_conversion && matches!(args.as_slice(), [arg] if self.is_constant(*arg));
        let cost = CostClass::from_overloads(overloads);
        self.add_folded(Node::Call { function, native, args: args.into(), cost, pattern }, is_constant)
    }

    fn new_slot(&mut self, name: &Name) -> u32 {
        let slot = self.slots;
        self.slots += 1;
        self.locals.push((Arc::clone(name), slot));
        slot
    }

    fn plan_comprehension(&mut self, fold: &Comprehension) -> Result<NodeId, PlanError> {
        let range = self.plan(fold.range)?;
        let init = self.plan(fold.init)?;
        let outer = self.locals.len();
        let accumulator = self.new_slot(&fold.accumulator);
        let first = self.new_slot(&fold.variable);
        let second = fold.second_variable.as_ref().map(|name| self.new_slot(name));
        let condition = self.plan(fold.condition)?;
        let step = self.plan_step(fold.step, fold, accumulator)?;
        self.locals.truncate(outer + 1);
        let result = self.plan(fold.result)?;
        self.locals.truncate(outer);
        let fold = Fold { range, first, second, accumulator, init, condition, step, result };
        Ok(self.add(Node::Fold(Box::new(fold))))
    }

    /// Plans a step; one that adds to the accumulator changes it in place.
    fn plan_step(&mut self, id: ExprId, fold: &Comprehension, slot: u32) -> Result<NodeId, PlanError> {
        let checked = self.checked;
        let is_accumulator =
            |id: ExprId| matches!(checked.ast.get(id), Expr::Ident(name) if *name == fold.accumulator);
        let Expr::Call { function, target: None, args } = checked.ast.get(id) else {
            return self.plan(id);
        };
        match (function.as_ref(), args.as_slice()) {
            (operators::CONDITIONAL, [filter, step, rest]) if is_accumulator(*rest) => {
                let filter = self.plan(*filter)?;
                let step = self.plan_step(*step, fold, slot)?;
                let rest = self.plan(*rest)?;
                Ok(self.add(Node::Conditional(filter, step, rest)))
            }
            (operators::ADD, [accumulator, list]) if is_accumulator(*accumulator) => {
                match checked.ast.get(*list) {
                    Expr::List { elements, optional } if optional.is_empty() && elements.len() == 1 => {
                        let element = self.plan(elements.first().copied().unwrap_or(*list))?;
                        let is_constant = self.is_constant(element);
                        Ok(self.add(Node::Append { slot, element, is_constant }))
                    }
                    _ => self.plan(id),
                }
            }
            ("cel.@mapInsert", [accumulator, rest @ ..]) if is_accumulator(*accumulator) => match rest {
                [key, value] => {
                    let key = Some(self.plan(*key)?);
                    let value = self.plan(*value)?;
                    Ok(self.add(Node::Insert { slot, key, value }))
                }
                [entries] => {
                    let value = self.plan(*entries)?;
                    Ok(self.add(Node::Insert { slot, key: None, value }))
                }
                _ => self.plan(id),
            },
            _ => self.plan(id),
        }
    }
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::String(Text::Shared(Arc::clone(text))),
        Literal::Bytes(bytes) => Value::Bytes(Arc::clone(bytes)),
    }
}
