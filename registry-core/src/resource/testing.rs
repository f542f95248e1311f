//! Test support: checks for authors that a conversion is lossless, and schemas that take long to compile.
//!
//! ```ignore
//! #[test]
//! fn both_versions_say_the_same() {
//!     assert_lossless::<EnclosureV1beta1>();                        // samples made from both schemas
//!     assert_spoke_round_trips::<EnclosureV1beta1>(&an_enclosure);  // what a property test comes up with
//! }
//! ```

use serde_json::{Map, Value, json};

use crate::api::Object;
use crate::resource::{Resource, ResourceDescription, ResourceType};
use crate::schema::{Scalar, Schema, TypeRef};

use super::conversion::{Conversion, ConversionError, Converter, Spoke, conformed};

mod preparation;

pub use preparation::prepared_later;

/// Converts samples of both versions to the other version and back: one with every field set, and one without each of
/// them. For versions whose fields have a syntax, pass valid objects to [`assert_spoke_round_trips`] and
/// [`assert_hub_round_trips`] instead.
///
/// # Panics
/// Panics if a sample cannot be converted or the result differs.
pub fn assert_lossless<S: Spoke>() {
    for resource in [S::TYPE, S::Hub::TYPE] {
        for sample in samples(&(resource.schema)()) {
            assert_round_trips::<S>(&typed(resource, Object(sample)));
        }
    }
}

/// Converts an object of the spoke to its hub and back.
///
/// # Panics
/// Panics if it cannot be converted or the result differs.
pub fn assert_spoke_round_trips<S: Spoke>(object: &S::Object) {
    assert_round_trips::<S>(&typed(S::TYPE, written(object)));
}

/// Converts an object of the hub to the spoke and back.
///
/// # Panics
/// Panics if it cannot be converted or the result differs.
pub fn assert_hub_round_trips<S: Spoke>(object: &<S::Hub as Resource>::Object) {
    assert_round_trips::<S>(&typed(S::Hub::TYPE, written(object)));
}

/// Converts an object of either version (determined by its `apiVersion`) to the other version and back.
///
/// # Panics
/// Panics if it cannot be converted or the result differs.
pub fn assert_round_trips<S: Spoke>(object: &Object) {
    let spoke = S::TYPE.instantiate();
    let Some(conversion) = &spoke.hub else {
        panic!("{:?} is not a spoke: its annotation has no `hub = …`", S::TYPE)
    };
    let is_hub = object.api_version() == conversion.hub.group_version().api_version();
    let start = if is_hub { &conversion.hub } else { &spoke };
    let result = round_trip(conversion, &spoke, start, object.clone());
    let same = |object: &Object| {
        if is_hub { as_typed::<S::Hub>(object) } else { as_typed::<S>(object) }
    };
    let (before, after) = match result {
        Ok((before, after)) => (same(&before), same(&after)),
        Err(error) => panic!("{start:?} cannot be converted: {error}\n{}", pretty(object)),
    };
    assert!(
        before == after,
        "{start:?} comes back changed:\n--- before\n{}\n--- after\n{}",
        pretty(&before),
        pretty(&after)
    );
}

/// Returns the conformed object and the result of the round trip.
fn round_trip(
    conversion: &Conversion,
    spoke: &ResourceType,
    start: &ResourceType,
    object: Object,
) -> Result<(Object, Object), ConversionError> {
    let before = conformed(start, object)?;
    let Converter::Functions { to_hub, from_hub } = &conversion.converter else {
        return Err(ConversionError::Remote(spoke.group_version()));
    };
    let to_hub = |object| conformed(&conversion.hub, to_hub(object)?);
    let from_hub = |object| conformed(spoke, from_hub(object)?);
    let after =
        if start.is(spoke) { from_hub(to_hub(before.clone())?)? } else { to_hub(from_hub(before.clone())?)? };
    Ok((before, after))
}

/// Returns the object as serialised by its Rust type, so that absent fields and default values are equal.
fn as_typed<R: Resource>(object: &Object) -> Object {
    let typed: R::Object = object.view().unwrap_or_else(|error| panic!("{error}\n{}", pretty(object)));
    written(&typed)
}

fn typed(resource: &ResourceDescription, mut object: Object) -> Object {
    object.set_type(&resource.group_version().api_version(), resource.kind.kind);
    object
}

fn written<T: serde::Serialize>(object: &T) -> Object {
    Object::from_typed(object).unwrap_or_else(|error| panic!("{error}"))
}

fn pretty(object: &Object) -> String {
    serde_json::to_string_pretty(object).unwrap_or_default()
}

// === samples ===

/// Returns an object with every field set, then one without each of them.
fn samples(schema: &Schema) -> Vec<Map<String, Value>> {
    let mut full = Map::new();
    for field in schema.root().fields().filter(|field| !is_common(field.name())) {
        full.insert(field.name().to_owned(), sample(field.name(), field.ty(), &mut Vec::new()));
    }
    let metadata = json!({ "name": "sample", "labels": { "a": "b" }, "annotations": { "c": "d" } });
    full.insert("metadata".to_owned(), metadata);
    let mut paths = Vec::new();
    collect_optional(schema.root(), &mut Vec::new(), &mut Vec::new(), &mut paths);
    let without = paths.iter().map(|path| {
        let mut object = Object(full.clone());
        object.remove(path);
        object.0
    });
    std::iter::once(full.clone()).chain(without).collect()
}

/// Whether the field is common to all kinds and not converted.
fn is_common(field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata")
}

/// Returns a value of a type. `within` contains the enclosing types, to stop at recursive ones.
fn sample<'a>(name: &str, ty: TypeRef<'a>, within: &mut Vec<&'a str>) -> Value {
    if let Some(scalar) = ty.scalar() {
        return sample_scalar(name, scalar);
    }
    if within.contains(&ty.go_name()) {
        return Value::Null;
    }
    within.push(ty.go_name());
    let value = if let Some(element) = ty.element() {
        json!([sample(name, element, within)])
    } else if let Some(value) = ty.value() {
        json!({ "key": sample(name, value, within) })
    } else {
        let fields = ty.fields();
        let sampled = fields.map(|field| (field.name().to_owned(), sample(field.name(), field.ty(), within)));
        Value::Object(sampled.collect())
    };
    within.pop();
    value
}

fn sample_scalar(name: &str, scalar: Scalar) -> Value {
    match scalar {
        Scalar::Any | Scalar::Raw => json!({ "any": name }),
        Scalar::Bool => json!(true),
        Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString => json!(7),
        Scalar::Double => json!(7.5),
        Scalar::String => json!(format!("some-{name}")),
        Scalar::Bytes => json!("c29tZQ=="),
        Scalar::Time => json!("2026-01-02T03:04:05Z"),
        Scalar::MicroTime => json!("2026-01-02T03:04:05.000006Z"),
        Scalar::Quantity => json!("500m"),
    }
}

/// Collects the paths of all optional fields.
fn collect_optional<'a>(
    ty: TypeRef<'a>,
    within: &mut Vec<&'a str>,
    path: &mut Vec<&'a str>,
    paths: &mut Vec<Vec<&'a str>>,
) {
    if !ty.is_struct() || within.contains(&ty.go_name()) {
        return;
    }
    within.push(ty.go_name());
    for field in ty.fields() {
        if path.is_empty() && is_common(field.name()) {
            continue;
        }
        path.push(field.name());
        if !field.is_required() {
            paths.push(path.clone());
        }
        collect_optional(field.ty(), within, path, paths);
        path.pop();
    }
    within.pop();
}
