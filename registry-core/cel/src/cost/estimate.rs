//! Costs of expressions from the costs of their parts.

use super::calls::{Call, CallEstimate};
use super::sizes::{EntrySize, IterationPart, Sizes};
use super::{CostEstimate, SizeEstimate};
use crate::checker::Checked;
use crate::syntax::ast::{ACCUMULATOR, Comprehension, Expr, ExprId, Literal, MapEntry, Name};
use crate::types::{DeclType, Type};

/// Estimates the cost of one expression.
pub(super) struct Estimator<'e> {
    sizes: Sizes<'e>,
}

const ATTRIBUTE_COST: CostEstimate = CostEstimate::fixed(1);
const LIST_COST: CostEstimate = CostEstimate::fixed(10);
const MAP_COST: CostEstimate = CostEstimate::fixed(30);
const OBJECT_COST: CostEstimate = CostEstimate::fixed(40);

// === impl Estimator ===

impl<'e> Estimator<'e> {
    pub(super) fn new(checked: &'e Checked, root: Option<&'e DeclType>) -> Self {
        Self { sizes: Sizes::new(checked, root) }
    }

    pub(super) fn cost(&mut self, id: ExprId) -> CostEstimate {
        let checked = self.sizes.checked;
        match checked.ast.get(id) {
            Expr::Error | Expr::Literal(_) => CostEstimate::default(),
            Expr::Ident(name) => self.cost_ident(id, name),
            // A dotted variable, or the dotted name of a type, is one name.
            Expr::Select { .. } if checked.references.contains_key(&id) => {
                self.sizes.set_path(id, self.sizes.variable_path());
                ATTRIBUTE_COST
            }
            Expr::Select { operand, test_only: true, .. } => self.cost(*operand),
            Expr::Select { operand, field, .. } => {
                let mut sum = self.cost(*operand);
                if matches!(checked.type_of(*operand), Type::Map(_) | Type::Object(_) | Type::Param(_)) {
                    sum = sum.add(ATTRIBUTE_COST);
                }
                let path = self.sizes.step(self.sizes.path(*operand), field);
                self.sizes.set_path(id, path);
                sum
            }
            Expr::Call { function, target, args } => self.cost_call(id, function, *target, args),
            Expr::List { elements, .. } => self.cost_list(id, elements),
            Expr::Map { entries } => self.cost_map(id, entries),
            Expr::Struct { fields, .. } => {
                let sum =
                    fields.iter().fold(CostEstimate::default(), |sum, field| sum.add(self.cost(field.value)));
                sum.add(OBJECT_COST)
            }
            Expr::Comprehension(fold) if self.is_bind(fold) => self.cost_bind(id, fold),
            Expr::Comprehension(fold) => self.cost_fold(id, fold),
        }
    }

    fn cost_ident(&mut self, id: ExprId, name: &Name) -> CostEstimate {
        self.sizes.set_path(id, self.sizes.name_path(name));
        ATTRIBUTE_COST
    }

    fn cost_list(&mut self, id: ExprId, elements: &[ExprId]) -> CostEstimate {
        let mut sum = CostEstimate::default();
        let mut value = empty_union(elements.is_empty());
        for element in elements {
            sum = sum.add(self.cost(*element));
            value = value.union(self.sizes.size_or_unknown(*element));
        }
        self.sizes.set_entry_size(id, EntrySize { is_list: true, key: SizeEstimate::fixed(1), value });
        sum.add(LIST_COST)
    }

    fn cost_map(&mut self, id: ExprId, entries: &[MapEntry]) -> CostEstimate {
        let mut sum = CostEstimate::default();
        let mut key = empty_union(entries.is_empty());
        let mut value = empty_union(entries.is_empty());
        for entry in entries {
            sum = sum.add(self.cost(entry.key)).add(self.cost(entry.value));
            key = key.union(self.sizes.size_or_unknown(entry.key));
            value = value.union(self.sizes.size_or_unknown(entry.value));
        }
        self.sizes.set_entry_size(id, EntrySize { is_list: false, key, value });
        sum.add(MAP_COST)
    }

