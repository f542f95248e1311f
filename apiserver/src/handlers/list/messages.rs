//! A list in protobuf: its size precedes its objects, and it is sent in pieces.

use registry_core::api::StatusError;
use registry_core::codec::protobuf::{self, ListFrame, ListMetadata};
use registry_core::storage::{ListPage, Rest, StoredObject};
use responses::negotiation::{Output, ResponseShape};
use responses::{self, Response};

use super::super::call::Call;
use super::super::representation::Item;
use super::super::representation::protobuf::Messages;
use super::body::{ListBody, MessageWriter, Writer};
use super::next_of;

#[cfg(test)]
mod tests;

/// Number of bytes of JSON that are converted to messages before yielding to other requests.
const TURN_BYTES: usize = 256 * 1024;

/// Returns a page of objects. Its size precedes its first object, so every message is encoded, or found in
/// the cache, once before anything is sent; each is then sent from the cache. A message that the full cache
/// did not take is encoded again: no list is ever in memory as a whole.
pub(super) async fn response(
    call: &Call<'_>,
    output: &Output,
    page: ListPage,
) -> Result<Response, StatusError> {
    let messages = Messages::new(call, output.shape)?;
    let kind = match output.shape {
        ResponseShape::PartialList(_) => "PartialObjectMetadataList",
        _ => call.route.path.capabilities.lister.as_ref().map_or("", |lister| lister.list_kind()),
    };
    let items_len = items_len(&messages, &page).await?;
    let revision = page.revision.to_string();
    let continue_token = page.continue_token.as_deref().unwrap_or_default();
    let shard = page.shard.as_ref().filter(|_| output.shape == ResponseShape::Whole);
    let metadata = ListMetadata {
        shard: shard.map_or("", |shard| shard.text()),
        resource_version: &revision,
        continue_token,
        remaining: page
            .remaining
            .filter(|_| page.continue_token.is_some())
            .and_then(|remaining| i64::try_from(remaining).ok()),
    };
    let frame = ListFrame::new(&messages.api_version, kind, &metadata, items_len);
    let size_bytes = frame.prefix.len() + items_len + frame.suffix.len();
    Ok(responses::stream(output, body(frame, messages, page, items_len), size_bytes))
}

/// Returns a body of the messages of a page's objects, which have this size, in a list's frame.
fn body(frame: ListFrame, messages: Messages, page: ListPage, items_len: usize) -> ListBody {
    let writer = Writer::Protobuf(MessageWriter::new(messages, items_len));
    ListBody::new(frame.prefix, page, writer, frame.suffix.to_vec())
}

/// Returns the size of a page's objects in a list. Yields to other requests in between.
async fn items_len(messages: &Messages, page: &ListPage) -> Result<usize, StatusError> {
    let mut items_len = part_len(messages, &page.items).await?;
    let mut rest = page.rest.as_ref().map(Rest::stream);
    while let Some(items) = next_of(&mut rest).await? {
        items_len += part_len(messages, &items).await?;
    }
    Ok(items_len)
}

async fn part_len(messages: &Messages, items: &[StoredObject]) -> Result<usize, StatusError> {
    let mut items_len = 0;
    let mut turn_bytes = 0;
    for entry in items {
        items_len += protobuf::item_len(messages.message(&Item::stored(entry))?.len());
        turn_bytes += entry.json().len();
        if turn_bytes >= TURN_BYTES {
            turn_bytes = 0;
            tokio::task::yield_now().await;
        }
    }
    Ok(items_len)
}
