//! Declared types of whole kinds, from their compiled schemas.
//!
//! Kubernetes concept: `SchemaDeclType` over `SchemaResolver`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::field_names::escape;
use super::syntax::ast::Name;
use super::types::{DeclType, Field, ListKind, ObjectType, Shape, member_name};
use registry_schema::{Scalar, Schema, TypeRef};

/// Declares the type of a kind; `None` if expressions cannot see its values. `name` is the name of the type in messages.
///
/// Sizes are not declared: the types are for checks, and not for estimates of costs.
pub fn declare_kind(schema: &Schema, name: &str) -> Option<DeclType> {
    declare(schema.root(), name, &mut Vec::new())
}

/// Declares a type. Those around it are not declared again: a recursive type ends where it begins again.
fn declare<'s>(ty: TypeRef<'s>, name: &str, around: &mut Vec<&'s str>) -> Option<DeclType> {
    if ty.schema_or().is_some() {
        return None;
    }
    if let Some(scalar) = ty.scalar() {
        return declare_scalar(scalar, name);
    }
    if let Some(own) = ty.name() {
        if around.contains(&own) {
            return None;
        }
        around.push(own);
        let declared = declare_composite(ty, name, around);
        around.pop();
        return declared;
    }
    declare_composite(ty, name, around)
}

fn declare_composite<'s>(ty: TypeRef<'s>, name: &str, around: &mut Vec<&'s str>) -> Option<DeclType> {
    if let Some(element) = ty.element() {
        let element = declare(element, &member_name(name, "@idx"), around)?;
        return Some(DeclType::new(Shape::List(Arc::new(element), ListKind::Atomic)));
    }
    if let Some(value) = ty.value() {
        let value = declare(value, &member_name(name, "@elem"), around)?;
        return Some(DeclType::new(Shape::Map(Arc::new(value))));
    }
    let mut fields = BTreeMap::new();
    for field in ty.fields() {
        let Some(escaped) = escape(field.name()) else { continue };
        let Some(declared) = declare(field.ty(), &member_name(name, &escaped), around) else { continue };
        fields.insert(Name::from(escaped), Field { json_name: Name::from(field.name()), declared });
    }
    Some(DeclType::new(Shape::Object(Arc::new(ObjectType::new(name, fields)))))
}

fn declare_scalar(scalar: Scalar, name: &str) -> Option<DeclType> {
    let shape = match scalar {
        // Neither has a type in OpenAPI.
        Scalar::Any | Scalar::Quantity => return None,
        Scalar::Raw => Shape::Object(Arc::new(ObjectType::new(name, BTreeMap::new()))),
        Scalar::Bool => Shape::Bool,
        Scalar::Int32 | Scalar::Int64 => Shape::Int,
        Scalar::Double => Shape::Double,
        Scalar::String => Shape::String,
        Scalar::Bytes => Shape::Bytes,
        Scalar::Time | Scalar::MicroTime => Shape::DateTime,
        Scalar::IntOrString => Shape::Dyn,
    };
    Some(DeclType::new(shape))
}
