//! Compiles the JSON of a schema to nodes.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::go_regexp::Pattern;
use crate::types::ListKind;

use super::default_values;
use super::formats::Format;
use super::kind::Kind;
use super::node::{
    Accepted, Additional, Combined, Flags, FormatRule, Node, NodeId, NumberRules, PatternRule, Rules,
    SizeRules, TextRules, Tree,
};

/// Marks a type that contains itself; the value is its name.
pub(crate) const RECURSIVE: &str = "x-orlop-recursive";
/// Marks the places in such a type where it is contained.
pub(crate) const SAME_AS: &str = "x-orlop-same-as";
/// Maximum nesting depth of schemas; what is deeper accepts any value. The decoder of requests allows less.
const MAX_DEPTH: usize = 512;

struct Reader<'a> {
    tree: Tree,
    /// Names of properties, which are shared by all nodes.
    names: HashMap<&'a str, Arc<str>>,
    /// The nodes of the types around the current one that contain themselves; `None` if there cannot be any.
    recursive: Option<HashMap<&'a str, NodeId>>,
}

type JsonMap = Map<String, Value>;

/// Compiles a schema; returns its nodes and the root.
pub(super) fn compile(schema: &Value, preserves_unknown_fields: bool) -> (Tree, NodeId) {
    let tree = Tree { preserves_unknown_fields, ..Tree::default() };
    finish(Reader { tree, names: HashMap::new(), recursive: None }, schema)
}

/// Compiles a schema in which types can contain themselves.
pub(super) fn compile_recursive(schema: &Value) -> (Tree, NodeId) {
    finish(Reader { tree: Tree::default(), names: HashMap::new(), recursive: Some(HashMap::new()) }, schema)
}

fn finish<'a>(mut reader: Reader<'a>, schema: &'a Value) -> (Tree, NodeId) {
    let root = reader.node(schema, MAX_DEPTH);
    let mut tree = reader.tree;
    tree.nodes.shrink_to_fit();
    default_values::normalise(&mut tree);
    (tree, root)
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Compiles a schema and all below it.
    fn node(&mut self, schema: &'a Value, depth_left: usize) -> NodeId {
        let (Some(schema), Some(depth_left)) = (schema.as_object(), depth_left.checked_sub(1)) else {
            let any = Flags::default().with(Flags::KEEPS_UNKNOWN, true);
            return self.tree.push(Node { flags: any, ..Node::default() });
        };
        if let Some(known) = self.contained_type(schema) {
            return known;
        }
        let reserved = self.reserve(schema);
        let node = self.fields(schema, depth_left);
        match reserved.and_then(|id| Some((id, self.tree.nodes.get_mut(id.0 as usize)?))) {
            Some((id, place)) => {
                *place = node;
                id
            }
            None => self.tree.push(node),
        }
    }

    /// Returns the node of a type around this one, if the schema is the same type.
    fn contained_type(&self, schema: &JsonMap) -> Option<NodeId> {
        self.recursive.as_ref()?.get(text(schema, SAME_AS)?).copied()
    }

    /// Creates the node of a type that contains itself before it is compiled. Until then it counts as one with
    /// everything that a node inherits from those below it.
    fn reserve(&mut self, schema: &'a JsonMap) -> Option<NodeId> {
        let recursive = self.recursive.as_mut()?;
        let name = text(schema, RECURSIVE)?;
        let id = self.tree.push(Node { flags: Flags::INHERITED_UPWARDS, ..Node::default() });
        recursive.insert(name, id);
        Some(id)
    }

    /// Compiles the fields of a schema.
    fn fields(&mut self, schema: &'a JsonMap, depth_left: usize) -> Node {
        let kind = kind(schema);
        let properties = self.properties(schema, depth_left);
        let additional = match schema.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Unspecified,
            Some(Value::Bool(true)) => Additional::Allowed,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(schema) => Additional::Schema(self.node(schema, depth_left)),
        };
        let items = schema.get("items").filter(|items| items.is_object());
        let items = items.map(|items| self.node(items, depth_left));
        let rules = self.rules(schema, kind, depth_left);
        let list_kind = list_kind(schema);
        let mut node = Node {
            kind,
            flags: flags(schema, list_kind),
            list_kind,
            properties,
            additional,
            items,
            default: schema.get("default").filter(|default| !default.is_null()).cloned().map(Arc::new),
            required: texts(schema, "required").map(|name| self.name(name)).collect(),
            rules,
        };
        node.flags = self.with_flags_from_below(&node);
        node
    }

    fn with_flags_from_below(&self, node: &Node) -> Flags {
        let listed = node.properties.iter().map(|(_, id)| *id);
        let below = listed.chain(node.additional_schema()).chain(node.items);
        below.fold(node.flags, |flags, id| {
            let below = self.tree.node(id);
            let flags = flags.with(below.flags.and(Flags::INHERITED_UPWARDS), true);
            flags.with(Flags::HAS_DEFAULTS, below.default.is_some())
        })
    }

    fn properties(&mut self, schema: &'a JsonMap, depth_left: usize) -> Box<[(Arc<str>, NodeId)]> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut compiled: Vec<_> = (properties.into_iter().flatten())
            .map(|(name, schema)| (self.name(name), self.node(schema, depth_left)))
            .collect();
        compiled.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        compiled.into()
    }

    fn name(&mut self, name: &'a str) -> Arc<str> {
        Arc::clone(self.names.entry(name).or_insert_with(|| name.into()))
    }

    fn rules(&mut self, schema: &'a JsonMap, kind: Kind, depth_left: usize) -> Option<Box<Rules>> {
        let accepted = schema.get("enum").and_then(Value::as_array);
        let rules = Rules {
            format: format_rule(schema, kind).map(Box::new),
            number: number_rules(schema).map(Box::new),
            text: text_rules(schema).map(Box::new),
            size: size_rules(schema).map(Box::new),
            accepted: accepted.and_then(|values| Accepted::new(values)).map(Box::new),
            combined: self.combined(schema, depth_left).map(Box::new),
            list_keys: texts(schema, "x-kubernetes-list-map-keys").map(|name| self.name(name)).collect(),
        };
        let is_empty = rules.format.is_none()
            && rules.number.is_none()
            && rules.text.is_none()
            && rules.size.is_none()
            && rules.accepted.is_none()
            && rules.combined.is_none()
            && rules.list_keys.is_empty();
        (!is_empty).then(|| Box::new(rules))
    }

    fn combined(&mut self, schema: &'a JsonMap, depth_left: usize) -> Option<Combined> {
        let mut list = |key: &str| -> Box<[NodeId]> {
            let schemas = schema.get(key).and_then(Value::as_array);
            schemas.into_iter().flatten().map(|schema| self.node(schema, depth_left)).collect()
        };
        let (all_of, any_of, one_of) = (list("allOf"), list("anyOf"), list("oneOf"));
        let not = schema.get("not").filter(|schema| schema.is_object());
        let not = not.map(|schema| self.node(schema, depth_left));
        let is_empty = all_of.is_empty() && any_of.is_empty() && one_of.is_empty() && not.is_none();
        (!is_empty).then_some(Combined { all_of, any_of, one_of, not })
    }
}

