//! Construction of tables, and look-ups in them.

use std::sync::Arc;

use serde_json::{Map, Value};

use registry_meta::{GroupVersionKind, split_api_version};

use super::super::Schema;
use super::{ANY, Absent, Field, Scalar, Struct, Type, TypeId, TypeRef, TypeShape, TypeTable, wire};

// === impl TypeTable ===

impl TypeTable {
    /// Returns the schema of a kind; `None` if the table does not have it.
    pub fn schema(self: &Arc<Self>, wanted: GroupVersionKind) -> Option<Schema> {
        self.find(wanted.group, wanted.version, wanted.kind)
    }

    /// Returns the schema of an object's kind; `None` if the table does not have it.
    pub fn schema_of(self: &Arc<Self>, api_version: &str, kind: &str) -> Option<Schema> {
        let (group, version) = split_api_version(api_version);
        self.find(group, version, kind)
    }

    fn find(self: &Arc<Self>, group: &str, version: &str, kind: &str) -> Option<Schema> {
        let entry = self
            .kinds
            .iter()
            .find(|entry| *entry.kind == *kind && *entry.group == *group && *entry.version == *version)?;
        Some(Schema::with_root(Arc::clone(self), entry.ty))
    }

    /// Returns the schema of a type by its OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
    pub fn schema_named(self: &Arc<Self>, name: &str) -> Option<Schema> {
        Some(Schema::with_root(Arc::clone(self), *self.names.get(name)?))
    }

