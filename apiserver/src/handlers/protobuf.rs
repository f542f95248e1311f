//! Answers in protobuf: what JSON bytes stand for, as messages.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::protobuf::{self, ListFrame, ListMetadata};
use registry_core::schema::{Schema, TypeTable};
use registry_core::storage::{Encoding, EncodingBudget, ListPage};
use serde_json::Value;

use super::call::Call;
use super::items::{Item, Part};
use super::negotiation::{Output, Shape};
use super::respond;

mod body;
#[cfg(test)]
mod tests;

use body::MessagesBody;

const PARTIAL: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";

/// How many bytes of JSON are turned into messages before other requests get their turn.
const TURN_BYTES: usize = 256 * 1024;

/// How objects of one kind become messages.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    pub(super) api_version: Box<str>,
    pub(super) kind: &'static str,
    part: Part,
    schema: Schema,
    budget: Arc<EncodingBudget>,
}

// === impl Messages ===

impl Messages {
    /// For a route's objects, in the shape the client wants.
    ///
    /// # Errors
    /// 406 for what has no protobuf.
    pub(super) fn new(call: &Call<'_>, shape: Shape) -> Result<Self, StatusError> {
        let budget = call.api.config.encodings.clone();
        match shape {
            Shape::Partial(version) | Shape::PartialList(version) => Ok(Self {
                api_version: version.api_version().into(),
                kind: "PartialObjectMetadata",
                part: Part::Metadata,
                schema: meta_schema(PARTIAL)?,
                budget,
            }),
            Shape::Whole if call.formats().protobuf => Ok(Self {
                api_version: call.route.api_version.clone(),
                kind: call.route.kind.kind,
                part: Part::Whole,
                schema: call.route.path.capabilities.storage.schema().clone(),
                budget,
            }),
            Shape::Whole | Shape::Table(_) => Err(no_protobuf()),
        }
    }

    /// An object's message, which is the same for everybody who asks.
    pub(super) fn message(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        let encoding = match self.part {
            Part::Whole => Encoding::Protobuf,
            Part::Metadata => Encoding::MetadataProtobuf,
        };
        item.in_encoding(encoding, &self.budget, || {
            let fields = item.fields(self.part)?;
            Ok(protobuf::encode_message(&Value::Object(fields), &self.schema))
        })
    }

    /// An object in its envelope.
    pub(super) fn envelope(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        Ok(protobuf::envelope(&self.api_version, self.kind, &self.message(item)?))
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

/// A page of objects. Its size comes before its first object, so every message is made, or found made, once before
/// anything is sent; while it is sent each is taken from where it was kept. One that was not, because too much is
/// kept already, is made again: no list is ever in memory as a whole.
pub(super) async fn list(
    call: &Call<'_>,
    output: &Output,
    page: ListPage,
) -> Result<Response<Body>, StatusError> {
    let messages = Messages::new(call, output.shape)?;
    let kind = match output.shape {
        Shape::PartialList(_) => "PartialObjectMetadataList",
        _ => call.route.path.capabilities.lister.as_ref().map_or("", |lister| lister.list_kind()),
    };
    let items_len = items_len(&messages, &page).await?;
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
    Ok(respond::stream(output, MessagesBody::new(frame, messages, page.items, size_bytes), size_bytes))
}

/// How many bytes a page's objects take in a list. Thousands of them take a while, in which others get their turns.
async fn items_len(messages: &Messages, page: &ListPage) -> Result<usize, StatusError> {
    let (mut items_len, mut turn_bytes) = (0, 0);
    for entry in &page.items {
        items_len += protobuf::item_len(messages.message(&Item::stored(entry))?.len());
        turn_bytes += entry.json.len();
        if turn_bytes >= TURN_BYTES {
            turn_bytes = 0;
            tokio::task::yield_now().await;
        }
    }
    Ok(items_len)
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
