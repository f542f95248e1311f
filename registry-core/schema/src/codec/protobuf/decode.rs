//! Decodes messages to trees in the form that Go's JSON encoder would produce.

use serde_json::{Map, Value};

use crate::scalars::is_zero;
use crate::{FieldRef, Form, Message, Scalar, SchemaOr, Slot, TypeRef};

use super::reader::{Key, Occurrence, Reader, WireType};
use super::{DecodeError, Limits};
use registry_meta::budget::memory::{self, LIST_BYTES, MAP_BYTES, VALUE_BYTES};

mod scalars;

use scalars::scalar as scalar_value;

/// Number of values that small messages may omit from the fields that JSON always has; larger messages may omit
/// proportionally more. Real encoders write these fields; without a limit, two bytes could expand to a whole struct of
/// zeros.
const FILLED_IN_MIN: usize = 4096;

/// The state of decoding a message.
struct Decoder<'l> {
    /// Number of values that may still be filled in.
    fills_left: usize,
    limits: &'l Limits<'l>,
}

/// Decodes the message of a whole object.
pub(super) fn root(
    ty: TypeRef<'_>,
    message: &[u8],
    limits: &Limits<'_>,
) -> Result<Map<String, Value>, DecodeError> {
    let mut decoder = Decoder { fills_left: FILLED_IN_MIN + message.len() / 2, limits };
    let mut object = Map::new();
    decoder.structure(ty, message, &mut object, limits.depth)?;
    Ok(object)
}

// === impl Decoder ===

