//! The arena of a structural schema.
//!
//! A typical definition has hundreds of nodes, and a cluster hundreds of definitions, so nodes are small: what few of
//! them have is behind a pointer.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::types::ListKind;

use super::formats::Format;
use super::kind::Kind;
use crate::go_regexp::{Pattern, SyntaxError};

/// The nodes of a schema.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// `preserveUnknownFields` of the definition.
    pub(super) preserves_unknown_fields: bool,
}

/// The index of a node in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub(super) u32);

/// The schema of a value.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    /// `x-kubernetes-list-type`, if set.
    pub(super) list_kind: Option<ListKind>,
    /// Sorted by name.
    pub(super) properties: Box<[(Arc<str>, NodeId)]>,
    pub(super) additional: Additional,
    pub(super) items: Option<NodeId>,
    /// Never null.
    pub(super) default: Option<Arc<Value>>,
    pub(super) required: Box<[Arc<str>]>,
    pub(super) rules: Option<Box<Rules>>,
}

/// Properties of a node that are either true or false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u8);

/// The properties of an object that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Additional {
    /// The schema does not mention them: they are pruned.
    #[default]
    Unspecified,
    /// `additionalProperties: true`.
    Allowed,
    /// `additionalProperties: false`.
    Forbidden,
    /// They have this schema.
    Schema(NodeId),
}

/// Rules that only few values have.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) format: Option<Box<FormatRule>>,
    pub(super) number: Option<Box<NumberRules>>,
    pub(super) text: Option<Box<TextRules>>,
    pub(super) size: Option<Box<SizeRules>>,
    pub(super) accepted: Option<Box<Accepted>>,
    pub(super) combined: Option<Box<Combined>>,
    /// `x-kubernetes-list-map-keys`.
    pub(super) list_keys: Box<[Arc<str>]>,
}

/// A format that is supported for the type.
#[derive(Debug)]
pub(super) struct FormatRule {
    /// The name as written in the schema, which may have dashes.
    pub(super) name: Box<str>,
    pub(super) format: Format,
}

/// Rules for numbers.
#[derive(Debug, Default)]
pub(super) struct NumberRules {
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) excludes_minimum: bool,
    pub(super) excludes_maximum: bool,
    pub(super) multiple_of: Option<f64>,
}

/// Rules for strings.
#[derive(Debug, Default)]
pub(super) struct TextRules {
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
    /// The regular expression; one that is malformed, which an earlier version accepted, matches nothing.
    pub(super) pattern: Option<Box<PatternRule>>,
}

/// A regular expression, as written and as parsed.
#[derive(Debug)]
pub(super) struct PatternRule {
    pub(super) text: Box<str>,
    pub(super) parsed: Result<Pattern, SyntaxError>,
}

/// Bounds of the number of elements and properties.
#[derive(Debug, Default)]
pub(super) struct SizeRules {
    pub(super) least_items: Option<i64>,
    pub(super) most_items: Option<i64>,
    pub(super) least_properties: Option<i64>,
    pub(super) most_properties: Option<i64>,
}

/// The values of an `enum`; not empty.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) values: Box<[Value]>,
    /// The strings of a long enum.
    texts: HashSet<Box<str>>,
}

/// Combinations of schemas.
#[derive(Debug, Default)]
pub(super) struct Combined {
    pub(super) all_of: Box<[NodeId]>,
    pub(super) any_of: Box<[NodeId]>,
    pub(super) one_of: Box<[NodeId]>,
    pub(super) not: Option<NodeId>,
}

/// The node of an id that the tree does not have: any value.
static ANY: LazyLock<Node> =
    LazyLock::new(|| Node { flags: Flags::default().with(Flags::KEEPS_UNKNOWN, true), ..Node::default() });

/// A schema has a node for each field, most with few rules: they stay small.
const _: () = assert!(size_of::<Node>() <= 72 && size_of::<Rules>() <= 64 && size_of::<TextRules>() <= 40);

