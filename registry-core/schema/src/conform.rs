//! Normalises a decoded value to the form that Go writes after reading it into the kind's struct.

use std::fmt;

use serde_json::{Map, Value};

use super::empty_fields::{EmptyFields, STEP_BYTES, Step};
use super::scalars::{self, Mismatch, type_name};
use super::types::{Absent, Dialect, Field, Scalar, SchemaOr, Struct, Type, TypeId, TypeShape, TypeTable};
use super::{ConformError, FieldIssue};
use registry_meta::budget::memory::{self, MAP_BYTES, VALUE_BYTES};
use registry_meta::budget::{Budget, Exhausted};

/// The state of conforming a value.
pub(super) struct Walk<'a> {
    pub(super) table: &'a TypeTable,
    pub(super) issues: &'a mut Vec<FieldIssue>,
    /// Number of bytes of paths that may still be added to `issues`.
    pub(super) issue_bytes_left: usize,
    /// The collection of the empty lists that the stored form does not have; lists and maps that it has as null remain. `None`
    /// if the value gets its stored form at once.
    pub(super) empty: Option<&'a mut EmptyFields>,
    /// The budget for what is added.
    pub(super) budget: &'a Budget,
}

/// Maximum total length of the paths in the issues of a value, in bytes: hostile bodies have many fields below long
/// names.
pub(super) const MAX_ISSUE_BYTES: usize = 256 * 1024;

/// The path of the current value. Kept on the stack; it is formatted only for an issue or error.
#[derive(Clone, Copy)]
pub(super) enum ConformContext<'a> {
    Root,
    Field { parent: &'a ConformContext<'a>, holder: &'a str, name: &'a str },
    Key { parent: &'a ConformContext<'a>, key: &'a str },
    Index { parent: &'a ConformContext<'a>, index: usize },
}

/// The action for a field's entry.
#[derive(PartialEq, Eq)]
enum Entry {
    Keep,
    Drop,
}

// === impl Walk ===

