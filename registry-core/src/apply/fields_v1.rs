//! Field sets as JSON: `metadata.managedFields[*].fieldsV1`.

use serde_json::{Map, Value};

use super::element::{ElementError, PathElement};
use super::set::{FieldSet, Node};

/// Says that a field is itself a member, beside what is below it.
const SELF: &str = ".";

// === impl FieldSet ===

impl<'a> FieldSet<'a> {
    /// Reads a `fieldsV1`. Steps of kinds that are not known are passed over.
    ///
    /// # Errors
    /// A step is malformed.
    pub fn from_fields_v1(value: &'a Value) -> Result<Self, ElementError> {
        Ok(read(value)?.1)
    }

    /// Writes the set as a `fieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(write(self, false))
    }
}

/// Whether the field itself is a member, and what is below it.
fn read(value: &Value) -> Result<(bool, FieldSet<'_>), ElementError> {
    let Value::Object(map) = value else { return Ok((true, FieldSet::default())) };
    let mut nodes = Vec::with_capacity(map.len());
    let mut is_member = false;
    for (key, below) in map {
        if key == SELF {
            is_member = true;
            continue;
        }
        let element = match PathElement::parse(key) {
            Ok(element) => element,
            Err(ElementError::Unknown) => continue,
            Err(error) => return Err(error),
        };
        let (member, children) = read(below)?;
        nodes.push(Node { element, member, children });
    }
    is_member |= nodes.is_empty();
    Ok((is_member, FieldSet::from_nodes(nodes)))
}

fn write(set: &FieldSet<'_>, is_member: bool) -> Map<String, Value> {
    let mut map = Map::new();
    if is_member && !set.is_empty() {
        map.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
    for node in set.nodes() {
        map.insert(node.element.to_key(), Value::Object(write(&node.children, node.member)));
    }
    map
}