// === parts of a schema ===

fn flag(schema: &JsonMap, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn text<'a>(schema: &'a JsonMap, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn texts<'a>(schema: &'a JsonMap, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn kind(schema: &JsonMap) -> Kind {
    if flag(schema, "x-kubernetes-int-or-string") {
        return Kind::IntOrString;
    }
    text(schema, "type").map(Kind::from_name).unwrap_or_default()
}

fn list_kind(schema: &JsonMap) -> Option<ListKind> {
    Some(match text(schema, "x-kubernetes-list-type")? {
        "set" => ListKind::Set,
        "map" => ListKind::Map,
        _ => ListKind::Atomic,
    })
}

fn flags(schema: &JsonMap, list_kind: Option<ListKind>) -> Flags {
    let is_embedded = flag(schema, "x-kubernetes-embedded-resource");
    Flags::default()
        .with(Flags::NULLABLE, flag(schema, "nullable"))
        .with(Flags::KEEPS_UNKNOWN, flag(schema, "x-kubernetes-preserve-unknown-fields"))
        .with(Flags::EMBEDDED, is_embedded)
        .with(Flags::HAS_EMBEDDED, is_embedded)
        .with(Flags::ATOMIC_MAP, text(schema, "x-kubernetes-map-type") == Some("atomic"))
        .with(Flags::HAS_KEYED_LISTS, matches!(list_kind, Some(ListKind::Set | ListKind::Map)))
}

/// Returns the format if it is supported for the type; other formats are ignored.
fn format_rule(schema: &JsonMap, kind: Kind) -> Option<FormatRule> {
    let name = text(schema, "format")?;
    let format = Format::for_kind(kind, name)?;
    Some(FormatRule { name: name.into(), format })
}

fn number_rules(schema: &JsonMap) -> Option<NumberRules> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let rules = NumberRules {
        minimum: number("minimum"),
        maximum: number("maximum"),
        excludes_minimum: flag(schema, "exclusiveMinimum"),
        excludes_maximum: flag(schema, "exclusiveMaximum"),
        multiple_of: number("multipleOf"),
    };
    let is_set = rules.minimum.is_some() || rules.maximum.is_some() || rules.multiple_of.is_some();
    is_set.then_some(rules)
}

fn text_rules(schema: &JsonMap) -> Option<TextRules> {
    let length = |key: &str| schema.get(key).and_then(Value::as_i64);
    let pattern = text(schema, "pattern")
        .map(|text| Box::new(PatternRule { text: text.into(), parsed: Pattern::parse(text) }));
    let rules = TextRules { least: length("minLength"), most: length("maxLength"), pattern };
    (rules.least.is_some() || rules.most.is_some() || rules.pattern.is_some()).then_some(rules)
}

fn size_rules(schema: &JsonMap) -> Option<SizeRules> {
    let size = |key: &str| schema.get(key).and_then(Value::as_i64);
    let rules = SizeRules {
        least_items: size("minItems"),
        most_items: size("maxItems"),
        least_properties: size("minProperties"),
        most_properties: size("maxProperties"),
    };
    let all = [rules.least_items, rules.most_items, rules.least_properties, rules.most_properties];
    all.iter().any(Option::is_some).then_some(rules)
}
