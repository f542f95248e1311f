//! Checks that a conversion loses nothing, for the tests of whoever writes one.
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
use crate::resource::{Resource, ResourceType};
use crate::schema::{Scalar, Schema, TypeRef};

use super::{Conversion, ConversionError, Spoke, conformed};

/// How deep samples go into types that contain themselves.
const SAMPLE_DEPTH: usize = 8;

/// Samples of both versions, each converted to the other one and back: one with every field set, and one without
/// each of them. For versions whose fields have a grammar of their own, give objects that have it to
/// [`assert_spoke_round_trips`] and [`assert_hub_round_trips`] instead.
///
/// # Panics
/// A sample cannot be converted, or comes back changed.
pub fn assert_lossless<S: Spoke>() {
    for resource in [S::TYPE, S::Hub::TYPE] {
        for sample in samples((resource.schema)()) {
            assert_round_trips::<S>(&typed(resource, Object(sample)));
        }
    }
}

/// An object of the spoke, converted to its hub and back.
///
/// # Panics
/// It cannot be converted, or comes back changed.
pub fn assert_spoke_round_trips<S: Spoke>(object: &S::Object) {
    assert_round_trips::<S>(&typed(S::TYPE, written(object)));
}

/// An object of the hub, converted to the spoke and back.
///
/// # Panics
/// It cannot be converted, or comes back changed.
pub fn assert_hub_round_trips<S: Spoke>(object: &<S::Hub as Resource>::Object) {
    assert_round_trips::<S>(&typed(S::Hub::TYPE, written(object)));
}

/// An object of either version (its `apiVersion` says of which), converted to the other one and back.
///
/// # Panics
/// It cannot be converted, or comes back changed.
pub fn assert_round_trips<S: Spoke>(object: &Object) {
    let Some(conversion) = S::TYPE.hub else {
        panic!("{:?} is no spoke: its annotation has no `hub = …`", S::TYPE)
    };
    let is_hub = object.api_version() == conversion.hub.group_version().api_version();
    let start = if is_hub { conversion.hub } else { S::TYPE };
    let result = round_trip(conversion, S::TYPE, start, object.clone());
    let (before, after) = match result {
        Ok(pair) => pair,
        Err(error) => panic!("{start:?} cannot be converted: {error}\n{}", pretty(object)),
    };
    assert!(
        before == after,
        "{start:?} comes back changed:\n--- before\n{}\n--- after\n{}",
        pretty(&before),
        pretty(&after)
    );
}

/// The object in its schema's form, and what comes back.
fn round_trip(
    conversion: &Conversion,
    spoke: &ResourceType,
    start: &ResourceType,
    object: Object,
) -> Result<(Object, Object), ConversionError> {
    let before = conformed(start, object)?;
    let to_hub = |object| conformed(conversion.hub, (conversion.to_hub)(object)?);
    let from_hub = |object| conformed(spoke, (conversion.from_hub)(object)?);
    let after = if start.is(spoke) {
        from_hub(to_hub(before.clone())?)?
    } else {
        to_hub(from_hub(before.clone())?)?
    };
    Ok((before, after))
}

fn typed(resource: &ResourceType, mut object: Object) -> Object {
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

/// An object with every field set, then one without each of them.
fn samples(schema: &Schema) -> Vec<Map<String, Value>> {
    let mut full = Map::new();
    for field in schema.root().fields().filter(|field| !is_common(field.name())) {
        full.insert(field.name().to_owned(), sample(field.name(), field.ty(), 0));
    }
    let metadata = json!({ "name": "sample", "labels": { "a": "b" }, "annotations": { "c": "d" } });
    full.insert("metadata".to_owned(), metadata);
    let mut paths = Vec::new();
    for (name, value) in full.iter().filter(|(name, _)| !is_common(name)) {
        collect_paths(&mut vec![name.clone()], value, &mut paths);
    }
    let without = paths.iter().map(|path| {
        let mut object = Object(full.clone());
        object.remove(&path.iter().map(String::as_str).collect::<Vec<_>>());
        object.0
    });
    std::iter::once(full.clone()).chain(without).collect()
}

/// Fields every kind has, which no conversion is asked about.
fn is_common(field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata")
}

fn sample(name: &str, ty: TypeRef<'_>, depth: usize) -> Value {
    if depth > SAMPLE_DEPTH {
        return Value::Null;
    }
    if let Some(scalar) = ty.scalar() {
        return sample_scalar(name, scalar);
    }
    if let Some(element) = ty.element() {
        return json!([sample(name, element, depth + 1)]);
    }
    if let Some(value) = ty.value() {
        return json!({ "key": sample(name, value, depth + 1) });
    }
    let fields = ty.fields().map(|field| (field.name().to_owned(), sample(field.name(), field.ty(), depth + 1)));
    Value::Object(fields.collect())
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

fn collect_paths(path: &mut Vec<String>, value: &Value, paths: &mut Vec<Vec<String>>) {
    paths.push(path.clone());
    for (name, value) in value.as_object().into_iter().flatten() {
        path.push(name.clone());
        collect_paths(path, value, paths);
        path.pop();
    }
}