impl Decoder<'_> {
    fn structure(
        &mut self,
        ty: TypeRef<'_>,
        message: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let Form::Struct(shape) = ty.form() else { return Ok(()) };
        if object.is_empty() {
            // Also for an empty message, whose struct gets defaults later.
            self.limits.take(MAP_BYTES)?;
        }
        self.fields(shape, message, object, deeper(depth)?)?;
        for field in ty.always_fields() {
            if !object.contains_key(field.name())
                && let Some(absent) = field.absent()
            {
                self.spend(&absent)?;
                object.insert(field.name().to_owned(), absent);
            }
        }
        Ok(())
    }

    fn spend(&mut self, filled_in: &Value) -> Result<(), DecodeError> {
        self.fills_left = self.fills_left.checked_sub(count(filled_in)).ok_or(DecodeError::TooMuchLeftOut)?;
        self.limits.take(VALUE_BYTES + memory::value_bytes(filled_in))
    }

    fn fields(
        &mut self,
        shape: Message<'_>,
        message: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let mut reader = Reader::new(message);
        let mut hint = 0;
        while let Some(key) = reader.key()? {
            match shape.find(key.number, &mut hint) {
                None => reader.skip(key)?,
                Some(Slot::Field(field)) => {
                    let occurrence = Occurrence { name: field.name(), key, reader: &mut reader };
                    self.field(field, occurrence, object, depth)?;
                }
                Some(Slot::Inlined(inner)) => {
                    let inlined = Occurrence { name: "of an inlined struct", key, reader: &mut reader };
                    self.fields(inner, inlined.bytes()?, object, deeper(depth)?)?;
                }
            }
        }
        Ok(())
    }

    /// Decodes one occurrence of a field. Messages and lists accumulate; for other types the last one wins.
    fn field(
        &mut self,
        field: FieldRef<'_>,
        occurrence: Occurrence<'_, '_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let ty = field.ty();
        let name = field.name();
        self.limits.take_next(VALUE_BYTES)?;
        match ty.form() {
            Form::Scalar(scalar) => {
                let value = scalar_value(scalar, occurrence, depth)?;
                let is_left_out = if field.is_pointer() {
                    false
                } else if value.is_null() {
                    field.absent().is_none()
                } else {
                    field.omits_empty() && is_zero(&value)
                };
                if is_left_out {
                    object.remove(name);
                } else {
                    object.insert(name.to_owned(), value);
                }
            }
            Form::Struct(_) => {
                let message = occurrence.bytes()?;
                let mut inner = match object.remove(name) {
                    Some(Value::Object(inner)) => inner,
                    _ => Map::new(),
                };
                self.structure(ty, message, &mut inner, depth)?;
                object.insert(name.to_owned(), Value::Object(inner));
            }
            Form::List(element) => self.list(element, occurrence, object, depth)?,
            Form::Map(value) => {
                let (map_key, value) = self.entry(value, name, occurrence.bytes()?, depth)?;
                if let Some(Value::Object(map)) = object.get_mut(name) {
                    map.insert(map_key, value);
                } else {
                    self.limits.take(MAP_BYTES)?;
                    object.insert(name.to_owned(), Value::Object(Map::from_iter([(map_key, value)])));
                }
            }
            Form::Boxed | Form::SchemaOr(..) => {
                let value = self.value(ty, occurrence, depth)?;
                object.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }

    /// Decodes one element, or several packed numbers.
    fn list(
        &mut self,
        element: TypeRef<'_>,
        occurrence: Occurrence<'_, '_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let packable = matches!(element.scalar(), Some(Scalar::Bool | Scalar::Int32 | Scalar::Int64));
        let Occurrence { name, key, .. } = occurrence;
        if !packable || key.wire_type != WireType::Bytes {
            let item = self.value(element, occurrence, depth)?;
            return self.push(object, name, item);
        }
        let mut packed = Reader::new(occurrence.bytes()?);
        let key = Key { wire_type: WireType::Varint, ..key };
        while packed.len() > 0 {
            let item = self.value(element, Occurrence { name, key, reader: &mut packed }, depth)?;
            self.limits.take_next(VALUE_BYTES)?;
            self.push(object, name, item)?;
        }
        Ok(())
    }

    /// Appends to a list field.
    fn push(&self, object: &mut Map<String, Value>, name: &str, item: Value) -> Result<(), DecodeError> {
        if let Some(Value::Array(items)) = object.get_mut(name) {
            items.push(item);
            return Ok(());
        }
        self.limits.take(LIST_BYTES)?;
        object.insert(name.to_owned(), Value::Array(vec![item]));
        Ok(())
    }

    /// Decodes a map entry.
    fn entry(
        &mut self,
        ty: TypeRef<'_>,
        name: &str,
        entry: &[u8],
        depth: usize,
    ) -> Result<(String, Value), DecodeError> {
        let mut reader = Reader::new(entry);
        let mut map_key = String::new();
        let mut value = None;
        while let Some(field) = reader.field(name)? {
            match field.key.number {
                1 => map_key = field.string()?,
                2 => value = Some(self.value(ty, field, depth)?),
                _ => field.skip()?,
            }
        }
        let value = match value {
            Some(value) => value,
            None if ty.scalar() == Some(Scalar::Bytes) => Value::String(String::new()),
            None => {
                let zero = ty.zero();
                self.spend(&zero)?;
                zero
            }
        };
        Ok((map_key, value))
    }

    /// Decodes a single value: a list element or a map value.
    fn value(
        &mut self,
        ty: TypeRef<'_>,
        occurrence: Occurrence<'_, '_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        if let Form::Scalar(scalar) = ty.form() {
            return scalar_value(scalar, occurrence, depth);
        }
        let name = occurrence.name;
        let message = occurrence.bytes()?;
        match ty.form() {
            Form::Struct(_) => {
                let mut object = Map::new();
                self.structure(ty, message, &mut object, depth)?;
                Ok(Value::Object(object))
            }
            Form::Boxed => {
                let mut reader = Reader::new(message);
                let mut items = Vec::new();
                while let Some(field) = reader.field(name)? {
                    match field.key.number {
                        1 => items.push(field.string()?.into()),
                        _ => field.skip()?,
                    }
                }
                Ok(if items.is_empty() { Value::Null } else { Value::Array(items) })
            }
            Form::SchemaOr(schema, or) => self.schema_or(schema, or, message, deeper(depth)?),
            // Protobuf has no lists of lists.
            Form::Scalar(_) | Form::List(_) | Form::Map(_) => Ok(Value::Null),
        }
    }

    /// Decodes a CRD's JSON schema, or the alternative to it.
    fn schema_or(
        &mut self,
        ty: TypeRef<'_>,
        or: SchemaOr,
        message: &[u8],
        depth: usize,
    ) -> Result<Value, DecodeError> {
        const NAME: &str = "Schema";
        let mut reader = Reader::new(message);
        let mut schema = None;
        let mut list = Vec::new();
        let mut allows = false;
        while let Some(field) = reader.field(NAME)? {
            match (or, field.key.number) {
                (SchemaOr::Bool, 1) => allows = field.varint()? != 0,
                (SchemaOr::Bool, 2) | (SchemaOr::List | SchemaOr::Strings, 1) => {
                    schema = Some(self.value(ty, field, depth)?);
                }
                (SchemaOr::List, 2) => list.push(self.value(ty, field, depth)?),
                (SchemaOr::Strings, 2) => list.push(field.string()?.into()),
                _ => field.skip()?,
            }
        }
        Ok(match (or, schema) {
            (SchemaOr::Bool, None) => Value::Bool(allows),
            (SchemaOr::List | SchemaOr::Strings, _) if !list.is_empty() => Value::Array(list),
            (_, schema) => schema.unwrap_or_default(),
        })
    }
}

pub(super) fn deeper(depth: usize) -> Result<usize, DecodeError> {
    depth.checked_sub(1).ok_or(DecodeError::TooDeep)
}

/// Returns the number of values in a tree.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}
