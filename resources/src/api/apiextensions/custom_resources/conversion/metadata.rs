//! The check of a converted object. A webhook may change everything but the object's identity, and of the metadata only labels
//! and annotations.

use registry_core::api::Object;
use registry_core::api::go_text::{aggregate, type_name};
use registry_core::api::validation::object_meta::{validate_annotations, validate_labels};
use registry_core::api::validation::{FieldError, FieldPath};
use resource_views::meta::v1::ObjectMeta;
use resource_views::{Typed as _, View};
use serde_json::{Map, Value};

const LABELS: &str = "labels";
const ANNOTATIONS: &str = "annotations";

/// The type and the metadata of an object before a webhook converts it.
pub(super) struct Original {
    kind: String,
    /// The object's metadata; `None` if it has none.
    metadata: Option<Value>,
}

/// The part of a converted object that is wrong, with a message.
#[derive(Debug, PartialEq)]
pub(super) enum Complaint {
    /// The object's type.
    Type(String),
    /// The object's identity.
    Object(String),
    /// The object's metadata.
    Metadata(MetadataError),
}

/// Error of the metadata of a converted object. The texts are Kubernetes'.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum MetadataError {
    #[error("missing metadata in converted object")]
    Missing,
    #[error("invalid metadata of type {0} in converted object")]
    Type(&'static str),
    #[error("invalid metadata of type {0} in input object")]
    TypeOfInput(&'static str),
    #[error("invalid metadata.{field} of type {found} in converted object")]
    FieldType { field: &'static str, found: &'static str },
    #[error("metadata.{field}[{key}] must be a string, but is {found} in converted object")]
    NoText { field: &'static str, key: String, found: &'static str },
    #[error("{}", aggregate(.0))]
    Invalid(Vec<FieldError>),
}

// === impl Original ===

impl Original {
    /// Remembers an object that is sent.
    pub(super) fn from_object(object: &Object) -> Self {
        Self { kind: object.kind().to_owned(), metadata: object.0.get("metadata").cloned() }
    }

    /// Checks a converted object, and returns it with the metadata of this one, apart from labels and annotations.
    ///
    /// # Errors
    /// Fails if it is not this object in the wanted version.
    pub(super) fn checked(self, converted: Value, api_version: &str) -> Result<Object, Complaint> {
        let mut converted = Object::from_value(converted).map_err(|other| {
            Complaint::Type(format!("cannot unmarshal {} into an object", type_name(&other)))
        })?;
        if converted.kind().is_empty() {
            return Err(Complaint::Type("Object 'Kind' is missing".to_owned()));
        }
        if converted.api_version() != api_version {
            let received = converted.api_version();
            let complaint = format!("invalid groupVersion (expected {api_version}, received {received})");
            return Err(Complaint::Type(complaint));
        }
        if converted.kind() != self.kind {
            let received = converted.kind();
            let complaint = format!("invalid kind (expected {}, received {received})", self.kind);
            return Err(Complaint::Type(complaint));
        }
        self.check_identity(&converted)?;
        self.restore(&mut converted).map_err(Complaint::Metadata)?;
        Ok(converted)
    }

    fn check_identity(&self, converted: &Object) -> Result<(), Complaint> {
        let own = ObjectMeta::typed(View::root(self.metadata.as_ref().unwrap_or(&Value::Null)));
        for (title, own, other) in [
            ("name", own.name().text(), converted.name()),
            ("namespace", own.namespace().text(), converted.namespace()),
            ("UID", own.uid().text(), converted.uid()),
        ] {
            if own != other {
                return Err(Complaint::Object(format!("must have the same {title}: {own} != {other}")));
            }
        }
        Ok(())
    }

    /// Puts the original metadata into the converted object, with the labels and annotations of the latter.
    fn restore(self, converted: &mut Object) -> Result<(), MetadataError> {
        let mut answered = match converted.0.remove("metadata") {
            None => return Err(MetadataError::Missing),
            Some(Value::Object(metadata)) => metadata,
            Some(other) => return Err(MetadataError::Type(type_name(&other))),
        };
        let mut metadata = match self.metadata {
            None => Map::new(),
            Some(Value::Object(metadata)) => metadata,
            Some(other) => return Err(MetadataError::TypeOfInput(type_name(&other))),
        };
        for field in [LABELS, ANNOTATIONS] {
            match answered.remove(field) {
                None | Some(Value::Null) => {
                    metadata.remove(field);
                }
                Some(Value::Object(texts)) => {
                    check_texts(field, metadata.get(field), &texts)?;
                    metadata.insert(field.to_owned(), Value::Object(texts));
                }
                Some(other) => return Err(MetadataError::FieldType { field, found: type_name(&other) }),
            }
        }
        converted.0.insert("metadata".to_owned(), Value::Object(metadata));
        Ok(())
    }
}

/// Checks labels or annotations. Those of the original are not validated again.
fn check_texts(
    field: &'static str,
    original: Option<&Value>,
    texts: &Map<String, Value>,
) -> Result<(), MetadataError> {
    if original.is_some_and(|original| original.as_object() == Some(texts)) {
        return Ok(());
    }
    for (key, value) in texts {
        if !value.is_string() {
            return Err(MetadataError::NoText { field, key: key.clone(), found: type_name(value) });
        }
    }
    let pairs = texts.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    let metadata = FieldPath::new("metadata");
    let errors = if field == LABELS {
        validate_labels(pairs, &metadata.child(LABELS))
    } else {
        // The path lacks its last letter in Kubernetes, too.
        validate_annotations(pairs, &metadata.child("annotation"))
    };
    if errors.is_empty() { Ok(()) } else { Err(MetadataError::Invalid(errors.0)) }
}

// === impl Complaint ===

impl Complaint {
    /// Returns the text of the complaint about the object at this index; `None` if it was the only one.
    pub(super) fn about(&self, index: Option<usize>) -> String {
        match (self, index) {
            (Self::Type(text), None) => format!("invalid object at index 0: {text}"),
            (Self::Object(text), None) => format!("invalid object: {text}"),
            (Self::Metadata(text), None) => format!("invalid metadata: {text}"),
            (Self::Type(text) | Self::Object(text), Some(index)) => {
                format!("invalid converted object at index {index}: {text}")
            }
            (Self::Metadata(text), Some(index)) => {
                format!("invalid metadata in object at index {index}: {text}")
            }
        }
    }
}
