//! The syntax tree: an arena of expressions, each with the offset it is reported at.

use std::sync::Arc;

/// A name in an expression.
pub(crate) type Name = Arc<str>;

/// The place of an expression in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExprId(pub(crate) u32);

/// A constant in the source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Name),
    Bytes(Arc<[u8]>),
}

/// An entry of a map literal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapEntry {
    pub(crate) key: ExprId,
    pub(crate) value: ExprId,
    pub(crate) optional: bool,
}

/// A field of an object literal. Errors that concern the field are reported at `offset`.
#[derive(Clone, Debug)]
pub(crate) struct StructField {
    pub(crate) offset: u32,
    pub(crate) name: Name,
    pub(crate) value: ExprId,
    pub(crate) optional: bool,
}

/// A loop over a list or a map, as macros expand to.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: ExprId,
    pub(crate) variable: Name,
    pub(crate) second_variable: Option<Name>,
    pub(crate) accumulator: Name,
    pub(crate) init: ExprId,
    pub(crate) condition: ExprId,
    pub(crate) step: ExprId,
    pub(crate) result: ExprId,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// A part of the source that could not be parsed.
    Error,
    Literal(Literal),
    Ident(Name),
    Select {
        operand: ExprId,
        field: Name,
        test_only: bool,
    },
    Call {
        function: Name,
        target: Option<ExprId>,
        args: Vec<ExprId>,
    },
    /// The places of the elements that are marked as optional are sorted: [`is_optional`].
    List {
        elements: Vec<ExprId>,
        optional: Vec<u32>,
    },
    Map {
        entries: Vec<MapEntry>,
    },
    Struct {
        type_name: Name,
        fields: Vec<StructField>,
    },
    Comprehension(Box<Comprehension>),
}

/// Whether the element of a list at an index is among the places of the optional ones.
pub(crate) fn is_optional(optional: &[u32], index: usize) -> bool {
    optional.binary_search_by(|place| (*place as usize).cmp(&index)).is_ok()
}

/// All expressions of a source text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ast {
    nodes: Vec<Expr>,
    offsets: Vec<u32>,
}

/// The accumulator of every comprehension but those of `cel.bind` and its like.
pub(crate) const ACCUMULATOR: &str = "__result__";
/// The iteration variable of a comprehension that does not iterate.
pub(crate) const UNUSED_VARIABLE: &str = "#unused";

/// The names of operators as functions.
pub(crate) mod operators {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const LOGICAL_AND: &str = "_&&_";
    pub(crate) const LOGICAL_OR: &str = "_||_";
    pub(crate) const LOGICAL_NOT: &str = "!_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub(crate) const ADD: &str = "_+_";
    pub(crate) const NEGATE: &str = "-_";
    pub(crate) const INDEX: &str = "_[_]";
    pub(crate) const OPTIONAL_INDEX: &str = "_[?_]";
    pub(crate) const OPTIONAL_SELECT: &str = "_?._";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
}

// === impl ExprId ===

impl ExprId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

// === impl Ast ===

impl Ast {
    /// Adds an expression that is reported at an offset.
    pub(crate) fn add(&mut self, offset: u32, expr: Expr) -> ExprId {
        let id = ExprId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(expr);
        self.offsets.push(offset);
        id
    }

    pub(crate) fn get(&self, id: ExprId) -> &Expr {
        self.nodes.get(id.index()).unwrap_or(&Expr::Error)
    }

    pub(crate) fn set(&mut self, id: ExprId, expr: Expr) {
        if let Some(place) = self.nodes.get_mut(id.index()) {
            *place = expr;
        }
    }

    pub(crate) fn offset(&self, id: ExprId) -> u32 {
        self.offsets.get(id.index()).copied().unwrap_or(0)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Calls a function with the direct parts of an expression, in the order of evaluation.
    pub(crate) fn for_each_child(&self, id: ExprId, mut visit: impl FnMut(ExprId)) {
        match self.get(id) {
            Expr::Error | Expr::Literal(_) | Expr::Ident(_) => {}
            Expr::Select { operand, .. } => visit(*operand),
            Expr::Call { target, args, .. } => target.iter().chain(args).copied().for_each(visit),
            Expr::List { elements, .. } => elements.iter().copied().for_each(visit),
            Expr::Map { entries } => {
                for entry in entries {
                    visit(entry.key);
                    visit(entry.value);
                }
            }
            Expr::Struct { fields, .. } => fields.iter().for_each(|field| visit(field.value)),
            Expr::Comprehension(fold) => {
                [fold.range, fold.init, fold.condition, fold.step, fold.result].into_iter().for_each(visit);
            }
        }
    }

    /// Copies an expression with everything in it.
    pub(crate) fn copy(&mut self, id: ExprId) -> ExprId {
        let offset = self.offset(id);
        let copied = match self.get(id).clone() {
            leaf @ (Expr::Error | Expr::Literal(_) | Expr::Ident(_)) => leaf,
            Expr::Select { operand, field, test_only } => {
                Expr::Select { operand: self.copy(operand), field, test_only }
            }
            Expr::Call { function, target, args } => Expr::Call {
                function,
                target: target.map(|target| self.copy(target)),
                args: args.into_iter().map(|arg| self.copy(arg)).collect(),
            },
            Expr::List { elements, optional } => Expr::List {
                elements: elements.into_iter().map(|element| self.copy(element)).collect(),
                optional,
            },
            Expr::Map { entries } => Expr::Map {
                entries: entries
                    .into_iter()
                    .map(|entry| MapEntry {
                        key: self.copy(entry.key),
                        value: self.copy(entry.value),
                        ..entry
                    })
                    .collect(),
            },
            Expr::Struct { type_name, fields } => Expr::Struct {
                type_name,
                fields: fields
                    .into_iter()
                    .map(|field| StructField { value: self.copy(field.value), ..field })
                    .collect(),
            },
            Expr::Comprehension(fold) => Expr::Comprehension(Box::new(Comprehension {
                range: self.copy(fold.range),
                init: self.copy(fold.init),
                condition: self.copy(fold.condition),
                step: self.copy(fold.step),
                result: self.copy(fold.result),
                ..*fold
            })),
        };
        self.add(offset, copied)
    }
}
