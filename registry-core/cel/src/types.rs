//! Types of expressions, and declared types of JSON values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbl::OrdMap;

use super::syntax::ast::Name;

/// A type of an expression, as the checker computes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Any type; checked while evaluating.
    Dyn,
    /// The same under the name `any`, of values whose type no declaration knows.
    Any,
    /// The type of what could not be checked.
    Error,
    /// `null`.
    Null,
    /// `bool`.
    Bool,
    /// A signed integer of 64 bits.
    Int,
    /// An unsigned integer of 64 bits.
    Uint,
    /// A floating point number of 64 bits.
    Double,
    /// A text.
    String,
    /// A byte sequence.
    Bytes,
    /// A span of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A list and the type of its elements.
    List(Arc<Type>),
    /// A map and the types of its keys and values.
    Map(Arc<(Type, Type)>),
    /// An object with named fields.
    Object(Arc<ObjectType>),
    /// A type that only functions know, with its parameters.
    Opaque(Arc<OpaqueType>),
    /// The type of a type, with that type if it is known.
    Type(Option<Arc<Type>>),
    /// A type parameter of a function.
    Param(Param),
}

/// A type parameter: one of an overload's declaration, or one that the checker made for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Param {
    /// A parameter of a declaration, by its letter.
    Declared(char),
    /// A parameter of one use, by its number.
    Fresh(u32),
}

/// A named type with type parameters and no fields.
#[derive(Clone, Debug, PartialEq)]
pub struct OpaqueType {
    /// The name of the type.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Type>,
}

/// An object type: a name and fields. Two object types are the same if their names are.
#[derive(Debug)]
pub struct ObjectType {
    name: Name,
    fields: Fields,
}

/// The fields of an object type.
#[derive(Debug)]
enum Fields {
    /// Exactly these, by name as expressions write it.
    Declared(BTreeMap<Name, Field>),
    /// Exactly these; types with more fields share them.
    Growing(OrdMap<Name, Field>),
    /// Any field, of unknown type.
    Any,
    /// No field that expressions can select.
    None,
}

/// A field of an object type.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name in JSON. Expressions may have to write it escaped.
    pub json_name: Name,
    /// The type of the field's value.
    pub declared: DeclType,
}

/// The declared type of a JSON value, with what is known about its size.
#[derive(Clone, Debug)]
pub struct DeclType {
    /// The way in which the value is read.
    pub shape: Shape,
    /// Whether the value may be `null`.
    pub nullable: bool,
    /// Maximum number of characters, elements or entries; `None` if the type has none.
    pub max_elements: Option<u64>,
    /// Smallest number of bytes that a value takes in JSON.
    pub min_serialized_size: u64,
    /// Whether expressions may select the entries of this map as fields, with the size of any entry.
    selects_entries: bool,
    cel_type: Type,
}

/// The way in which a JSON value is read.
#[derive(Clone, Debug)]
pub enum Shape {
    /// By the type of the JSON value.
    Dyn,
    /// The same, for a value of the type `any`.
    Any,
    /// A boolean.
    Bool,
    /// A whole number.
    Int,
    /// A number, also if it is written without a fraction.
    Double,
    /// A text.
    String,
    /// Base64 text that stands for bytes.
    Bytes,
    /// A duration in Go's notation.
    Duration,
    /// A day: the timestamp of its start.
    Date,
    /// A timestamp as of RFC 3339.
    DateTime,
    /// An array.
    List(Arc<DeclType>, ListKind),
    /// An object whose keys are data.
    Map(Arc<DeclType>),
    /// An object with fields.
    Object(Arc<ObjectType>),
    /// A value of which expressions know nothing.
    Preserved,
}

/// The identity of the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Elements are identified by their place.
    Atomic,
    /// Elements are identified by their value: the order does not matter.
    Set,
    /// Elements are identified by the values of these key fields, given by their names in JSON: the order does not matter.
    Map(Arc<[String]>),
}

// === impl Type ===

impl Type {
    /// A list of elements of one type.
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map from keys of one type to values of another.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// A value that may be absent.
    pub fn optional(value: Self) -> Self {
        Self::Opaque(Arc::new(OpaqueType { name: Name::from(OPTIONAL), parameters: vec![value] }))
    }