/// Number of strings from which on an enum is a set.
const LONG_ENUM: usize = 16;

// === impl Tree ===

impl Tree {
    /// Returns a node. Ids come from the tree itself, so the fallback is not used.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&ANY)
    }

    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a node.
    pub(super) fn push(&mut self, node: Node) -> NodeId {
        // 2^32 nodes would exceed the memory.
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }
}

// === impl Node ===

impl Node {
    /// Returns the schema of a listed property.
    pub(super) fn property(&self, name: &str) -> Option<NodeId> {
        let place = self.properties.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.properties.get(place).map(|(_, id)| *id)
    }

    /// Returns the schema of the properties that are not listed.
    pub(super) fn additional_schema(&self) -> Option<NodeId> {
        match self.additional {
            Additional::Schema(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the schema of a property, listed or not.
    pub(super) fn member(&self, name: &str) -> Option<NodeId> {
        self.property(name).or_else(|| self.additional_schema())
    }

    /// Whether a flag is set.
    pub(super) fn is(&self, flag: Flags) -> bool {
        self.flags.has(flag)
    }

    /// Returns the keys of a keyed list.
    pub(super) fn list_keys(&self) -> &[Arc<str>] {
        self.rules.as_ref().map_or(&[], |rules| &rules.list_keys)
    }
}

// === impl Kind ===

impl Kind {
    /// Parses `type`; unknown types accept any value.
    pub(super) fn from_name(name: &str) -> Self {
        match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => Self::Any,
        }
    }

    /// Returns the name of the type in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer,string",
        }
    }

    /// Whether values of exactly this type are accepted.
    pub(super) fn includes(self, other: Self) -> bool {
        self == other || (self == Self::IntOrString && matches!(other, Self::Integer | Self::String))
    }
}

// === impl Flags ===

impl Flags {
    /// Null is a value.
    pub(super) const NULLABLE: Self = Self(1);
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(super) const KEEPS_UNKNOWN: Self = Self(1 << 1);
    /// `x-kubernetes-embedded-resource`.
    pub(super) const EMBEDDED: Self = Self(1 << 2);
    /// `x-kubernetes-map-type: atomic`.
    pub(super) const ATOMIC_MAP: Self = Self(1 << 3);
    /// There are embedded resources here or below.
    pub(super) const HAS_EMBEDDED: Self = Self(1 << 4);
    /// There are sets or keyed lists here or below.
    pub(super) const HAS_KEYED_LISTS: Self = Self(1 << 5);
    /// There are defaults below.
    pub(super) const HAS_DEFAULTS: Self = Self(1 << 6);

    /// The flags that a node has if a node below it has them.
    pub(super) const INHERITED_UPWARDS: Self =
        Self(Self::HAS_EMBEDDED.0 | Self::HAS_KEYED_LISTS.0 | Self::HAS_DEFAULTS.0);

    pub(super) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// Sets a flag if `on`.
    pub(super) const fn with(self, flag: Self, on: bool) -> Self {
        if on { Self(self.0 | flag.0) } else { self }
    }

    /// Returns the flags that are in both.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

// === impl Accepted ===

impl Accepted {
    /// Returns `None` if there are no values: then all are accepted.
    pub(super) fn new(values: &[Value]) -> Option<Self> {
        let texts = values.iter().filter_map(Value::as_str).map(Into::into);
        let texts = if values.len() > LONG_ENUM { texts.collect() } else { HashSet::new() };
        (!values.is_empty()).then(|| Self { values: values.into(), texts })
    }

    /// Whether the value is one of the strings. A long list of values takes no longer than a short one.
    pub(super) fn has_text(&self, text: &str) -> bool {
        if self.values.len() > LONG_ENUM {
            return self.texts.contains(text);
        }
        self.values.iter().any(|value| value.as_str() == Some(text))
    }
}
