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
use crate::resource::{Resource, ResourceDescription, ResourceType};
use crate::schema::{Scalar, Schema, TypeRef};

use super::{Conversion, ConversionError, Spoke, conformed};

/// Samples of both versions, each converted to the other one and back: one with every field set, and one without
/// each of them. For versions whose fields have a grammar of their own, give objects that have it to
/// [`assert_spoke_round_trips`] and [`assert_hub_round_trips`] instead.
///
/// # Panics
/// A sample cannot be converted, or comes back changed.
pub fn assert_lossless<S: Spoke>() {
    for resource in [S::TYPE, S::Hub::TYPE] {
        for sample in samples(&(resource.schema)()) {
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
    let spoke = S::TYPE.instantiate();
    let Some(conversion) = &spoke.hub else {
        panic!("{:?} is no spoke: its annotation has no `hub = …`", S::TYPE)
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

/// The object in its schema's form, and what comes back.
fn round_trip(
    conversion: &Conversion,
    spoke: &ResourceType,
    start: &ResourceType,
    object: Object,
) -> Result<(Object, Object), ConversionError> {
    let before = conformed(start, object)?;
    let to_hub = |object| conformed(&conversion.hub, (conversion.to_hub)(object)?);
    let from_hub = |object| conformed(spoke, (conversion.from_hub)(object)?);
    let after =
        if start.is(spoke) { from_hub(to_hub(before.clone())?)? } else { to_hub(from_hub(before.clone())?)? };
    Ok((before, after))
}

/// The object as its Rust type writes it: what is absent and what is the type's default are the same.
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

/// An object with every field set, then one without each of them.
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

/// Fields every kind has, which no conversion is asked about.
fn is_common(field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata")
}

/// A value of a type. `within` are the types it is inside of: one that contains itself ends there.
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

/// The paths of all fields that may be absent.
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