impl Walk<'_> {
    /// Conforms a value that is not null.
    pub(super) fn value(
        &mut self,
        id: TypeId,
        value: &mut Value,
        place: ConformContext<'_>,
    ) -> Result<(), ConformError> {
        let ty = self.table.get(id);
        match (&ty.shape, &mut *value) {
            (TypeShape::Struct(shape), Value::Object(map)) => {
                self.structure(shape, map, plain_name(&ty.go_name), place)
            }
            (TypeShape::List { element, .. }, Value::Array(list)) => {
                for (index, item) in list.iter_mut().enumerate() {
                    self.element(*element, item, ConformContext::Index { parent: &place, index })?;
                }
                Ok(())
            }
            (TypeShape::Map { value, .. }, Value::Object(map)) => {
                for (key, item) in map.iter_mut() {
                    self.element(*value, item, ConformContext::Key { parent: &place, key })?;
                }
                Ok(())
            }
            (TypeShape::SchemaOr { schema, or }, _) => {
                // Go decodes these with custom code, which does not support strict decoding.
                let bytes_left = std::mem::take(&mut self.issue_bytes_left);
                let empty = self.empty.take();
                let outcome = self.schema_or(*schema, *or, value);
                self.issue_bytes_left = bytes_left;
                self.empty = empty;
                outcome
            }
            (TypeShape::Scalar(scalar), value) => {
                let is_own = self.table.dialect == Dialect::JsonSchema;
                scalars::conform(*scalar, value).map_err(|mismatch| match mismatch {
                    // Go's message does not say which field it is about.
                    Mismatch::Text(text) if is_own && *scalar == Scalar::Quantity => {
                        place.explain(Mismatch::Text(format!("{place}: {text}")), value, ty)
                    }
                    other => place.explain(other, value, ty),
                })
            }
            (_, value) => Err(place.explain(Mismatch::Type(type_name(value).to_owned()), value, ty)),
        }
    }

    /// Conforms a list element or a map value.
    fn element(
        &mut self,
        id: TypeId,
        item: &mut Value,
        place: ConformContext<'_>,
    ) -> Result<(), ConformError> {
        if !item.is_null() {
            return self.value(id, item, place);
        }
        if self.table.dialect == Dialect::Go {
            *item = self.table.zero(id);
            self.budget.take_bytes(memory::value_bytes(item) + memory::empty_object_bytes(item))?;
            return Ok(());
        }
        match &self.table.get(id).shape {
            TypeShape::Scalar(scalar) if scalar.takes_null() => Ok(()),
            _ => Err(place.explain(Mismatch::Type("null".into()), item, self.table.get(id))),
        }
    }

    fn structure(
        &mut self,
        shape: &Struct,
        map: &mut Map<String, Value>,
        holder: &str,
        place: ConformContext<'_>,
    ) -> Result<(), ConformError> {
        if map.is_empty() {
            // It gets fields here, or those that depend on others later.
            self.budget.take_steps(1)?;
            self.budget.take_bytes(MAP_BYTES)?;
        }
        // Most structs keep all their fields, and removing some is dearer than finding out which.
        let mut dropped: Vec<String> = Vec::new();
        let mut next = 0;
        for (key, value) in map.iter_mut() {
            let keeps = if let Some(field) = shape.next_field(key, &mut next) {
                let place = ConformContext::Field { parent: &place, holder, name: key };
                self.field(field, value, place)? == Entry::Keep
            } else {
                if !shape.keeps_unknown {
                    self.note_unknown(place, key);
                }
                shape.keeps_unknown
            };
            if !keeps {
                dropped.push(key.clone());
            }
        }
        for key in &dropped {
            map.remove(key);
        }
        for field in shape.always_fields() {
            if !map.contains_key(&*field.name)
                && let Some(absent) = self.table.absent(field)
            {
                self.budget.take_bytes(VALUE_BYTES + memory::value_bytes(&absent))?;
                map.insert(field.name.to_string(), absent);
            }
        }
        Ok(())
    }

    /// Adds an unknown field to the issues, within the length limit. The first one is always added.
    fn note_unknown(&mut self, place: ConformContext<'_>, key: &str) {
        if self.issue_bytes_left == 0 {
            return;
        }
        let path = place.below(key);
        self.issue_bytes_left = self.issue_bytes_left.saturating_sub(path.len());
        self.issues.push(FieldIssue::Unknown(path));
    }

    fn field(
        &mut self,
        field: &Field,
        value: &mut Value,
        place: ConformContext<'_>,
    ) -> Result<Entry, ConformError> {
        if !value.is_null() {
            self.value(field.ty, value, place)?;
        } else if field.absent == Absent::Zero {
            *value = self.table.zero(field.ty);
            self.budget.take_bytes(memory::value_bytes(value))?;
        }
        let traits = field.traits;
        if value.is_null() {
            let keeps = field.absent == Absent::Null || self.takes_null(field);
            return Ok(if keeps { Entry::Keep } else { Entry::Drop });
        }
        if traits.pointer || !scalars::is_empty(value) {
            return Ok(Entry::Keep);
        }
        let shape = &self.table.get(field.ty).shape;
        let is_struct = match shape {
            TypeShape::Struct(_) => true,
            TypeShape::Scalar(scalar) => scalar.is_go_struct(),
            _ => false,
        };
        if is_struct {
            return Ok(Entry::Keep);
        }
        if let Some(empty) = &mut self.empty
            && value.is_array()
            && (traits.omit_empty || traits.nil_when_empty)
            && !place.is_in_selector()
            && place.root() != Some("metadata")
        {
            empty.note(place.bytes(), || place.steps(), !traits.omit_empty);
        }
        if traits.nil_when_empty && self.empty.is_none() && !value.is_string() {
            *value = Value::Null;
        }
        Ok(if traits.omit_empty { Entry::Drop } else { Entry::Keep })
    }

    /// Whether null is a value of the field's type, rather than the absence of one.
    fn takes_null(&self, field: &Field) -> bool {
        self.table.dialect == Dialect::JsonSchema
            && matches!(&self.table.get(field.ty).shape, TypeShape::Scalar(scalar) if scalar.takes_null())
    }

    /// Conforms a JSON schema in a CRD, or the alternative to it.
    fn schema_or(&mut self, schema: TypeId, or: SchemaOr, value: &mut Value) -> Result<(), ConformError> {
        let place = ConformContext::Root;
        match (or, &mut *value) {
            (SchemaOr::Bool, Value::Bool(_)) => Ok(()),
            (SchemaOr::Strings, Value::Array(list)) if list.iter().all(Value::is_string) => Ok(()),
            (SchemaOr::List, Value::Array(list)) => {
                for (index, item) in list.iter_mut().enumerate() {
                    self.element(schema, item, ConformContext::Index { parent: &place, index })?;
                }
                Ok(())
            }
            (_, Value::Object(_)) => self.value(schema, value, place),
            // Go's decoder ignores all other values.
            (SchemaOr::List | SchemaOr::Strings, other) if !other.is_array() => {
                *other = Value::Null;
                Ok(())
            }
            (SchemaOr::Bool, _) => {
                Err(ConformError { text: "boolean or JSON schema expected".to_owned(), of_map: None })
            }
            (_, value) => {
                Err(place.explain(Mismatch::Type(type_name(value).to_owned()), value, self.table.get(schema)))
            }
        }
    }
}

