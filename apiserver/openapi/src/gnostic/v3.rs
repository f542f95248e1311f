//! The messages of `openapi.v3` that documents of this server use.

use serde_json::Value;

use super::{Kind, Message, by_boolean, by_reference};

static TEXTS: Kind = Kind::List(&Kind::Text);
static SECURITY: Kind = Kind::List(&Kind::Map(1, &Kind::Wrapped(1, &TEXTS)));
/// A value (field 1) or a reference (2).
static RESPONSE_OR_REFERENCE: Kind = Kind::Wrapped(1, &Kind::Message(&RESPONSE));
static SCHEME_OR_REFERENCE: Kind = Kind::Wrapped(1, &Kind::Message(&SECURITY_SCHEME));
static BODY_OR_REFERENCE: Kind = Kind::Wrapped(1, &Kind::Message(&REQUEST_BODY));
static PARAMETERS: Kind = Kind::List(&Kind::Wrapped(1, &Kind::Message(&PARAMETER)));
static CONTENT: Kind = Kind::Map(1, &Kind::Message(&MEDIA_TYPE));

/// A schema (field 1) or a reference to one (2).
static SCHEMA_OR_REFERENCE: Kind = Kind::Choice(
    by_reference,
    &[Kind::Wrapped(1, &Kind::Message(&SCHEMA)), Kind::Wrapped(2, &Kind::Message(&REFERENCE))],
);

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("openapi", 1, Kind::Text),
        ("info", 2, Kind::Message(&INFO)),
        ("paths", 4, Kind::Map(1, &Kind::Message(&PATH_ITEM))),
        ("components", 5, Kind::Message(&COMPONENTS)),
        ("security", 6, SECURITY),
    ],
    extensions: 9,
};

static INFO: Message =
    Message { fields: &[("title", 1, Kind::Text), ("version", 6, Kind::Text)], extensions: 7 };

static COMPONENTS: Message = Message {
    fields: &[
        ("schemas", 1, Kind::Map(1, &SCHEMA_OR_REFERENCE)),
        ("securitySchemes", 7, Kind::Map(1, &SCHEME_OR_REFERENCE)),
    ],
    extensions: 10,
};

static SECURITY_SCHEME: Message = Message {
    fields: &[
        ("type", 1, Kind::Text),
        ("description", 2, Kind::Text),
        ("name", 3, Kind::Text),
        ("in", 4, Kind::Text),
    ],
    extensions: 9,
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 4, Kind::Message(&OPERATION)),
        ("put", 5, Kind::Message(&OPERATION)),
        ("post", 6, Kind::Message(&OPERATION)),
        ("delete", 7, Kind::Message(&OPERATION)),
        ("options", 8, Kind::Message(&OPERATION)),
        ("head", 9, Kind::Message(&OPERATION)),
        ("patch", 10, Kind::Message(&OPERATION)),
        ("parameters", 13, PARAMETERS),
    ],
    extensions: 14,
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, TEXTS),
        ("description", 3, Kind::Text),
        ("operationId", 5, Kind::Text),
        ("parameters", 6, PARAMETERS),
        ("requestBody", 7, BODY_OR_REFERENCE),
        ("responses", 8, Kind::Map(2, &RESPONSE_OR_REFERENCE)),
        ("deprecated", 10, Kind::Bool),
    ],
    extensions: 13,
};

static PARAMETER: Message = Message {
    fields: &[
        ("name", 1, Kind::Text),
        ("in", 2, Kind::Text),
        ("description", 3, Kind::Text),
        ("required", 4, Kind::Bool),
        ("schema", 10, SCHEMA_OR_REFERENCE),
    ],
    extensions: 14,
};

static REQUEST_BODY: Message = Message {
    fields: &[("description", 1, Kind::Text), ("content", 2, CONTENT), ("required", 3, Kind::Bool)],
    extensions: 4,
};

static RESPONSE: Message =
    Message { fields: &[("description", 1, Kind::Text), ("content", 3, CONTENT)], extensions: 5 };

static MEDIA_TYPE: Message = Message { fields: &[("schema", 1, SCHEMA_OR_REFERENCE)], extensions: 5 };

static REFERENCE: Message =
    Message { fields: &[("$ref", 1, Kind::Text), ("description", 3, Kind::Text)], extensions: 0 };

static EXTERNAL_DOCS: Message =
    Message { fields: &[("description", 1, Kind::Text), ("url", 2, Kind::Text)], extensions: 3 };

static SCHEMA: Message = Message {
    fields: &[
        ("nullable", 1, Kind::Bool),
        ("readOnly", 3, Kind::Bool),
        ("externalDocs", 6, Kind::Message(&EXTERNAL_DOCS)),
        ("example", 7, Kind::Any),
        ("title", 9, Kind::Text),
        ("multipleOf", 10, Kind::Double),
        ("maximum", 11, Kind::Double),
        ("exclusiveMaximum", 12, Kind::Bool),
        ("minimum", 13, Kind::Double),
        ("exclusiveMinimum", 14, Kind::Bool),
        ("maxLength", 15, Kind::Integer),
        ("minLength", 16, Kind::Integer),
        ("pattern", 17, Kind::Text),
        ("maxItems", 18, Kind::Integer),
        ("minItems", 19, Kind::Integer),
        ("uniqueItems", 20, Kind::Bool),
        ("maxProperties", 21, Kind::Integer),
        ("minProperties", 22, Kind::Integer),
        ("required", 23, TEXTS),
        ("enum", 24, Kind::List(&Kind::Any)),
        ("type", 25, Kind::Text),
        ("allOf", 26, Kind::List(&SCHEMA_OR_REFERENCE)),
        ("oneOf", 27, Kind::List(&SCHEMA_OR_REFERENCE)),
        ("anyOf", 28, Kind::List(&SCHEMA_OR_REFERENCE)),
        ("not", 29, Kind::Message(&SCHEMA)),
        ("items", 30, Kind::Wrapped(1, &SCHEMA_OR_REFERENCE)),
        ("properties", 31, Kind::Map(1, &SCHEMA_OR_REFERENCE)),
        ("additionalProperties", 32, ADDITIONAL_PROPERTIES),
        ("default", 33, DEFAULT),
        ("description", 34, Kind::Text),
        ("format", 35, Kind::Text),
    ],
    extensions: 36,
};

/// A schema (field 1), or whether additional properties are allowed (2).
static ADDITIONAL_PROPERTIES: Kind =
    Kind::Choice(by_boolean, &[Kind::Wrapped(1, &SCHEMA_OR_REFERENCE), Kind::Wrapped(2, &Kind::Bool)]);

/// A number, a boolean or a string; the message does not support other types.
static DEFAULT: Kind = Kind::Choice(
    |value: &Value| match value {
        Value::Number(_) => 0,
        Value::Bool(_) => 1,
        Value::String(_) => 2,
        _ => usize::MAX,
    },
    &[Kind::Wrapped(1, &Kind::Double), Kind::Wrapped(2, &Kind::Bool), Kind::Wrapped(3, &Kind::Text)],
);
