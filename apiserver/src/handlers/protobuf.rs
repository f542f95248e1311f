//! Answers in protobuf: what JSON bytes stand for, as messages.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::protobuf::{self, ListFrame, ListMetadata};
use registry_core::codec::stored;
use registry_core::schema::{Schema, TypeTable};
use registry_core::storage::ListPage;
use serde_json::Value;

use super::call::Call;
use super::items::{Item, ItemForm};
use super::negotiation::{Output, Shape};
use super::respond;

mod body;
#[cfg(test)]
mod tests;

use body::MessagesBody;

const PARTIAL: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";

/// How objects of one kind become messages.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    pub(super) api_version: Box<str>,
    pub(super) kind: &'static str,
    form: ItemForm,
    schema: Schema,
}

// === impl Messages ===

impl Messages {
    /// For a route's objects, in the shape the client wants.
    ///
    /// # Errors
    /// 406 for what has no protobuf.
    pub(super) fn new(call: &Call<'_>, shape: Shape) -> Result<Self, StatusError> {
        match shape {
            Shape::Partial(version) | Shape::PartialList(version) => Ok(Self {
                api_version: version.api_version().into(),
                kind: "PartialObjectMetadata",
                form: ItemForm::Partial(version),
                schema: meta_schema(PARTIAL)?,
            }),
            Shape::Whole if call.has_protobuf() => Ok(Self {
                api_version: call.route.api_version.clone(),
                kind: call.route.kind.kind,
                form: ItemForm::Whole,
                schema: call.route.path.capabilities.storage.schema().clone(),
            }),
            Shape::Whole | Shape::Table(_) => Err(no_protobuf()),
        }
    }

    /// An object's message. One that is stored is the same for everybody who asks: this is where one made before
    /// would be taken from.
    pub(super) fn message(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        let decoded = match &self.form {
            ItemForm::Whole | ItemForm::Tail => stored::decode(item.json),
            form => {
                let mut json = Vec::with_capacity(item.json.len());
                form.write(&mut json, item);
                stored::decode(&json)
            }
        };
        let object = decoded.map_err(StatusError::internal)?;
        Ok(protobuf::encode_message(&object.into_value(), &self.schema))
    }
}

/// A value that says what it is, in its envelope; `None` when it has no protobuf. `table` is searched before the
/// types all servers have.
pub(super) fn envelope(value: &Value, table: Option<&Arc<TypeTable>>) -> Option<Bytes> {
    let (api_version, kind) = (value.get("apiVersion")?.as_str()?, value.get("kind")?.as_str()?);
    let tables = table.into_iter().chain([TypeTable::meta()]);
    let mut schemas = tables.filter_map(|table| table.schema_of(api_version, kind));
    let schema = schemas.find(Schema::has_protobuf)?;
    Some(protobuf::encode(value, &schema, api_version, kind))
}

/// A page of objects. All messages are made before the first is sent, because their sizes come before them.
pub(super) fn list(call: &Call<'_>, output: &Output, page: &ListPage) -> Result<Response<Body>, StatusError> {
    let messages = Messages::new(call, output.shape)?;
    let kind = match output.shape {
        Shape::PartialList(_) => "PartialObjectMetadataList",
        _ => call.route.path.capabilities.lister.as_ref().map_or("", |lister| lister.list_kind()),
    };
    let items = page.items.iter().map(|entry| messages.message(&Item::stored(entry)));
    let items: Vec<Bytes> = items.collect::<Result<_, _>>()?;
    let items_len = items.iter().map(|message| protobuf::item_len(message.len())).sum();
    let revision = page.revision.to_string();
    let continue_token = page.continue_token.as_deref().unwrap_or_default();
    let metadata = ListMetadata {
        resource_version: &revision,
        continue_token,
        remaining: page
            .remaining
            .filter(|_| page.continue_token.is_some())
            .and_then(|remaining| i64::try_from(remaining).ok()),
    };
    let frame = ListFrame::new(&messages.api_version, kind, &metadata, items_len);
    let size_bytes = frame.prefix.len() + items_len + frame.suffix.len();
    Ok(respond::stream(output, MessagesBody::new(frame, items, size_bytes), size_bytes))
}

/// A failure's message, a `Status`.
pub(super) fn status_message(failure: &StatusError) -> Option<Bytes> {
    let schema = TypeTable::meta().schema_of("v1", "Status")?;
    Some(protobuf::encode_message(&failure.to_value(), &schema))
}

fn meta_schema(name: &str) -> Result<Schema, StatusError> {
    TypeTable::meta().schema_named(name).ok_or_else(no_protobuf)
}

/// 406 for what is asked for in protobuf, and has none.
pub(super) fn no_protobuf() -> StatusError {
    StatusError::new(
        Reason::NotAcceptable,
        "only the following media types are accepted: application/json, application/yaml",
    )
}
