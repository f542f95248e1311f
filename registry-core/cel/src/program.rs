//! Checked expressions, planned for evaluation: names are slots, functions are resolved, constants are computed.
//!
//! A program is evaluated any number of times, by any number of threads; an evaluation ends with its budget.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | makes a program of a checked expression |
//! | `evaluate_composed` | evaluates expressions that share variables and a limit of cost |
//! | `attributes` | variables, fields and indexes |
//! | `fold` | comprehensions |
//! | `evaluate` | evaluates an expression |
//! | `operators` | operators |
//! | `activation` | the values of variables |
//! | `composed` | variables that are expressions themselves |

use std::collections::BTreeSet;
use std::sync::Arc;

use super::declarations::CostClass;
use super::library::Native;
use super::syntax::ast::Name;
use super::types::Type;
use super::value::{Key, Value};
use registry_schema::go_regexp::Pattern;

mod activation;
mod attributes;
mod composed;
mod evaluate;
mod evaluate_composed;
mod fold;
mod operators;
mod plan;

pub use activation::Activation;
pub use composed::{CompositedVariables, TooDeep};
pub use evaluate_composed::OutOfBudget;
pub use plan::PlanError;
pub(crate) use plan::plan;

/// The place of a node in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

/// An operator with two operands that is computed without a function call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

impl Binary {
    /// The operators and the names of their functions.
    const FUNCTIONS: [(Self, &str); 12] = [
        (Self::Add, "_+_"),
        (Self::Subtract, "_-_"),
        (Self::Multiply, "_*_"),
        (Self::Divide, "_/_"),
        (Self::Modulo, "_%_"),
        (Self::Equal, "_==_"),
        (Self::NotEqual, "_!=_"),
        (Self::Less, "_<_"),
        (Self::LessEqual, "_<=_"),
        (Self::Greater, "_>_"),
        (Self::GreaterEqual, "_>=_"),
        (Self::In, "@in"),
    ];

    /// Returns the operator of a function.
    fn from_function(name: &str) -> Option<Self> {
        Self::FUNCTIONS.iter().find(|(_, function)| *function == name).map(|(operator, _)| *operator)
    }

    /// Returns the name of the operator's function.
    fn function(self) -> &'static str {
        Self::FUNCTIONS.iter().find(|(operator, _)| *operator == self).map_or("", |(_, function)| *function)
    }
}

/// A step of a plan.
#[derive(Debug)]
pub(crate) enum Node {
    /// A constant.
    Constant(Value<'static>),
    /// A variable of the environment, by its place in the activation.
    Variable(u32),
    /// A variable of a comprehension.
    Local(u32),
    /// The value of a field.
    Select {
        operand: NodeId,
        field: Name,
        optional: bool,
    },
    /// Whether a field is there.
    Has {
        operand: NodeId,
        field: Name,
    },
    /// The element or value at an index or key. A constant index costs nothing itself.
    Index {
        operand: NodeId,
        index: NodeId,
        optional: bool,
    },
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    Conditional(NodeId, NodeId, NodeId),
    Binary {
        operator: Binary,
        operands: (NodeId, NodeId),
        cost: CostClass,
    },
    /// Membership in a constant list, which costs nothing but its element.
    InSet {
        element: NodeId,
        set: BTreeSet<Key<'static>>,
    },
    Not(NodeId),
    Negate(NodeId),
    NotStrictlyFalse(NodeId),
    /// The first of two optionals that is there, or the value in an optional or another.
    OptionalOr {
        operands: (NodeId, NodeId),
        unwrap: bool,
    },
    Call {
        function: &'static str,
        native: Native,
        args: Box<[NodeId]>,
        cost: CostClass,
        /// The regular expression, if it is a constant.
        pattern: Option<Arc<Pattern>>,
    },
    List {
        elements: Box<[NodeId]>,
        optional: Box<[bool]>,
    },
    Map {
        entries: Box<[(NodeId, NodeId, bool)]>,
    },
    Object {
        type_of: Arc<super::types::ObjectType>,
        fields: Box<[(Name, NodeId, bool)]>,
    },
    Fold(Box<Fold>),
    /// Adds an element to the list in a comprehension's accumulator.
    Append {
        slot: u32,
        element: NodeId,
        is_constant: bool,
    },
    /// Adds an entry, or the entries of a map, to the map in a comprehension's accumulator.
    Insert {
        slot: u32,
        key: Option<NodeId>,
        value: NodeId,
    },
}

/// A comprehension, with the slots of its variables.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: NodeId,
    pub(crate) first: u32,
    pub(crate) second: Option<u32>,
    pub(crate) accumulator: u32,
    pub(crate) init: NodeId,
    pub(crate) condition: NodeId,
    pub(crate) step: NodeId,
    pub(crate) result: NodeId,
}

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    pub(crate) slots: usize,
    /// The number of nodes on the longest way from the root.
    pub(crate) depth: u32,
    pub(crate) output: Type,
    pub(crate) variables: Arc<[Name]>,
    /// The variables that occur, by place.
    pub(crate) referenced: Vec<u32>,
    /// The selections from variables: names joined by dots.
    pub(crate) paths: Vec<String>,
    pub(crate) estimate: super::cost::CostEstimate,
}

// === impl Program ===

impl Program {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        static MISSING: Node = Node::Constant(Value::Null);
        self.nodes.get(id.0 as usize).unwrap_or(&MISSING)
    }

    /// Whether a node is a variable, or a field or an element of one.
    pub(crate) fn is_attribute(&self, mut id: NodeId) -> bool {
        loop {
            match self.node(id) {
                Node::Variable(_) | Node::Local(_) => return true,
                Node::Select { operand, .. } | Node::Index { operand, .. } => id = *operand,
                _ => return false,
            }
        }
    }

    /// The type of the expression.
    pub fn output_type(&self) -> &Type {
        &self.output
    }

    /// The names of the variables that occur in the expression.
    pub fn referenced_variables(&self) -> impl Iterator<Item = &str> {
        self.referenced.iter().filter_map(|place| self.variables.get(*place as usize)).map(AsRef::as_ref)
    }

    /// Whether a variable occurs in the expression.
    pub fn references(&self, variable: &str) -> bool {
        self.referenced_variables().any(|name| name == variable)
    }

    /// The fields that are selected from variables, as `variable.field.field`.
    pub fn referenced_paths(&self) -> &[String] {
        &self.paths
    }

    /// The size of all constant regular expressions, which are kept with the program once they were matched.
    pub(crate) fn pattern_size(&self) -> u64 {
        let sizes = self.nodes.iter().map(|node| match node {
            Node::Call { pattern: Some(pattern), .. } => pattern.size(),
            _ => 0,
        });
        sizes.fold(0, u64::saturating_add)
    }

    /// Returns the least and the greatest cost of an evaluation, by the declared sizes.
    pub fn cost_estimate(&self) -> super::cost::CostEstimate {
        self.estimate
    }
}
