//! The messages of `openapi.v2` that documents of this server use.

use serde_json::Value;

use super::{Kind, Message, by_boolean, by_reference};

static TEXTS: Kind = Kind::List(&Kind::Text);
static SCHEMA_KIND: Kind = Kind::Message(&SCHEMA);
static SECURITY: Kind = Kind::List(&Kind::Map(1, &Kind::Wrapped(1, &TEXTS)));

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Kind::Text),
        ("info", 2, Kind::Message(&INFO)),
        ("schemes", 5, TEXTS),
        ("consumes", 6, TEXTS),
        ("produces", 7, TEXTS),
        ("paths", 8, Kind::Map(2, &Kind::Message(&PATH_ITEM))),
        ("definitions", 9, Kind::Map(1, &SCHEMA_KIND)),
        ("parameters", 10, Kind::Map(1, &PARAMETER)),
        ("security", 12, SECURITY),
        ("securityDefinitions", 13, Kind::Map(1, &Kind::Wrapped(2, &Kind::Message(&API_KEY)))),
    ],
    extensions: 16,
};

static INFO: Message =
    Message { fields: &[("title", 1, Kind::Text), ("version", 2, Kind::Text)], extensions: 7 };

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, Kind::Text),
        ("name", 2, Kind::Text),
        ("in", 3, Kind::Text),
        ("description", 4, Kind::Text),
    ],
    extensions: 5,
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 2, Kind::Message(&OPERATION)),
        ("put", 3, Kind::Message(&OPERATION)),
        ("post", 4, Kind::Message(&OPERATION)),
        ("delete", 5, Kind::Message(&OPERATION)),
        ("options", 6, Kind::Message(&OPERATION)),
        ("head", 7, Kind::Message(&OPERATION)),
        ("patch", 8, Kind::Message(&OPERATION)),
        ("parameters", 9, PARAMETERS),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, TEXTS),
        ("description", 3, Kind::Text),
        ("operationId", 5, Kind::Text),
        ("produces", 6, TEXTS),
        ("consumes", 7, TEXTS),
        ("parameters", 8, PARAMETERS),
        ("responses", 9, Kind::Map(1, &Kind::Wrapped(1, &Kind::Message(&RESPONSE)))),
        ("schemes", 10, TEXTS),
        ("deprecated", 11, Kind::Bool),
        ("security", 12, SECURITY),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Kind::Text), ("schema", 2, Kind::Wrapped(1, &SCHEMA_KIND))],
    extensions: 5,
};

/// Elements are parameters (field 1) or references (2).
static PARAMETERS: Kind = Kind::List(&Kind::Choice(
    by_reference,
    &[Kind::Wrapped(1, &PARAMETER), Kind::Wrapped(2, &Kind::Message(&REFERENCE))],
));

/// In the body (field 1), or elsewhere (2), with a further choice by location.
static PARAMETER: Kind = Kind::Choice(
    |value: &Value| match value.get("in").and_then(Value::as_str) {
        Some("body") => 0,
        Some("header") => 1,
        Some("path") => 2,
        _ => 3,
    },
    &[
        Kind::Wrapped(1, &Kind::Message(&BODY_PARAMETER)),
        Kind::Wrapped(2, &Kind::Wrapped(1, &Kind::Message(&PATH_PARAMETER))),
        Kind::Wrapped(2, &Kind::Wrapped(4, &Kind::Message(&PATH_PARAMETER))),
        Kind::Wrapped(2, &Kind::Wrapped(3, &Kind::Message(&QUERY_PARAMETER))),
    ],
);

static REFERENCE: Message =
    Message { fields: &[("$ref", 1, Kind::Text), ("description", 2, Kind::Text)], extensions: 0 };

static BODY_PARAMETER: Message = Message {
    fields: &[
        ("description", 1, Kind::Text),
        ("name", 2, Kind::Text),
        ("in", 3, Kind::Text),
        ("required", 4, Kind::Bool),
        ("schema", 5, SCHEMA_KIND),
    ],
    extensions: 6,
};

/// Parameters in the path or in a header, which have the same field numbers.
static PATH_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Kind::Bool),
        ("in", 2, Kind::Text),
        ("description", 3, Kind::Text),
        ("name", 4, Kind::Text),
        ("type", 5, Kind::Text),
        ("format", 6, Kind::Text),
        ("uniqueItems", 19, Kind::Bool),
    ],
    extensions: 22,
};

static QUERY_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Kind::Bool),
        ("in", 2, Kind::Text),
        ("description", 3, Kind::Text),
        ("name", 4, Kind::Text),
        ("type", 6, Kind::Text),
        ("format", 7, Kind::Text),
        ("uniqueItems", 20, Kind::Bool),
    ],
    extensions: 23,
};

static EXTERNAL_DOCS: Message =
    Message { fields: &[("description", 1, Kind::Text), ("url", 2, Kind::Text)], extensions: 3 };

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Kind::Text),
        ("format", 2, Kind::Text),
        ("title", 3, Kind::Text),
        ("description", 4, Kind::Text),
        ("default", 5, Kind::Any),
        ("multipleOf", 6, Kind::Double),
        ("maximum", 7, Kind::Double),
        ("exclusiveMaximum", 8, Kind::Bool),
        ("minimum", 9, Kind::Double),
        ("exclusiveMinimum", 10, Kind::Bool),
        ("maxLength", 11, Kind::Integer),
        ("minLength", 12, Kind::Integer),
        ("pattern", 13, Kind::Text),
        ("maxItems", 14, Kind::Integer),
        ("minItems", 15, Kind::Integer),
        ("uniqueItems", 16, Kind::Bool),
        ("maxProperties", 17, Kind::Integer),
        ("minProperties", 18, Kind::Integer),
        ("required", 19, TEXTS),
        ("enum", 20, Kind::List(&Kind::Any)),
        ("additionalProperties", 21, ADDITIONAL_PROPERTIES),
        ("type", 22, Kind::Wrapped(1, &Kind::Text)),
        ("items", 23, Kind::Wrapped(1, &SCHEMA_KIND)),
        ("allOf", 24, Kind::List(&SCHEMA_KIND)),
        ("properties", 25, Kind::Map(1, &SCHEMA_KIND)),
        ("readOnly", 27, Kind::Bool),
        ("externalDocs", 29, Kind::Message(&EXTERNAL_DOCS)),
        ("example", 30, Kind::Any),
    ],
    extensions: 31,
};

/// A schema (field 1), or whether additional properties are allowed (2).
static ADDITIONAL_PROPERTIES: Kind =
    Kind::Choice(by_boolean, &[Kind::Wrapped(1, &SCHEMA_KIND), Kind::Wrapped(2, &Kind::Bool)]);
