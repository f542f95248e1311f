//! Costs of expressions from the costs of their parts.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::{CallEstimate, CostEstimate, CostNode, Path, SizeEstimate};
use crate::checker::Checked;
use crate::syntax::ast::{ACCUMULATOR, Comprehension, Expr, ExprId, Literal, MapEntry, Name};
use crate::types::{DeclType, Shape, Type};

/// Estimates the cost of one expression.
pub(super) struct Estimator<'e> {
    pub(super) checked: &'e Checked,
    root: Option<&'e DeclType>,
    paths: HashMap<ExprId, Path<'e>>,
    sizes: HashMap<ExprId, SizeEstimate>,
    entry_sizes: HashMap<ExprId, EntrySize>,
    locals: Vec<Local<'e>>,
}

/// The sizes of the keys and values of a list or a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntrySize {
    is_list: bool,
    key: SizeEstimate,
    pub(super) value: SizeEstimate,
}

struct Local<'e> {
    name: Name,
    path: Path<'e>,
    size: Option<SizeEstimate>,
    entry_size: Option<EntrySize>,
}

#[derive(Clone, Copy)]
enum IterationPart {
    Key,
    Value,
    Single,
}

/// The type of map keys.
static KEY: LazyLock<DeclType> = LazyLock::new(|| DeclType::new(Shape::String));

const ATTRIBUTE_COST: CostEstimate = CostEstimate::fixed(1);
const LIST_COST: CostEstimate = CostEstimate::fixed(10);
const MAP_COST: CostEstimate = CostEstimate::fixed(30);
const OBJECT_COST: CostEstimate = CostEstimate::fixed(40);

// === impl EntrySize ===

