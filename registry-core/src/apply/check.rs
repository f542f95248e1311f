//! Type check of an applied configuration, with Kubernetes' error messages.
//!
//! An applied configuration is checked before it is merged: it owns exactly the fields it names, so a field that does
//! not exist or has another type must not be silently dropped or converted.

use std::fmt::{self, Write};

use serde_json::{Map, Value};

use crate::api::go_text::{print, type_name};
use crate::schema::{ListKind, Scalar, TypeRef};

use super::element::PathElement;
use super::shape::list_element;

/// Maximum total length of the messages, in bytes: hostile configurations have many mismatches below long keys.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// The type errors of a value, one line each.
#[derive(Debug, Default)]
pub struct Mismatches {
    lines: Vec<String>,
    bytes: usize,
    /// Whether a null is a value of the wrong type, instead of none.
    refuses_null: bool,
}

/// The path of the value being checked. Kept on the stack; it is formatted only for a mismatch.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Field(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
    Element(&'p Path<'p>, &'p PathElement<'p>),
}

// === impl Mismatches ===

impl Mismatches {
    /// Checks an object of this type.
    pub(super) fn find(ty: TypeRef<'_>, fields: &Map<String, Value>) -> Self {
        let mut mismatches = Self::default();
        mismatches.check_fields(ty, fields, Path::Root);
        mismatches
    }

    /// Checks a value that an expression made: its nulls are values for Kubernetes.
    pub(super) fn find_in_expression(ty: TypeRef<'_>, fields: &Map<String, Value>) -> Self {
        let mut mismatches = Self { refuses_null: true, ..Self::default() };
        mismatches.check_fields(ty, fields, Path::Root);
        mismatches
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn add(&mut self, path: Path<'_>, text: impl fmt::Display) {
        if self.bytes > MAX_TEXT_BYTES {
            return;
        }
        let separator = if path.is_root() { "" } else { ": " };
        let line = format!("{path}{separator}{text}");
        self.bytes += line.len();
        self.lines.push(line);
    }

    fn check(&mut self, ty: TypeRef<'_>, value: &Value, path: Path<'_>) {
        if ty.schema_or().is_some() {
            return;
        }
        if value.is_null() {
            if self.refuses_null {
                self.refuse_null(ty, path);
            }
            return;
        }
        if let Some(scalar) = ty.scalar() {
            self.check_scalar(scalar, value, path);
        } else if let Some(element) = ty.element() {
            match value {
                Value::Array(items) => self.check_items(ty, element, items, path),
                other => self.add(path, format_args!("expected list, got &{{{}}}", print(other))),
            }
        } else {
            match value {
                Value::Object(fields) => self.check_fields(ty, fields, path),
                other => self.add(path, format_args!("expected map, got &{{{}}}", print(other))),
            }
        }
    }

    fn refuse_null(&mut self, ty: TypeRef<'_>, path: Path<'_>) {
        let text = match ty.scalar() {
            Some(Scalar::Any | Scalar::Raw) => return,
            Some(Scalar::Bool) => "expected boolean, got &{NULL_VALUE}",
            Some(Scalar::Int32 | Scalar::Int64 | Scalar::Double) => {
                "expected numeric (int or float), got structpb.NullValue"
            }
            Some(Scalar::String | Scalar::Bytes) => "expected string, got &value.valueUnstructured{Value:0}",
            Some(_) => "expected any scalar, got &{NULL_VALUE}",
            None if ty.element().is_some() => "expected list, got &{NULL_VALUE}",
            None if ty.is_open() => return,
            None => "expected map, got &{NULL_VALUE}",
        };
        self.add(path, text);
    }

    fn check_fields(&mut self, ty: TypeRef<'_>, fields: &Map<String, Value>, path: Path<'_>) {
        for (key, value) in fields {
            let below = Path::Field(&path, key);
            if let Some(field) = ty.field(key) {
                self.check(field.ty(), value, below);
            } else if let Some(values) = ty.value() {
                self.check(values, value, below);
            } else if !ty.keeps_unknown() && !(path.is_root() && (key == "apiVersion" || key == "kind")) {
                self.add(below, "field not declared in schema");
                return;
            }
        }
    }

    fn check_items(&mut self, list: TypeRef<'_>, element: TypeRef<'_>, items: &[Value], path: Path<'_>) {
        let is_atomic = list.list_kind() == Some(ListKind::Atomic);
        let mut seen = std::collections::BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if is_atomic {
                self.check(element, item, Path::Index(&path, index));
                continue;
            }
            match list_element(list, item) {
                Ok(step) => {
                    if seen.contains(&step) {
                        self.add(path, format_args!("duplicate entries for key {step}"));
                    }
                    self.check(element, item, Path::Element(&path, &step));
                    seen.insert(step);
                }
                Err(why) => {
                    self.add(path, format_args!("element {index}: {why}"));
                    return;
                }
            }
        }
    }

    fn check_scalar(&mut self, scalar: Scalar, value: &Value, path: Path<'_>) {
        match scalar {
            Scalar::Any | Scalar::Raw => {}
            Scalar::Bool if !value.is_boolean() => {
                self.add(path, format_args!("expected boolean, got &{{{}}}", print(value)));
            }
            Scalar::Int32 | Scalar::Int64 | Scalar::Double if !value.is_number() => {
                self.add(path, format_args!("expected numeric (int or float), got {}", type_name(value)));
            }
            Scalar::String | Scalar::Bytes if !value.is_string() => {
                let shown = Literal(value);
                self.add(
                    path,
                    format_args!("expected string, got &value.valueUnstructured{{Value:{shown}}}"),
                );
            }
            Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString
                if value.is_array() || value.is_object() =>
            {
                self.add(path, format_args!("expected any scalar, got &{{{}}}", print(value)));
            }
            _ => {}
        }
    }
}

/// Formats as Kubernetes does: a single mismatch alone, several on a line each.
impl fmt::Display for Mismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines.as_slice() {
            [only] => f.write_str(only),
            many => {
                f.write_str("errors:")?;
                many.iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
        }
    }
}

// === impl Path ===

impl Path<'_> {
    fn is_root(self) -> bool {
        matches!(self, Self::Root)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Element(parent, element) => write!(f, "{parent}{element}"),
        }
    }
}

/// A value as Go's `%#v` prints it.
struct Literal<'a>(&'a Value);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("interface {}(nil)"),
            Value::Array(items) => {
                f.write_str("[]interface {}{")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { ", " } else { "" }, Literal(item))?;
                }
                f.write_char('}')
            }
            Value::Object(map) => {
                f.write_str("map[string]interface {}{")?;
                for (index, (key, value)) in map.iter().enumerate() {
                    write!(f, "{}{key:?}:{}", if index > 0 { ", " } else { "" }, Literal(value))?;
                }
                f.write_char('}')
            }
            other => write!(f, "{other}"),
        }
    }
}
