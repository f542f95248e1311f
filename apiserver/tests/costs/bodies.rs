//! Request bodies generated from a schema.

use registry_core::schema::{Scalar, TypeRef};
use serde_json::{Map, Value, json};

/// Common key fields of list elements; a minimal element has those that its type has.
const IDENTIFYING: [&str; 10] =
    ["name", "key", "uid", "type", "path", "mountPath", "ip", "driver", "operator", "topologyKey"];

/// Maximum depth to which required structs are filled in.
const MAX_REQUIRED_DEPTH: usize = 3;

/// A step from a value to a part of it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(String),
    /// The element of a list with one element.
    Element,
    /// The value of a map with one key.
    Key,
}

/// A list or map somewhere in a kind.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) steps: Vec<Step>,
    /// The struct and the field, which many kinds share.
    pub(crate) place: String,
}

/// Returns all lists and maps in a type. Recursive structs are not followed.
pub(crate) fn collections(root: TypeRef<'_>) -> Vec<Collection> {
    let mut found = Vec::new();
    visit(root, &mut Vec::new(), &mut Vec::new(), "", &mut found);
    found
}

fn visit(
    ty: TypeRef<'_>,
    steps: &mut Vec<Step>,
    within: &mut Vec<String>,
    place: &str,
    found: &mut Vec<Collection>,
) {
    if let Some(inner) = ty.element().or_else(|| ty.value()) {
        found.push(Collection { steps: steps.clone(), place: place.to_owned() });
        steps.push(if ty.element().is_some() { Step::Element } else { Step::Key });
        visit(inner, steps, within, place, found);
        steps.pop();
        return;
    }
    if !ty.is_struct() || within.iter().any(|name| name == ty.go_name()) {
        return;
    }
    within.push(ty.go_name().to_owned());
    for field in ty.fields() {
        steps.push(Step::Field(field.name().to_owned()));
        visit(field.ty(), steps, within, &format!("{}.{}", ty.go_name(), field.name()), found);
        steps.pop();
    }
    within.pop();
}

/// Returns an object of this type in which the collection has as many elements as fit into this number of
/// bytes. The last third of the elements are duplicates of the first one. `is_reversed`: in the opposite
/// order.
pub(crate) fn body(root: TypeRef<'_>, collection: &Collection, bytes: usize, is_reversed: bool) -> Value {
    build(root, &collection.steps, &|ty| full(ty, bytes, is_reversed))
}

/// Returns an object of this type in which all collections of the struct at `steps` have elements, of this
/// total size.
pub(crate) fn body_of_all(root: TypeRef<'_>, steps: &[Step], bytes: usize) -> Value {
    build(root, steps, &|ty| {
        let is_collection = |ty: &TypeRef<'_>| ty.element().or_else(|| ty.value()).is_some();
        let count = ty.fields().filter(|field| is_collection(&field.ty())).count().max(1);
        let mut map = minimal_map(ty, 0, 0);
        for field in ty.fields().filter(|field| is_collection(&field.ty())) {
            map.insert(field.name().to_owned(), full(field.ty(), bytes / count, false));
        }
        Value::Object(map)
    })
}

/// Returns a value of this type whose part at `steps` is what `fill` returns for its type.
pub(crate) fn build(ty: TypeRef<'_>, steps: &[Step], fill: &dyn Fn(TypeRef<'_>) -> Value) -> Value {
    let Some((step, rest)) = steps.split_first() else { return fill(ty) };
    match step {
        Step::Field(name) => {
            let mut map = minimal_map(ty, 0, 0);
            map.insert(name.clone(), build(ty.field(name).unwrap().ty(), rest, fill));
            Value::Object(map)
        }
        Step::Element => Value::Array(vec![build(ty.element().unwrap(), rest, fill)]),
        Step::Key => json!({"key": build(ty.value().unwrap(), rest, fill)}),
    }
}

/// Returns a list or map with as many elements as fit.
fn full(ty: TypeRef<'_>, bytes: usize, is_reversed: bool) -> Value {
    let inner = ty.element().or_else(|| ty.value()).unwrap();
    let length = minimal(inner, 1_000_000, 0).to_string().len() + 1;
    if ty.value().is_some() {
        let count = bytes / (length + "\"k1000000\":".len());
        let entry = |number| (format!("k{number}"), minimal(inner, number, 0));
        return Value::Object((0..count).map(entry).collect());
    }
    let count = bytes / length;
    let distinct = (count * 2 / 3).max(1);
    let mut elements: Vec<Value> = (0..count).map(|number| minimal(inner, number % distinct, 0)).collect();
    if is_reversed {
        elements.reverse();
    }
    Value::Array(elements)
}

/// Returns the smallest value of a type with its key fields, which differ by `number`.
fn minimal(ty: TypeRef<'_>, number: usize, depth: usize) -> Value {
    if let Some(scalar) = ty.scalar() {
        return match scalar {
            Scalar::Any | Scalar::Raw => json!({}),
            Scalar::Bool => json!(true),
            Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::IntOrString => json!(number + 1),
            Scalar::String => json!(format!("n{number}")),
            Scalar::Bytes => json!("AA=="),
            Scalar::Time => json!("2026-01-02T03:04:05Z"),
            Scalar::MicroTime => json!("2026-01-02T03:04:05.000006Z"),
            Scalar::Quantity => json!("1"),
        };
    }
    if ty.element().is_some() {
        return json!([]);
    }
    if ty.is_struct() { Value::Object(minimal_map(ty, number, depth)) } else { json!({}) }
}

fn minimal_map(ty: TypeRef<'_>, number: usize, depth: usize) -> Map<String, Value> {
    let is_text =
        |name: &&str| ty.field(name).is_some_and(|field| field.ty().scalar() == Some(Scalar::String));
    let mut names: Vec<&str> = IDENTIFYING.into_iter().filter(is_text).collect();
    if let Some(name) = ty.fields().map(|field| field.name()).find(|name| is_text(name))
        && names.is_empty()
    {
        names.push(name);
    }
    for field in ty.fields() {
        let is_kept = field.is_required() || ["port", "containerPort"].contains(&field.name());
        if is_kept && (field.ty().scalar().is_some() || depth < MAX_REQUIRED_DEPTH) {
            names.push(field.name());
        }
    }
    let value = |name: &str| minimal(ty.field(name).unwrap().ty(), number, depth + 1);
    names.into_iter().map(|name| (name.to_owned(), value(name))).collect()
}
