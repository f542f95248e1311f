//! The objects that are measured: a small one as most are, and one with every field its kind has.

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use registry_core::api::{GroupVersionKind, Object};
use registry_core::apply::{Conversions, FieldManager, FieldSet, Reset};
use registry_core::codec::{cbor, protobuf, stored};
use registry_core::schema::{Scalar, Schema, TypeRef, TypeTable};
use serde_json::{Map, Value, json};

/// The time of all writes.
pub(crate) const NOW: &str = "2026-01-02T03:04:05Z";

/// An object to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample {
    /// A ConfigMap of 1.4 KB.
    ConfigMap,
    /// A Pod in which every field is set, and every list has one element.
    Pod,
}

/// An object in all its forms.
pub(crate) struct Prepared {
    pub(crate) schema: Schema,
    pub(crate) object: Object,
    pub(crate) value: Value,
    pub(crate) json: Bytes,
    pub(crate) message: Bytes,
    pub(crate) cbor: Bytes,
    kind: GroupVersionKind,
    blank: Object,
}

// === impl Sample ===

impl Sample {
    /// The object in all its forms, made once.
    pub(crate) fn prepared(self) -> &'static Prepared {
        static CONFIG_MAP: LazyLock<Prepared> = LazyLock::new(|| {
            Prepared::new("ConfigMap", |_| {
                json!({
                    "metadata": {"name": "a", "namespace": "b", "labels": {"app": "x"}, "uid": "u", "creationTimestamp": NOW},
                    "data": {"k": "x".repeat(1150), "l": "v"},
                })
            })
        });
        static POD: LazyLock<Prepared> = LazyLock::new(|| Prepared::new("Pod", full));
        match self {
            Self::ConfigMap => &CONFIG_MAP,
            Self::Pod => &POD,
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

// === impl Prepared ===

impl Prepared {
    fn new(kind: &'static str, make: fn(TypeRef<'_>) -> Value) -> Self {
        let facts = concat!(env!("CARGO_MANIFEST_DIR"), "/../resources/src/generated/types.facts");
        let table = Arc::new(TypeTable::parse(&std::fs::read_to_string(facts).unwrap()).unwrap());
        let kind = GroupVersionKind { group: "", version: "v1", kind };
        let schema = table.schema(kind).unwrap();
        let conformed = |value: Value| {
            let mut object = Object::from_value(value).unwrap();
            object.set_type("v1", kind.kind);
            let mut value = object.into_value();
            schema.conform(&mut value, &mut Vec::new()).unwrap();
            Object::from_value(value).unwrap()
        };
        let object = conformed(make(schema.root()));
        let blank = conformed(json!({}));
        let value = object.clone().into_value();
        let json = stored::encode(&object, schema.field_order());
        let message = protobuf::encode_message(&value, &schema).unwrap();
        let cbor = cbor::encode(&value, Some(&schema));
        Self { schema, object, value, json, message, cbor, kind, blank }
    }

    /// Who keeps the managers of such objects.
    pub(crate) fn manager(&'static self) -> FieldManager<'static> {
        FieldManager {
            kind: self.kind,
            api_version: "v1",
            subresource: "",
            schema: self.schema.clone(),
            reset: Reset::Fields(FieldSet::from_paths([&["status"][..]])),
            blank: &self.blank,
            versions: None,
            conversions: Conversions::default(),
            budget: None,
        }
    }

    /// The object as its creator left it, managers noted.
    pub(crate) fn managed(&'static self) -> Object {
        let mut object = self.object.clone();
        self.manager().track_update(None, &mut object, "one", NOW).unwrap();
        object
    }
}

/// A value of this type with every field set. No type within a Pod holds itself.
fn full(ty: TypeRef<'_>) -> Value {
    if let Some(element) = ty.element() {
        return Value::Array(vec![full(element)]);
    }
    if let Some(value) = ty.value() {
        return json!({ "app": full(value) });
    }
    if let Some(scalar) = ty.scalar() {
        return match scalar {
            Scalar::Any | Scalar::Raw => json!({}),
            Scalar::Bool => true.into(),
            Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString => 7.into(),
            Scalar::Double => json!(0.5),
            Scalar::String => "some-text".into(),
            Scalar::Bytes => "c29tZQ==".into(),
            Scalar::Time => NOW.into(),
            Scalar::MicroTime => "2026-01-02T03:04:05.000006Z".into(),
            Scalar::Quantity => "100m".into(),
        };
    }
    // Managers are what is measured: there are none before.
    let fields = ty.fields().filter(|field| field.name() != "managedFields");
    Value::Object(fields.map(|field| (field.name().to_owned(), full(field.ty()))).collect::<Map<_, _>>())
}