    /// The type in an optional type.
    pub(crate) fn optional_parameter(&self) -> Option<&Self> {
        match self {
            Self::Opaque(opaque) if opaque.name.as_ref() == OPTIONAL => opaque.parameters.first(),
            _ => None,
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        self.is_dyn() || *self == Self::Error
    }

    /// The name of the type without its parameters, as `type(x)` has it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Any => "any",
            Self::Error => "!error!",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(object) => &object.name,
            Self::Opaque(opaque) => &opaque.name,
            Self::Type(_) => "type",
            Self::Param(_) => "param",
        }
    }

    /// Whether the type consists of fewer types than a number.
    pub(crate) fn is_smaller_than(&self, size: usize) -> bool {
        fn spend(of: &Type, left: &mut usize) {
            if *left == 0 {
                return;
            }
            *left -= 1;
            match of {
                Type::List(element) => spend(element, left),
                Type::Map(entry) => {
                    spend(&entry.0, left);
                    spend(&entry.1, left);
                }
                Type::Opaque(opaque) => opaque.parameters.iter().for_each(|parameter| spend(parameter, left)),
                Type::Type(Some(of)) => spend(of, left),
                _ => {}
            }
        }
        let mut left = size;
        spend(self, &mut left);
        left > 0
    }

    /// Whether two types are the same apart from the names of their type parameters.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Param(_), Self::Param(_)) => true,
            (Self::List(a), Self::List(b)) => a.is_equivalent(b),
            (Self::Map(a), Self::Map(b)) => a.0.is_equivalent(&b.0) && a.1.is_equivalent(&b.1),
            (Self::Opaque(a), Self::Opaque(b)) => {
                a.name == b.name
                    && a.parameters.len() == b.parameters.len()
                    && a.parameters.iter().zip(&b.parameters).all(|(a, b)| a.is_equivalent(b))
            }
            _ => self == other,
        }
    }
}

/// The name of the type of values that may be absent.
const OPTIONAL: &str = "optional_type";

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(entry) => write!(f, "map({}, {})", entry.0, entry.1),
            Self::Type(Some(of)) => write!(f, "type({of})"),
            Self::Param(Param::Declared(letter)) => write!(f, "{letter}"),
            Self::Param(Param::Fresh(number)) => write!(f, "_var{number}"),
            Self::Opaque(opaque) if !opaque.parameters.is_empty() => {
                write!(f, "{}(", opaque.name)?;
                for (index, parameter) in opaque.parameters.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{parameter}")?;
                }
                f.write_str(")")
            }
            other => f.write_str(other.name()),
        }
    }
}

// === impl ObjectType ===

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl ObjectType {
    /// A type with exactly these fields, keyed by name as expressions write it.
    pub fn new(name: &str, fields: BTreeMap<Name, Field>) -> Self {
        Self { name: Name::from(name), fields: Fields::Declared(fields) }
    }

    /// A type that has any field, each of unknown type.
    pub fn with_any_field(name: &str) -> Self {
        Self { name: Name::from(name), fields: Fields::Any }
    }

    /// A type with the fields of another and one more, without copying them.
    pub(crate) fn with_further_field(&self, name: &str, declared: DeclType) -> Self {
        let mut fields = match &self.fields {
            Fields::Growing(fields) => fields.clone(),
            Fields::Declared(fields) => fields.clone().into_iter().collect(),
            Fields::Any | Fields::None => OrdMap::new(),
        };
        fields.insert(Name::from(name), Field { json_name: Name::from(name), declared });
        Self { name: Name::clone(&self.name), fields: Fields::Growing(fields) }
    }

    /// A type whose values only functions can look into.
    pub fn without_fields(name: &str) -> Self {
        Self { name: Name::from(name), fields: Fields::None }
    }

    /// The name of the type.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The declared fields, by name as expressions write it.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Field)> {
        let declared = match &self.fields {
            Fields::Declared(fields) => Some(fields),
            Fields::Growing(_) | Fields::Any | Fields::None => None,
        };
        declared.into_iter().flatten().map(|(name, field)| (name.as_ref(), field))
    }

    /// The declared field of a name as expressions write it. Words of the language need not be escaped.
    pub fn field(&self, name: &str) -> Option<&Field> {
        match &self.fields {
            Fields::Declared(fields) => fields.get(name).or_else(|| {
                let escaped = crate::field_names::escape_keyword(name)?;
                fields.get(escaped.as_str())
            }),
            Fields::Growing(fields) => fields.get(name),
            Fields::Any | Fields::None => None,
        }
    }

    /// The declared field of an escaped name. Estimates of sizes know no others.
    pub(crate) fn escaped_field(&self, name: &str) -> Option<&Field> {
        match &self.fields {
            Fields::Declared(fields) => fields.get(name),
            Fields::Growing(fields) => fields.get(name),
            Fields::Any | Fields::None => None,
        }
    }

    /// Whether expressions can select fields at all.
    pub(crate) fn has_fields(&self) -> bool {
        !matches!(self.fields, Fields::None)
    }

    /// The type of a field, if there is such a field.
    pub(crate) fn field_type(&self, name: &str) -> Option<Type> {
        match &self.fields {
            Fields::Declared(_) | Fields::Growing(_) => {
                self.field(name).map(|field| field.declared.cel_type.clone())
            }
            Fields::Any => Some(Type::Dyn),
            Fields::None => None,
        }
    }
}

