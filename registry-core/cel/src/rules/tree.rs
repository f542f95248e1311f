//! The rules of a schema, as a tree of the same form.

use std::sync::OnceLock;

use serde_json::Value;

use super::compiled::{CompiledRule, Environments, Rule, compile};
use crate::field_names::escape;
use crate::schema::declare;
use crate::syntax::ast::Name;
use crate::types::{DeclType, Shape};
use registry_meta::budget::Budget;

/// The name of the type of `self` while rules are evaluated. Messages that show it are made when a definition is checked.
pub(super) const SELF_TYPE: &str = "selfType";

/// A schema: its rules and the schemas below it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) children: Children,
    pub(super) rules: Option<Box<NodeRules>>,
    /// Whether there are rules here or below.
    pub(super) has_rules: bool,
}

/// The schemas below a schema.
#[derive(Debug)]
pub(super) enum Children {
    None,
    /// Properties in the order of their names.
    Properties(Box<[(Name, Node)]>),
    /// The values of a map.
    Values(Box<Node>),
    /// The items of a list, with the names of the keys if it is a list of type map.
    Items(Box<Node>, Box<[String]>),
}

/// The rules of one schema.
#[derive(Debug)]
pub(super) struct NodeRules {
    /// The type of `self`; `None` if the schema cannot be declared.
    pub(super) declared: Option<DeclType>,
    /// `type` of the schema, which messages show in place of the value.
    pub(super) type_name: Box<str>,
    pub(super) rules: Box<[Rule]>,
    compiled: OnceLock<Box<[CompiledRule]>>,
}

/// The knowledge about the type of a schema's values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Declared<'d> {
    Type(&'d DeclType),
    /// The type cannot be declared: rules are errors.
    Unknown,
    /// Expressions cannot see the values: rules are not evaluated.
    Hidden,
}

/// Whether a schema has rules, as Kubernetes looks for them.
pub(super) fn has_rules(schema: &Value) -> bool {
    let has = |name: &str| schema.get(name).filter(|below| below.is_object()).is_some_and(has_rules);
    let own = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    own.is_some_and(|rules| !rules.is_empty())
        || has("items")
        || has("additionalProperties")
        || properties.is_some_and(|properties| properties.values().any(has_rules))
}

pub(super) fn is_embedded(schema: &Value) -> bool {
    schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool).unwrap_or(false)
}

// === impl Declared ===

impl<'d> Declared<'d> {
    pub(super) fn from_declaration(declared: Option<&'d DeclType>) -> Self {
        declared.map_or(Self::Unknown, Self::Type)
    }

    /// The type of items or of the values of a map.
    fn element(self) -> Self {
        match self {
            Self::Type(DeclType { shape: Shape::List(element, _) | Shape::Map(element), .. }) => {
                Self::Type(element)
            }
            Self::Type(_) | Self::Unknown => Self::Unknown,
            Self::Hidden => Self::Hidden,
        }
    }
}

// === impl Node ===

impl Node {
    pub(super) fn new(schema: &Value, declared: Declared<'_>) -> Self {
        let rules = NodeRules::new(schema, declared);
        let children = Children::new(schema, declared);
        let has_rules = rules.is_some() || children.have_rules();
        Self { children, rules, has_rules }
    }

    /// The schema of a field or of the value of a key.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match &self.children {
            Children::Properties(properties) => {
                let place = properties.binary_search_by(|(other, _)| other.as_ref().cmp(name)).ok()?;
                properties.get(place).map(|(_, node)| node)
            }
            Children::Values(values) => Some(values),
            Children::Items(..) | Children::None => None,
        }
    }
}

// === impl Children ===

impl Children {
    fn new(schema: &Value, declared: Declared<'_>) -> Self {
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let node = Node::new(items, declared.element());
            return Self::Items(Box::new(node), list_keys(schema));
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
            let mut nodes: Vec<_> =
                properties.iter().map(|(name, property)| property_node(name, property, declared)).collect();
            nodes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            return Self::Properties(nodes.into());
        }
        match schema.get("additionalProperties").filter(|values| values.is_object()) {
            Some(values) => Self::Values(Box::new(Node::new(values, declared.element()))),
            None => Self::None,
        }
    }

    fn have_rules(&self) -> bool {
        match self {
            Self::None => false,
            Self::Properties(properties) => properties.iter().any(|(_, node)| node.has_rules),
            Self::Values(node) | Self::Items(node, _) => node.has_rules,
        }
    }
}

/// The keys of a list of type map; empty for other lists.
fn list_keys(schema: &Value) -> Box<[String]> {
    if schema.get("x-kubernetes-list-type").and_then(Value::as_str) != Some("map") {
        return Box::default();
    }
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    keys.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn property_node(name: &str, property: &Value, declared: Declared<'_>) -> (Name, Node) {
    let Some(escaped) = escape(name) else {
        // Expressions above cannot name the property; its own rules can use its value.
        let own = match declared {
            Declared::Hidden => None,
            Declared::Type(_) | Declared::Unknown => declare(property, SELF_TYPE, is_embedded(property)),
        };
        let declared = own.as_ref().map_or(Declared::Hidden, Declared::Type);
        return (Name::from(name), Node::new(property, declared));
    };
    let field = match declared {
        Declared::Type(DeclType { shape: Shape::Object(object), .. }) => object.field(&escaped),
        _ => None,
    };
    match field {
        // The name is shared with the declared type.
        Some(field) => (Name::clone(&field.json_name), Node::new(property, Declared::Type(&field.declared))),
        None => (Name::from(name), Node::new(property, Declared::Hidden)),
    }
}

// === impl NodeRules ===

impl NodeRules {
    fn new(schema: &Value, declared: Declared<'_>) -> Option<Box<Self>> {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array)?;
        let declared = match declared {
            Declared::Hidden => return None,
            Declared::Unknown => None,
            Declared::Type(declared) => Some(declared.clone()),
        };
        if rules.is_empty() {
            return None;
        }
        let rules = rules.iter().map(|rule| Rule::new(rule, schema)).collect();
        let type_name = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        Some(Box::new(Self { declared, type_name: type_name.into(), rules, compiled: OnceLock::new() }))
    }

    /// The compiled rules, in the order of the rules.
    pub(super) fn compiled(&self, declared: &DeclType) -> &[CompiledRule] {
        self.compiled.get_or_init(|| {
            let environments = Environments::for_stored(declared);
            self.rules
                .iter()
                .map(|rule| compile(rule, &environments, &environments, &Budget::unlimited()))
                .collect()
        })
    }
}
