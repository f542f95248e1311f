//! The compact text form of type tables that codegen writes and [`TypeTable::parse`] reads.
//!
//! Types are numbered from 0 in order of appearance. A line is one of
//!
//! ```text
//! s <scalar> <OpenAPI name or -> <Go type>                   a scalar
//! l <element> <a|s|m|-> <keys or -> <Go type>                a list: atomic, set, map, not said
//! m <value> <Go type>                                        a map
//! o <schema> <bool|list|strings> <OpenAPI name> <Go type>    a JSON schema, or something in its place
//! t <a|-> <OpenAPI name>                                     a struct, perhaps atomic; its fields follow
//!  <name> <type> <flags or -> <protobuf or -> <patch> <key> <default>   one field; the last three may be left off
//! k <type> <group or -> <version> <kind> <fields>            a kind is this type; its fields after `metadata`, in
//!                                                            order, unless that is the usual one
//! ```
//!
//! Flags: `p`ointer, `e` omitempty, `z` omitzero, `r`equired, `n`il when empty, `a`tomic or `g`ranular whatever
//! the type says.

use std::collections::HashMap;
use std::sync::Arc;

use super::types::{
    Absent, Field, FieldTraits, KindEntry, ListKind, PatchStrategy, Scalar, SchemaOr, Struct, Type, TypeId,
    TypeShape, TypeTable,
};

/// Error of parsing a table of facts. Not retryable: another version of codegen wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("facts, line {line}: {reason}")]
pub struct FactsError {
    /// The line number, starting at 1.
    pub line: usize,
    /// The error.
    pub reason: &'static str,
}

/// The first line of a table.
const HEADER: &str = "orlop facts 1";

#[derive(Default)]
struct Reader<'a> {
    table: TypeTable,
    /// Interned strings, shared by all fields.
    strings: HashMap<&'a str, Arc<str>>,
    /// The fields of the current struct.
    fields: Vec<Field>,
}

// === impl TypeTable ===