/// Maximum length of the name of a type, in bytes.
const MAX_NAME_BYTES: usize = 4096;

/// Returns the name of the type of a field, of an element or of a value. One that is too long is replaced by another one,
/// which no other type has: a schema can have thousands of fields below a field whose name is as long as the request.
pub(crate) fn member_name(of: &str, member: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    if of.len() + member.len() < MAX_NAME_BYTES {
        return format!("{of}.{member}");
    }
    format!("...{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

// === impl DeclType ===

/// A value of unknown type.
pub(crate) static DYN: DeclType = DeclType {
    shape: Shape::Dyn,
    nullable: true,
    max_elements: None,
    min_serialized_size: 0,
    selects_entries: false,
    cel_type: Type::Dyn,
};

impl DeclType {
    /// Declares a type of which nothing is known but how it is read.
    pub fn new(shape: Shape) -> Self {
        let cel_type = match &shape {
            Shape::Dyn | Shape::Preserved => Type::Dyn,
            Shape::Any => Type::Any,
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Double => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Date | Shape::DateTime => Type::Timestamp,
            Shape::List(item, _) => Type::list(item.cel_type.clone()),
            Shape::Map(value) => Type::map(Type::String, value.cel_type.clone()),
            Shape::Object(object) => Type::Object(Arc::clone(object)),
        };
        Self {
            shape,
            nullable: false,
            max_elements: None,
            min_serialized_size: 0,
            selects_entries: false,
            cel_type,
        }
    }

    /// Declares a value that is read by what it is, of a type that is known otherwise.
    pub(crate) fn from_type(cel_type: Type) -> Self {
        Self { cel_type, nullable: true, ..Self::new(Shape::Dyn) }
    }

    /// Sets the maximum number of characters, elements or entries.
    pub fn with_max_elements(mut self, max_elements: u64) -> Self {
        self.max_elements = Some(max_elements);
        self
    }

    /// Sets the smallest number of bytes in JSON.
    pub fn with_min_serialized_size(mut self, bytes: u64) -> Self {
        self.min_serialized_size = bytes;
        self
    }

    /// Lets cost estimates know the size of an entry of this map that an expression selects as a field.
    pub fn with_selectable_entries(mut self) -> Self {
        self.selects_entries = true;
        self
    }

    pub(crate) fn has_selectable_entries(&self) -> bool {
        self.selects_entries
    }

    /// Sets whether the value may be `null`.
    pub fn with_nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// The same type under another name, after which the types of its fields and elements are named too.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        let shape = match &self.shape {
            Shape::List(item, kind) => {
                Shape::List(Arc::new(item.renamed(&member_name(name, "@idx"))), kind.clone())
            }
            Shape::Map(value) => Shape::Map(Arc::new(value.renamed(&member_name(name, "@elem")))),
            Shape::Object(object) => {
                let field = |(key, field): (&str, &Field)| {
                    let declared = field.declared.renamed(&member_name(name, key));
                    (Name::from(key), Field { json_name: Name::clone(&field.json_name), declared })
                };
                Shape::Object(Arc::new(ObjectType::new(name, object.fields().map(field).collect())))
            }
            other => other.clone(),
        };
        let renamed = Self::new(shape).with_min_serialized_size(self.min_serialized_size);
        Self {
            max_elements: self.max_elements,
            nullable: self.nullable,
            selects_entries: self.selects_entries,
            ..renamed
        }
    }

    /// The type that expressions see.
    pub fn cel_type(&self) -> &Type {
        &self.cel_type
    }
}
