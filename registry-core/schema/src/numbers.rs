//! Protobuf field numbers of custom structs, from a lock file.
//!
//! The file has a line `<type> <field> <number>` for each field, with the names of the JSON schema. `cargo xtask
//! codegen` maintains it: a number is never reused for another field.

use std::collections::{BTreeMap, BTreeSet};

use super::Schema;
use super::types::{Scalar, Struct, TypeId, TypeShape, TypeTable};

/// Numbers by type and field.
#[derive(Clone, Debug, Default)]
pub struct FieldNumbers<'a>(BTreeMap<(&'a str, &'a str), u32>);

/// Name prefix of Kubernetes' own types, which have numbers already.
const UPSTREAM: &str = "io.k8s.";

// === impl FieldNumbers ===

impl<'a> FieldNumbers<'a> {
    /// Parses a lock file. Ignores lines of another form, such as comments.
    pub fn parse(text: &'a str) -> Self {
        let line = |line: &'a str| {
            let mut words = line.split_whitespace();
            let ty = words.next()?;
            let field = words.next()?;
            let number = words.next()?.parse().ok()?;
            (ty != "#" && number > 0).then_some(((ty, field), number))
        };
        Self(text.lines().filter_map(line).collect())
    }

    fn get(&self, ty: &str, field: &str) -> Option<u32> {
        self.0.get(&(ty, field)).copied()
    }
}

// === impl Schema ===

impl Schema {
    /// Adds field numbers to the schema of a custom struct, so that it has a protobuf form. `root_name` is the struct's
    /// name in the JSON schema. There is no protobuf form if any field has no number or has a type without one (any
    /// JSON, lists of lists).
    #[must_use]
    pub fn with_numbers(self, root_name: &str, numbers: &FieldNumbers<'_>) -> Self {
        let mut table = TypeTable::clone(&self.table);
        let own: Vec<(TypeId, String)> = table
            .names
            .iter()
            .filter(|(name, _)| !name.starts_with(UPSTREAM))
            .map(|(name, id)| {
                let own_name = name.rsplit('.').next().unwrap_or(name);
                (*id, if *id == self.root { root_name } else { own_name }.to_owned())
            })
            .collect();
        for (id, name) in &own {
            let Some(ty) = table.types.get_mut(id.0 as usize) else { continue };
            let TypeShape::Struct(shape) = &mut ty.shape else { continue };
            for field in &mut shape.fields {
                field.proto = numbers.get(name, &field.name).into_iter().collect();
            }
        }
        let numbered = Self { table: table.finish().into(), ..self.clone() };
        if numbered.is_sayable() { numbered } else { self }
    }

    /// Whether all types have a protobuf form.
    fn is_sayable(&self) -> bool {
        let mut open = vec![self.root];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            let ty = self.table.get(id);
            if !seen.insert(id) || ty.name.as_ref().is_some_and(|name| name.starts_with(UPSTREAM)) {
                continue;
            }
            match &ty.shape {
                TypeShape::Scalar(Scalar::Any) | TypeShape::SchemaOr { .. } => return false,
                TypeShape::Scalar(_) => {}
                TypeShape::Struct(shape) if !has_numbers(shape, id == self.root) => return false,
                TypeShape::Struct(shape) => open.extend(shape.fields.iter().map(|field| field.ty)),
                TypeShape::List { element: next, .. } | TypeShape::Map { value: next, .. } => {
                    if matches!(self.table.get(*next).shape, TypeShape::List { .. } | TypeShape::Map { .. }) {
                        return false;
                    }
                    open.push(*next);
                }
            }
        }
        true
    }
}

/// Whether each field has a distinct number. The type of the root object is in its envelope.
fn has_numbers(shape: &Struct, is_root: bool) -> bool {
    let in_message =
        shape.fields.iter().filter(|field| !is_root || !matches!(&*field.name, "apiVersion" | "kind"));
    let mut taken = BTreeSet::new();
    !shape.keeps_unknown
        && in_message
            .map(|field| field.proto.first())
            .all(|number| number.is_some_and(|number| taken.insert(*number)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codec::{Limits, protobuf};
    use registry_meta::GroupVersionKind;

    const KIND: GroupVersionKind = GroupVersionKind { group: "zoo.example.dev", version: "v1", kind: "Pen" };

    fn schema() -> Schema {
        let door = json!({"type": "object", "properties": {"open": {"type": "boolean"}, "width": {"type": "integer"}}});
        let doors = json!({"type": "array", "items": {"$ref": "#/$defs/Door"}});
        let properties = json!({"metadata": {}, "keeper": {"type": "string"}, "doors": doors});
        let schema = json!({"type": "object", "properties": properties, "$defs": {"Door": door}});
        Schema::from_json_schema(&schema, KIND)
    }

    fn encoded(lock: &str) -> Option<Vec<u8>> {
        let schema = schema().with_numbers("PenV1", &FieldNumbers::parse(lock));
        let pen =
            json!({"metadata": {"name": "a"}, "keeper": "ada", "doors": [{"width": 3}, {"open": false}]});
        let table = schema.table().clone();
        schema.has_protobuf().then(|| {
            let bytes = protobuf::encode(&pen, &schema, "zoo.example.dev/v1", "Pen").unwrap();
            let resolve = |version: &str, kind: &str| table.schema_of(version, kind);
            let decoded = protobuf::decode(&bytes, &Limits::default(), resolve).unwrap();
            for field in ["keeper", "doors"] {
                assert_eq!(
                    decoded[field], pen[field],
                    "what is absent stays absent, what is zero stays zero"
                );
            }
            bytes.to_vec()
        })
    }

    #[test]
    fn the_lock_decides_whatever_the_order() {
        let lines = ["PenV1 metadata 1", "PenV1 keeper 2", "PenV1 doors 3", "Door open 1", "Door width 2"];
        let lock = lines.join("\n");
        let reordered = lines.iter().rev().copied().collect::<Vec<_>>().join("\n");
        let bytes = encoded(&lock).expect("all fields have numbers");
        assert_eq!(encoded(&format!("# a comment\n{reordered}\nPenV1 gone 9\n")), Some(bytes.clone()));
        assert_ne!(encoded(&lock.replace("keeper 2", "keeper 7")), Some(bytes));
        assert_eq!(encoded(&lines[..4].join("\n")), None, "a field without a number");
        assert_eq!(encoded(&lock.replace("keeper 2", "keeper 3")), None, "two fields with one number");
    }
}