    /// Returns the OpenAPI names of all named types, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(|name| &**name)
    }

    pub(crate) fn type_ref(&self, id: TypeId) -> TypeRef<'_> {
        TypeRef { table: self, ty: self.get(id), atomic: None }
    }

    /// Returns the type with this id. Ids are checked when a table is built, so the fallback is not used.
    pub(crate) fn get(&self, id: TypeId) -> &Type {
        let place = id.0 as usize;
        let known = match &self.base {
            None => self.types.get(place),
            Some(base) => match place.checked_sub(base.types.len()) {
                None => base.types.get(place),
                Some(place) => self.types.get(place),
            },
        };
        known.unwrap_or(&ANY)
    }

    /// Adds a type.
    pub(crate) fn push(&mut self, ty: Type) -> TypeId {
        let place = self.types.len() + self.base.as_ref().map_or(0, |base| base.types.len());
        self.types.push(ty);
        // 2^32 types would exceed the memory.
        TypeId(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// Returns Go's zero value of the type in JSON.
    pub(crate) fn zero(&self, id: TypeId) -> Value {
        self.zero_of(self.get(id))
    }

    /// Like [`zero`](Self::zero), for a resolved type.
    pub(crate) fn zero_of(&self, ty: &Type) -> Value {
        match &ty.shape {
            TypeShape::Scalar(scalar) => scalar.zero(),
            TypeShape::Struct(shape) => {
                let fields = shape.always_fields();
                let filled = fields.filter_map(|field| Some((field.name.to_string(), self.absent(field)?)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
            TypeShape::SchemaOr { .. } | TypeShape::List { .. } | TypeShape::Map { .. } => Value::Null,
        }
    }

    /// Returns the JSON form of this field if it is absent.
    pub(crate) fn absent(&self, field: &Field) -> Option<Value> {
        match field.absent {
            Absent::Omit => None,
            Absent::Null => Some(Value::Null),
            Absent::Zero => Some(self.zero(field.ty)),
        }
    }

    /// Precomputes the fields that are always present in JSON, and the types with defaults.
    pub(crate) fn finish(mut self) -> Self {
        let kinds: Vec<AbsenceClass> = self.types.iter().map(AbsenceClass::from_type).collect();
        for ty in &mut self.types {
            let TypeShape::Struct(shape) = &mut ty.shape else { continue };
            for field in &mut shape.fields {
                let class = kinds.get(field.ty.0 as usize).copied().unwrap_or(AbsenceClass::Plain);
                field.absent = class.absent(field);
            }
            shape.always = places(&shape.fields, |field| field.absent != Absent::Omit);
            shape.wires = wire::layout(&shape.fields);
        }
        self.mark_types(
            |ty| &mut ty.has_defaults,
            |field| field.default.is_some(),
            |shape, defaulted| shape.defaulted = defaulted,
        );
        self.mark_types(
            |ty| &mut ty.has_nils,
            |field| field.traits.nil_when_empty,
            |shape, nilled| shape.nilled = nilled,
        );
        self
    }

    /// Marks the types with a property that fields have by themselves or by their types, iterating to a fixed point, and
    /// passes the places of these fields to each struct.
    fn mark_types(
        &mut self,
        mark: impl Fn(&mut Type) -> &mut bool,
        has: impl Fn(&Field) -> bool,
        set_places: impl Fn(&mut Struct, Box<[u16]>),
    ) {
        let mut known = vec![false; self.types.len()];
        let leads = |known: &[bool], id: TypeId| known.get(id.0 as usize).copied().unwrap_or_default();
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for (number, ty) in self.types.iter().enumerate().rev() {
                let found = match &ty.shape {
                    TypeShape::Struct(shape) => {
                        shape.fields.iter().any(|field| has(field) || leads(&known, field.ty))
                    }
                    TypeShape::List { element, .. } => leads(&known, *element),
                    TypeShape::Map { value, .. } => leads(&known, *value),
                    TypeShape::Scalar(_) | TypeShape::SchemaOr { .. } => false,
                };
                if let Some(marked) = known.get_mut(number).filter(|marked| found && !**marked) {
                    *marked = true;
                    is_settled = false;
                }
            }
        }
        for (ty, marked) in self.types.iter_mut().zip(&known) {
            *mark(ty) = *marked;
            let TypeShape::Struct(shape) = &mut ty.shape else { continue };
            let places = places(&shape.fields, |field| *marked && (has(field) || leads(&known, field.ty)));
            set_places(shape, places);
        }
    }
}

/// Returns the indexes of the fields that satisfy `wanted`.
fn places(fields: &[Field], wanted: impl Fn(&Field) -> bool) -> Box<[u16]> {
    let picked = (0_u16..).zip(fields).filter(|(_, field)| wanted(field));
    picked.map(|(place, _)| place).collect()
}

// === impl Struct ===

impl Struct {
    /// Returns the field with this JSON name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let place = self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        self.fields.get(place)
    }

    /// Like [`field`](Self::field), searching from `place` on and updating it: usually it is one of the next fields.
    pub(crate) fn next_field(&self, name: &str, place: &mut usize) -> Option<&Field> {
        const NEAR: usize = 4;
        let ahead = self.fields.get(*place..)?;
        let near = ahead.iter().take(NEAR).position(|field| *field.name >= *name);
        let step = near.unwrap_or_else(|| ahead.partition_point(|field| *field.name < *name));
        *place += step;
        ahead.get(step).filter(|field| *field.name == *name)
    }

    /// Returns the fields that are always present in JSON.
    pub(crate) fn always_fields(&self) -> impl Iterator<Item = &Field> {
        self.always.iter().filter_map(|place| self.fields.get(usize::from(*place)))
    }

    /// Returns the fields that have defaults, or whose types do.
    pub(crate) fn defaulted_fields(&self) -> impl Iterator<Item = &Field> {
        self.defaulted.iter().filter_map(|place| self.fields.get(usize::from(*place)))
    }

    /// Returns the fields that are null in the stored form when they are empty, or that have such fields below them.
    pub(crate) fn nilled_fields(&self) -> impl Iterator<Item = &Field> {
        self.nilled.iter().filter_map(|place| self.fields.get(usize::from(*place)))
    }
}

// === impl Scalar ===

impl Scalar {
    fn zero(self) -> Value {
        match self {
            Self::Bool => Value::Bool(false),
            Self::Int32 | Self::Int64 | Self::Double | Self::IntOrString => Value::from(0),
            Self::String => Value::String(String::new()),
            Self::Quantity => Value::String("0".to_owned()),
            Self::Any | Self::Raw | Self::Bytes | Self::Time | Self::MicroTime => Value::Null,
        }
    }
}

/// The JSON form of absence, depending on the Go type.
#[derive(Clone, Copy)]
enum AbsenceClass {
    /// `omitempty` omits the zero; otherwise it is written.
    Plain,
    /// `omitempty` omits it; otherwise it is null.
    Nilable,
    /// `omitempty` has no effect: the zero is written.
    Struct,
    /// `omitempty` has no effect: null is written.
    NullStruct,
}

impl AbsenceClass {
    fn from_type(ty: &Type) -> Self {
        match &ty.shape {
            TypeShape::Scalar(Scalar::Time | Scalar::MicroTime | Scalar::Raw) => Self::NullStruct,
            TypeShape::Scalar(scalar) if scalar.is_go_struct() => Self::Struct,
            TypeShape::Scalar(Scalar::Any | Scalar::Bytes) => Self::Nilable,
            TypeShape::Scalar(_) => Self::Plain,
            TypeShape::Struct(_) => Self::Struct,
            TypeShape::List { .. } | TypeShape::Map { .. } | TypeShape::SchemaOr { .. } => Self::Nilable,
        }
    }

    fn absent(self, field: &Field) -> Absent {
        let traits = field.traits;
        if traits.omit_zero {
            return Absent::Omit;
        }
        if traits.pointer {
            return if traits.omit_empty { Absent::Omit } else { Absent::Null };
        }
        match self {
            Self::Plain if !traits.omit_empty => Absent::Zero,
            Self::Nilable if !traits.omit_empty => Absent::Null,
            Self::Plain | Self::Nilable => Absent::Omit,
            Self::Struct => Absent::Zero,
            Self::NullStruct => Absent::Null,
        }
    }
}
