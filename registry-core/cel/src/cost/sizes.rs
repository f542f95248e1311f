//! Sizes of expressions: those that are written, those of declared types, and those that calls have.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::SizeEstimate;
use crate::checker::Checked;
use crate::syntax::ast::{Expr, ExprId, Literal, Name};
use crate::types::{DeclType, Shape, Type};

/// The sizes that are known of the parts of one expression.
pub(super) struct Sizes<'e> {
    pub(super) checked: &'e Checked,
    /// The declared type of every variable.
    root: Option<&'e DeclType>,
    paths: HashMap<ExprId, Path<'e>>,
    values: HashMap<ExprId, SizeEstimate>,
    entries: HashMap<ExprId, EntrySize>,
    locals: Vec<Local<'e>>,
}

/// The sizes of the keys and values of a list or a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntrySize {
    pub(super) is_list: bool,
    pub(super) key: SizeEstimate,
    pub(super) value: SizeEstimate,
}

/// An argument of a call, for the purpose of estimates.
#[derive(Clone, Debug)]
pub(super) struct CostNode<'e> {
    pub(super) path: Path<'e>,
    pub(super) type_of: Type,
    pub(super) expr: Option<ExprId>,
    pub(super) size: Option<SizeEstimate>,
}

/// The position of an expression's value in the declared types.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'e> {
    /// The expression starts at no variable.
    Empty,
    /// The declared type of the value; `None` beyond the declared types.
    At(Option<&'e DeclType>),
}

/// A variable of a comprehension.
struct Local<'e> {
    name: Name,
    path: Path<'e>,
    size: Option<SizeEstimate>,
    entry_size: Option<EntrySize>,
}

/// The part of a range's entries that a variable stands for.
#[derive(Clone, Copy)]
pub(super) enum IterationPart {
    Key,
    Value,
    Single,
}

/// The type of map keys.
static KEY: LazyLock<DeclType> = LazyLock::new(|| DeclType::new(Shape::String));

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

    pub(super) fn declared_size(self) -> Option<SizeEstimate> {
        match self {
            Self::At(Some(declared)) => {
                Some(SizeEstimate { min: 0, max: declared.max_elements.unwrap_or(0) })
            }
            Self::At(None) | Self::Empty => None,
        }
    }
}

// === impl CostNode ===

impl CostNode<'_> {
    pub(super) fn known_size(&self) -> SizeEstimate {
        self.size.or_else(|| self.path.declared_size()).unwrap_or(SizeEstimate::UNKNOWN)
    }
}

// === impl Sizes ===

impl<'e> Sizes<'e> {
    pub(super) fn new(checked: &'e Checked, root: Option<&'e DeclType>) -> Self {
        Self {
            checked,
            root,
            paths: HashMap::new(),
            values: HashMap::new(),
            entries: HashMap::new(),
            locals: Vec::new(),
        }
    }

    /// The path of a variable that is declared outside of the expression.
    pub(super) fn variable_path(&self) -> Path<'e> {
        Path::At(self.root)
    }

    /// The path of a name, which may be a variable of a comprehension.
    pub(super) fn name_path(&self, name: &str) -> Path<'e> {
        self.local(name).map_or(self.variable_path(), |local| local.path)
    }

    pub(super) fn step(&self, path: Path<'e>, name: &str) -> Path<'e> {
        path.step(self.root, name)
    }

    pub(super) fn set_path(&mut self, id: ExprId, path: Path<'e>) {
        self.paths.insert(id, path);
    }

    pub(super) fn set_size(&mut self, id: ExprId, size: SizeEstimate) {
        self.values.insert(id, size);
    }

    fn local(&self, name: &str) -> Option<&Local<'e>> {
        self.locals.iter().rev().find(|local| local.name.as_ref() == name)
    }

    /// Declares a variable with the value of an expression.
    pub(super) fn push_local(&mut self, name: &Name, of: ExprId) {
        let local = Local {
            name: Arc::clone(name),
            path: self.path(of),
            size: self.size(of),
            entry_size: self.entry_size(of),
        };
        self.locals.push(local);
    }

    /// Declares a variable for the keys or the values of a range.
    pub(super) fn push_iteration(&mut self, name: &Name, range: ExprId, part: IterationPart) {
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
        let path = self.step(self.path(range), step);
        self.locals.push(Local { name: Arc::clone(name), path, size, entry_size: None });
    }

    /// Returns the number of variables that are declared at this place of the expression.
    pub(super) fn scope(&self) -> usize {
        self.locals.len()
    }

    /// Leaves the scopes of all but the outermost variables.
    pub(super) fn leave(&mut self, scope: usize) {
        self.locals.truncate(scope);
    }

    pub(super) fn path(&self, id: ExprId) -> Path<'e> {
        if let Expr::Ident(name) = self.checked.ast.get(id)
            && let Some(local) = self.local(name)
        {
            return local.path;
        }
        self.paths.get(&id).copied().unwrap_or(Path::Empty)
    }

    pub(super) fn node(&mut self, id: ExprId) -> CostNode<'e> {
        CostNode {
            path: self.path(id),
            type_of: self.checked.type_of(id).clone(),
            expr: Some(id),
            size: self.size(id),
        }
    }

    pub(super) fn size(&mut self, id: ExprId) -> Option<SizeEstimate> {
        if let Some(size) = self.values.get(&id) {
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
        if let Some(size) = self.path(id).declared_size() {
            self.values.insert(id, size);
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

    pub(super) fn size_or_unknown(&mut self, id: ExprId) -> SizeEstimate {
        self.size(id).unwrap_or(SizeEstimate::UNKNOWN)
    }

    pub(super) fn entry_size(&self, id: ExprId) -> Option<EntrySize> {
        if let Some(sizes) = self.entries.get(&id) {
            return Some(*sizes);
        }
        match self.checked.ast.get(id) {
            Expr::Ident(name) => self.local(name).and_then(|local| local.entry_size),
            _ => None,
        }
    }

    pub(super) fn set_entry_size(&mut self, id: ExprId, sizes: EntrySize) {
        self.entries.insert(id, sizes);
    }

    pub(super) fn copy_sizes(&mut self, to: ExprId, from: ExprId) {
        if let Some(size) = self.size(from) {
            self.values.insert(to, size);
        }
        if let Some(sizes) = self.entry_size(from) {
            self.entries.insert(to, sizes);
        }
    }

    pub(super) fn element_path(&self, path: Path<'e>) -> Path<'e> {
        match path {
            Path::Empty => Path::Empty,
            at @ Path::At(_) => self.step(at, "@items"),
        }
    }
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        other => other.optional_parameter().is_some_and(is_scalar),
    }
}