impl TypeTable {
    /// Parses a table of facts.
    ///
    /// # Errors
    /// Fails if the text is malformed.
    pub fn parse(facts: &str) -> Result<Self, FactsError> {
        let mut lines = facts.lines();
        if lines.next() != Some(HEADER) {
            return Err(FactsError { line: 1, reason: "not a table of facts of this version" });
        }
        let mut reader = Reader::default();
        for (number, line) in (2..).zip(lines) {
            reader.line(line).map_err(|reason| FactsError { line: number, reason })?;
        }
        reader.finish().map_err(|reason| FactsError { line: 0, reason })
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), &'static str> {
        if let Some(field) = line.strip_prefix(' ') {
            let field = self.field(field)?;
            self.fields.push(field);
            return Ok(());
        }
        self.close_struct();
        let (tag, rest) = line.split_once(' ').ok_or("no tag")?;
        match tag {
            "s" => {
                let [scalar, name, go_name] = words(rest)?;
                let scalar = Scalar::from_name(scalar).ok_or("unknown scalar")?;
                self.push(name, go_name, TypeShape::Scalar(scalar))
            }
            "l" => {
                let [element, kind, keys, go_name] = words(rest)?;
                let (kind, declared) = match kind {
                    "s" => (ListKind::Set, true),
                    "m" => (ListKind::Map, true),
                    tag => (ListKind::Atomic, tag == "a"),
                };
                let keys = keys.split(',').filter(|key| *key != "-").map(|key| self.intern(key)).collect();
                self.push("-", go_name, TypeShape::List { element: type_id(element)?, kind, keys, declared })
            }
            "m" => {
                let [value, go_name] = words(rest)?;
                self.push("-", go_name, TypeShape::Map { value: type_id(value)?, atomic: false })
            }
            "o" => {
                let [schema, or, name, go_name] = words(rest)?;
                let or = SchemaOr::from_name(or).ok_or("unknown alternative to a schema")?;
                self.push(name, go_name, TypeShape::SchemaOr { schema: type_id(schema)?, or })
            }
            "t" => {
                let [atomic, name] = words(rest)?;
                let shape = Struct { atomic: atomic == "a", ..Struct::default() };
                self.push(name, short_name(name), TypeShape::Struct(shape))
            }
            "k" => {
                let [ty, group, version, kind] = words(rest)?;
                let group = if group == "-" { "" } else { group };
                let (kind, order) = kind.split_once(' ').unwrap_or((kind, ""));
                let ty = type_id(ty)?;
                self.order(ty, order);
                let entry = KindEntry {
                    ty,
                    group: self.intern(group),
                    version: self.intern(version),
                    kind: self.intern(kind),
                };
                self.table.kinds.push(entry);
                Ok(())
            }
            _ => Err("unknown tag"),
        }
    }

    fn push(&mut self, name: &'a str, go_name: &'a str, shape: TypeShape) -> Result<(), &'static str> {
        let id = TypeId(u32::try_from(self.table.types.len()).map_err(|_| "too many types")?);
        let name = (name != "-").then(|| self.intern(name));
        if let Some(name) = &name {
            self.table.names.insert(Arc::clone(name), id);
        }
        let ty = Type { name, ..Type::unnamed(self.intern(go_name), shape) };
        self.table.types.push(ty);
        Ok(())
    }

    fn field(&mut self, line: &'a str) -> Result<Field, &'static str> {
        let mut words = line.splitn(7, ' ');
        let mut word = || words.next().ok_or("a field lacks facts");
        let name = word()?;
        let ty = word()?;
        let flags = word()?;
        let proto = word()?;
        let has = |flag| flags.contains(flag);
        let mut optional = || words.next().filter(|word| *word != "-");
        let patch = optional();
        let merge_key = optional();
        let default = optional();
        let default = default.map(serde_json::from_str).transpose().map_err(|_| "a default is not JSON")?;
        let numbers = proto.split('.').filter(|number| *number != "-").map(str::parse);
        Ok(Field {
            name: self.intern(name),
            ty: type_id(ty)?,
            traits: FieldTraits {
                pointer: has('p'),
                omit_empty: has('e'),
                omit_zero: has('z'),
                required: has('r'),
                nil_when_empty: has('n'),
            },
            patch_strategy: patch.map(PatchStrategy::from_tag).unwrap_or_default(),
            merge_key: merge_key.map(|key| self.intern(key)),
            default: default.map(Arc::new),
            proto: numbers.collect::<Result<_, _>>().map_err(|_| "a protobuf number is none")?,
            atomic: if has('a') { Some(true) } else { has('g').then_some(false) },
            absent: Absent::Omit,
            restrictions: None,
        })
    }

    /// Sets the order of a kind's fields; empty for the usual one.
    fn order(&mut self, ty: TypeId, order: &'a str) {
        let names = order.split(',').filter(|name| !name.is_empty());
        let order = names.map(|name| self.intern(name)).collect();
        if let Some(Type { shape: TypeShape::Struct(shape), .. }) = self.table.types.get_mut(ty.0 as usize) {
            shape.order = order;
        }
    }

    /// Assigns the fields read so far to their struct.
    fn close_struct(&mut self) {
        if let Some(Type { shape: TypeShape::Struct(shape), .. }) = self.table.types.last_mut()
            && !self.fields.is_empty()
        {
            shape.fields = std::mem::take(&mut self.fields).into();
        }
    }

    fn finish(mut self) -> Result<TypeTable, &'static str> {
        self.close_struct();
        // The table stays as long as the process.
        self.table.types.shrink_to_fit();
        let count = self.table.types.len();
        let known = |id: &TypeId| (id.0 as usize) < count;
        let sound = self.table.kinds.iter().all(|entry| known(&entry.ty))
            && self.table.types.iter().all(|ty| match &ty.shape {
                TypeShape::Scalar(_) => true,
                TypeShape::Struct(shape) => {
                    shape.fields.iter().all(|field| known(&field.ty))
                        && shape.fields.is_sorted_by(|a, b| a.name < b.name)
                }
                TypeShape::List { element: id, .. }
                | TypeShape::Map { value: id, .. }
                | TypeShape::SchemaOr { schema: id, .. } => known(id),
            });
        if sound { Ok(self.table.finish()) } else { Err("a type is missing, or fields are out of order") }
    }

    fn intern(&mut self, text: &'a str) -> Arc<str> {
        Arc::clone(self.strings.entry(text).or_insert_with(|| text.into()))
    }
}

/// Splits a line into exactly `COUNT` words; the last one is the rest of the line, including spaces.
fn words<const COUNT: usize>(line: &str) -> Result<[&str; COUNT], &'static str> {
    let words: Vec<&str> = line.splitn(COUNT, ' ').collect();
    words.try_into().map_err(|_| "too few facts")
}

fn type_id(word: &str) -> Result<TypeId, &'static str> {
    word.parse().map(TypeId).map_err(|_| "a type number is none")
}

/// Returns a type's Go name for messages: the last two parts of its OpenAPI name.
pub(super) fn short_name(name: &str) -> &str {
    let mut dots = name.rmatch_indices('.').map(|(place, _)| place);
    dots.nth(1).and_then(|place| name.get(place + 1..)).unwrap_or(name)
}