/// Returns the error of Go's converter from maps to structs.
fn not_restored(value: &Value, ty: &Type) -> String {
    let found = match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    };
    let wanted = match &ty.shape {
        TypeShape::Struct(_) | TypeShape::SchemaOr { .. } => {
            return format!("cannot restore struct from: {found}");
        }
        TypeShape::Map { .. } => return format!("cannot restore map from {found}"),
        TypeShape::List { .. } | TypeShape::Scalar(Scalar::Bytes) => {
            return format!("cannot restore slice from {found}");
        }
        TypeShape::Scalar(Scalar::Bool) => "bool",
        TypeShape::Scalar(Scalar::Int32) => "int32",
        TypeShape::Scalar(Scalar::Int64) => "int64",
        TypeShape::Scalar(Scalar::Double) => "float64",
        TypeShape::Scalar(_) => "string",
    };
    // Go converts between numbers, and from integers to strings, but the converter rejects this.
    let is_convertible = matches!((found, wanted), ("int64", "string") | ("float64", "int32" | "int64"));
    if is_convertible {
        return format!("cannot convert {found} to {}", ty.go_name);
    }
    format!("unrecognized type: {wanted}")
}

/// Returns a type's name without its package.
fn plain_name(go_name: &str) -> &str {
    go_name.rsplit_once('.').map_or(go_name, |(_, name)| name)
}

impl From<Exhausted> for ConformError {
    fn from(exhausted: Exhausted) -> Self {
        Self { text: exhausted.to_string(), of_map: None }
    }
}

// === impl ConformContext ===

impl ConformContext<'_> {
    /// Returns the path of a field of the current struct.
    fn below(self, name: &str) -> String {
        match self {
            Self::Root => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }

    /// Returns Go's error for a value of the wrong type.
    fn explain(self, mismatch: Mismatch, value: &Value, ty: &Type) -> ConformError {
        let (found, go_name) = match mismatch {
            Mismatch::Text(text) => return ConformError { text, of_map: None },
            Mismatch::Type(found) => (found, &*ty.go_name),
            Mismatch::Inner(found, inner) => {
                let of_map = format!("json: cannot unmarshal {found} into Go value of type {inner}");
                return ConformError { of_map: Some(of_map), text: self.unmarshal_error(&found, inner) };
            }
        };
        ConformError { text: self.unmarshal_error(&found, go_name), of_map: Some(not_restored(value, ty)) }
    }

    fn unmarshal_error(self, found: &str, go_name: &str) -> String {
        match self.innermost_struct() {
            Some(holder) => {
                let fields = Fields(self);
                format!(
                    "json: cannot unmarshal {found} into Go struct field {holder}.{fields} of type {go_name}"
                )
            }
            None => format!("json: cannot unmarshal {found} into Go value of type {go_name}"),
        }
    }

    /// Returns the name of the top-level field.
    fn root(&self) -> Option<&str> {
        match self {
            Self::Root => None,
            Self::Field { parent: Self::Root, name: step, .. }
            | Self::Key { parent: Self::Root, key: step } => Some(step),
            Self::Field { parent, .. } | Self::Key { parent, .. } | Self::Index { parent, .. } => {
                parent.root()
            }
        }
    }

    /// Whether the current value is a field of a label selector. Messages show selectors in the stored form.
    fn is_in_selector(self) -> bool {
        matches!(self, Self::Field { holder: "LabelSelector" | "LabelSelectorRequirement", .. })
    }

    /// Returns the length of the path as the limit of [`EmptyFields`] counts it.
    fn bytes(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Field { parent, name: step, .. } | Self::Key { parent, key: step } => {
                parent.bytes() + STEP_BYTES + step.len()
            }
            Self::Index { parent, .. } => parent.bytes() + STEP_BYTES,
        }
    }

    fn steps(self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut place = &self;
        loop {
            place = match place {
                Self::Root => break,
                Self::Field { parent, name, .. } => {
                    steps.push(Step::Field((*name).to_owned()));
                    parent
                }
                Self::Key { parent, key } => {
                    steps.push(Step::Field((*key).to_owned()));
                    parent
                }
                Self::Index { parent, index } => {
                    steps.push(Step::Index(*index));
                    parent
                }
            };
        }
        steps.reverse();
        steps
    }

    fn innermost_struct(&self) -> Option<&str> {
        match self {
            Self::Root => None,
            Self::Field { holder, .. } => Some(holder),
            Self::Key { parent, .. } | Self::Index { parent, .. } => parent.innermost_struct(),
        }
    }
}

/// Formats the complete path, as in strict decoding errors: `spec.containers[0].image`.
impl fmt::Display for ConformContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field { parent: Self::Root, name: step, .. }
            | Self::Key { parent: Self::Root, key: step } => f.write_str(step),
            Self::Field { parent, name: step, .. } | Self::Key { parent, key: step } => {
                write!(f, "{parent}.{step}")
            }
            Self::Index { parent, index } => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Formats only the fields of a path, as in Go's type errors: `spec.containers.image`.
struct Fields<'a>(ConformContext<'a>);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ConformContext::Root => Ok(()),
            ConformContext::Key { parent, .. } | ConformContext::Index { parent, .. } => {
                Fields(*parent).fmt(f)
            }
            ConformContext::Field { parent, name, .. } => {
                let before = Fields(*parent);
                if parent.innermost_struct().is_some() {
                    write!(f, "{before}.")?;
                }
                f.write_str(name)
            }
        }
    }
}