    fn cost_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> CostEstimate {
        if let ("dyn", [arg]) = (function, args) {
            let cost = self.cost(*arg);
            self.sizes.copy_sizes(id, *arg);
            return CostEstimate::fixed(1).add(cost);
        }
        let mut arg_costs = Vec::with_capacity(args.len());
        let mut operands = Vec::with_capacity(args.len() + 1);
        for arg in args {
            arg_costs.push(self.cost(*arg));
            operands.push(self.sizes.node(*arg));
        }
        let overloads = self.sizes.checked.overloads(id);
        if overloads.is_empty() {
            return CostEstimate::default();
        }
        let mut sum = CostEstimate::default();
        if let Some(target) = target {
            sum = self.cost(target);
            operands.insert(0, self.sizes.node(target));
        }
        let mut cost = CostEstimate { min: u64::MAX, max: 0 };
        let mut size: Option<SizeEstimate> = None;
        for overload in overloads {
            let call = Call { id, overload, operands: &operands };
            let CallEstimate { cost: this, size: this_size } = call.cost(&mut self.sizes, &arg_costs);
            cost = cost.union(this);
            size = match (size, this_size) {
                (Some(size), Some(this)) => Some(size.union(this)),
                (size, this) => size.or(this),
            };
            let element = match overload.id {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(element), [indexed, ..]) = (element, args) {
                size = self.sizes.entry_size(*indexed).map(|sizes| sizes.value);
                let path = self.sizes.step(self.sizes.path(*indexed), element);
                self.sizes.set_path(id, path);
            }
            if size.is_none() {
                size = self.sizes.size(id);
            }
        }
        if let Some(size) = size {
            self.sizes.set_size(id, size);
        }
        sum.add(cost)
    }

    fn is_bind(&self, fold: &Comprehension) -> bool {
        let is_empty = matches!(self.sizes.checked.ast.get(fold.range), Expr::List { elements, .. } if elements.is_empty());
        let never = matches!(self.sizes.checked.ast.get(fold.condition), Expr::Literal(Literal::Bool(false)));
        is_empty && never && fold.accumulator.as_ref() != ACCUMULATOR
    }

    fn cost_bind(&mut self, id: ExprId, fold: &Comprehension) -> CostEstimate {
        let sum = self.cost(fold.range).add(self.cost(fold.init));
        let outer = self.sizes.scope();
        self.sizes.push_local(&fold.accumulator, fold.init);
        let sum = sum.add(self.cost(fold.result));
        self.sizes.leave(outer);
        self.sizes.copy_sizes(id, fold.result);
        sum
    }

    fn cost_fold(&mut self, id: ExprId, fold: &Comprehension) -> CostEstimate {
        let mut sum = self.cost(fold.range).add(self.cost(fold.init));
        let outer = self.sizes.scope();
        self.sizes.push_local(&fold.accumulator, fold.init);
        match &fold.second_variable {
            Some(second) => {
                self.sizes.push_iteration(&fold.variable, fold.range, IterationPart::Key);
                self.sizes.push_iteration(second, fold.range, IterationPart::Value);
            }
            None => self.sizes.push_iteration(&fold.variable, fold.range, IterationPart::Single),
        }
        let condition = self.cost(fold.condition);
        let step = self.cost(fold.step);
        self.sizes.leave(outer + 1);
        sum = sum.add(self.cost(fold.result));
        self.sizes.leave(outer);
        let count = self.sizes.size_or_unknown(fold.range);
        sum = sum.add(count.multiply(step.add(condition)));
        match self.sizes.checked.ast.get(fold.init) {
            Expr::Literal(_) => {
                if let Some(size) = self.sizes.size(fold.init) {
                    self.sizes.set_size(id, size);
                }
            }
            Expr::List { .. } | Expr::Map { .. } => {
                self.sizes.set_size(id, count);
                if let Some(sizes) = self.sizes.entry_size(fold.step) {
                    self.sizes.set_entry_size(id, sizes);
                }
            }
            _ => {}
        }
        sum
    }
}

fn empty_union(is_empty: bool) -> SizeEstimate {
    SizeEstimate { min: if is_empty { 0 } else { u64::MAX }, max: 0 }
}