impl EntrySize {
    pub(super) fn union(self, other: Self) -> Self {
        Self { is_list: self.is_list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

// === impl Path ===

impl<'e> Path<'e> {
    fn step(self, root: Option<&'e DeclType>, name: &str) -> Self {
        let Self::At(at) = self else {
            // The first name of a path stands for a variable, whatever it is.
            return Self::At(root);
        };
        Self::At(at.and_then(|declared| match (&declared.shape, name) {
            (Shape::List(item, _), "@items") => Some(item.as_ref()),
            (Shape::Map(value), "@values" | "@items") => Some(value.as_ref()),
            (Shape::List(item, _), "@values") => Some(item.as_ref()),
            (Shape::Map(_), "@keys") => Some(&*KEY),
            (Shape::Map(value), _) if declared.has_selectable_entries() => Some(value.as_ref()),
            (Shape::Object(object), name) => object.escaped_field(name).map(|field| &field.declared),
            _ => None,
        }))
    }
}

// === impl Estimator ===

impl<'e> Estimator<'e> {
    pub(super) fn new(checked: &'e Checked, root: Option<&'e DeclType>) -> Self {
        Self {
            checked,
            root,
            paths: HashMap::new(),
            sizes: HashMap::new(),
            entry_sizes: HashMap::new(),
            locals: Vec::new(),
        }
    }

    pub(super) fn cost(&mut self, id: ExprId) -> CostEstimate {
        let checked = self.checked;
        match checked.ast.get(id) {
            Expr::Error | Expr::Literal(_) => CostEstimate::default(),
            Expr::Ident(name) => self.cost_ident(id, name),
            // A dotted variable, or the dotted name of a type, is one name.
            Expr::Select { .. } if checked.references.contains_key(&id) => {
                self.paths.insert(id, Path::At(self.root));
                ATTRIBUTE_COST
            }
            Expr::Select { operand, test_only: true, .. } => self.cost(*operand),
            Expr::Select { operand, field, .. } => {
                let mut sum = self.cost(*operand);
                if matches!(checked.type_of(*operand), Type::Map(_) | Type::Object(_) | Type::Param(_)) {
                    sum = sum.add(ATTRIBUTE_COST);
                }
                let path = self.path(*operand).step(self.root, field);
                self.paths.insert(id, path);
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
        let path = match self.local(name) {
            Some(local) => local.path,
            None => Path::At(self.root),
        };
        self.paths.insert(id, path);
        ATTRIBUTE_COST
    }

    fn local(&self, name: &str) -> Option<&Local<'e>> {
        self.locals.iter().rev().find(|local| local.name.as_ref() == name)
    }

    fn cost_list(&mut self, id: ExprId, elements: &[ExprId]) -> CostEstimate {
        let mut sum = CostEstimate::default();
        let mut value = empty_union(elements.is_empty());
        for element in elements {
            sum = sum.add(self.cost(*element));
            value = value.union(self.size_or_unknown(*element));
        }
        self.entry_sizes.insert(id, EntrySize { is_list: true, key: SizeEstimate::fixed(1), value });
        sum.add(LIST_COST)
    }

    fn cost_map(&mut self, id: ExprId, entries: &[MapEntry]) -> CostEstimate {
        let mut sum = CostEstimate::default();
        let mut key = empty_union(entries.is_empty());
        let mut value = empty_union(entries.is_empty());
        for entry in entries {
            sum = sum.add(self.cost(entry.key)).add(self.cost(entry.value));
            key = key.union(self.size_or_unknown(entry.key));
            value = value.union(self.size_or_unknown(entry.value));
        }
        self.entry_sizes.insert(id, EntrySize { is_list: false, key, value });
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
            self.copy_sizes(id, *arg);
            return CostEstimate::fixed(1).add(cost);
        }
        let mut arg_costs = Vec::with_capacity(args.len());
        let mut operands = Vec::with_capacity(args.len() + 1);
        for arg in args {
            arg_costs.push(self.cost(*arg));
            operands.push(self.node(*arg));
        }
        let overloads = self.checked.overloads(id);
        if overloads.is_empty() {
            return CostEstimate::default();
        }
        let mut sum = CostEstimate::default();
        if let Some(target) = target {
            sum = self.cost(target);
            operands.insert(0, self.node(target));
        }
        let mut cost = CostEstimate { min: u64::MAX, max: 0 };
        let mut size: Option<SizeEstimate> = None;
        for overload in overloads {
            let call = super::calls::Call { id, overload, operands: &operands };
            let CallEstimate { cost: this, size: this_size } = self.call_cost(&call, &arg_costs);
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
                size = self.entry_size(*indexed).map(|sizes| sizes.value);
                let path = self.path(*indexed).step(self.root, element);
                self.paths.insert(id, path);
            }
            if size.is_none() {
                size = self.size(id);
            }
        }
        if let Some(size) = size {
            self.sizes.insert(id, size);
        }
        sum.add(cost)
    }

    fn is_bind(&self, fold: &Comprehension) -> bool {
        let is_empty =
            matches!(self.checked.ast.get(fold.range), Expr::List { elements, .. } if elements.is_empty());
        let never = matches!(self.checked.ast.get(fold.condition), Expr::Literal(Literal::Bool(false)));
        is_empty && never && fold.accumulator.as_ref() != ACCUMULATOR
    }

    fn push_local(&mut self, name: &Name, of: ExprId) {
        let local = Local {
            name: Arc::clone(name),
            path: self.path(of),
            size: self.size(of),
            entry_size: self.entry_size(of),
        };
        self.locals.push(local);
    }

    fn cost_bind(&mut self, id: ExprId, fold: &Comprehension) -> CostEstimate {
        let sum = self.cost(fold.range).add(self.cost(fold.init));
        self.push_local(&fold.accumulator, fold.init);
        let sum = sum.add(self.cost(fold.result));
        self.locals.pop();
        self.copy_sizes(id, fold.result);
        sum
    }

    /// Declares a variable for the keys or the values of a range.
    fn push_iteration(&mut self, name: &Name, range: ExprId, part: IterationPart) {
        let sizes = self.entry_size(range);
        let is_list =
            sizes.map_or_else(|| matches!(self.checked.type_of(range), Type::List(_)), |sizes| sizes.is_list);
        let is_value = match part {
            IterationPart::Key => false,
            IterationPart::Value => true,
            IterationPart::Single => is_list,
        };
        let step = match (is_value, is_list) {
            (true, true) => "@items",
            (true, false) => "@values",
            (false, true) => "@indices",
            (false, false) => "@keys",
        };
        let size = sizes.map(|sizes| if is_value { sizes.value } else { sizes.key });
        let path = self.path(range).step(self.root, step);
        self.locals.push(Local { name: Arc::clone(name), path, size, entry_size: None });
    }

    fn cost_fold(&mut self, id: ExprId, fold: &Comprehension) -> CostEstimate {
        let mut sum = self.cost(fold.range).add(self.cost(fold.init));
        let outer = self.locals.len();
        self.push_local(&fold.accumulator, fold.init);
        match &fold.second_variable {
            Some(second) => {
                self.push_iteration(&fold.variable, fold.range, IterationPart::Key);
                self.push_iteration(second, fold.range, IterationPart::Value);
            }
            None => self.push_iteration(&fold.variable, fold.range, IterationPart::Single),
        }
        let condition = self.cost(fold.condition);
        let step = self.cost(fold.step);
        self.locals.truncate(outer + 1);
        sum = sum.add(self.cost(fold.result));
        self.locals.truncate(outer);
        let count = self.size_or_unknown(fold.range);
        sum = sum.add(count.multiply(step.add(condition)));
        match self.checked.ast.get(fold.init) {
            Expr::Literal(_) => {
                if let Some(size) = self.size(fold.init) {
                    self.sizes.insert(id, size);
                }
            }
            Expr::List { .. } | Expr::Map { .. } => {
                self.sizes.insert(id, count);
                if let Some(sizes) = self.entry_size(fold.step) {
                    self.entry_sizes.insert(id, sizes);
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

// === impl Estimator: sizes ===

impl<'e> Estimator<'e> {
    pub(super) fn path(&self, id: ExprId) -> Path<'e> {
        if let Expr::Ident(name) = self.checked.ast.get(id)
            && let Some(local) = self.local(name)
        {
            return local.path;
        }
        self.paths.get(&id).copied().unwrap_or(Path::Empty)
    }

    fn node(&mut self, id: ExprId) -> CostNode<'e> {
        CostNode {
            path: self.path(id),
            type_of: self.checked.type_of(id).clone(),
            expr: Some(id),
            size: self.size(id),
        }
    }

    pub(super) fn declared_size(path: Path<'e>) -> Option<SizeEstimate> {
        match path {
            Path::At(Some(declared)) => {
                Some(SizeEstimate { min: 0, max: declared.max_elements.unwrap_or(0) })
            }
            Path::At(None) | Path::Empty => None,
        }
    }

    fn size(&mut self, id: ExprId) -> Option<SizeEstimate> {
        if let Some(size) = self.sizes.get(&id) {
            return Some(*size);
        }
        let written = match self.checked.ast.get(id) {
            Expr::Literal(Literal::String(text)) => Some(text.chars().count()),
            Expr::Literal(Literal::Bytes(bytes)) => Some(bytes.len()),
            Expr::Literal(_) => Some(1),
            Expr::List { elements, .. } => Some(elements.len()),
            Expr::Map { entries } => Some(entries.len()),
            _ => None,
        };
        if let Some(size) = written {
            return Some(SizeEstimate::fixed(size as u64));
        }
        if let Some(size) = Self::declared_size(self.path(id)) {
            self.sizes.insert(id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(id)) {
            return Some(SizeEstimate::fixed(1));
        }
        match self.checked.ast.get(id) {
            Expr::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, id: ExprId) -> SizeEstimate {
        self.size(id).unwrap_or(SizeEstimate::UNKNOWN)
    }

    pub(super) fn entry_size(&self, id: ExprId) -> Option<EntrySize> {
        if let Some(sizes) = self.entry_sizes.get(&id) {
            return Some(*sizes);
        }
        match self.checked.ast.get(id) {
            Expr::Ident(name) => self.local(name).and_then(|local| local.entry_size),
            _ => None,
        }
    }

    pub(super) fn set_entry_size(&mut self, id: ExprId, sizes: EntrySize) {
        self.entry_sizes.insert(id, sizes);
    }

    fn copy_sizes(&mut self, to: ExprId, from: ExprId) {
        if let Some(size) = self.size(from) {
            self.sizes.insert(to, size);
        }
        if let Some(sizes) = self.entry_size(from) {
            self.entry_sizes.insert(to, sizes);
        }
    }

    pub(super) fn element_path(&self, path: Path<'e>) -> Path<'e> {
        match path {
            Path::Empty => Path::Empty,
            at @ Path::At(_) => at.step(self.root, "@items"),
        }
    }
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        other => other.optional_parameter().is_some_and(is_scalar),
    }
}
