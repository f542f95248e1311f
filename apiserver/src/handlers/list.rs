//! `list`: a page as a stream of shared slices.

use futures::StreamExt;
use http_body::Body as _;
use registry_core::api::selector::FieldRequirement;
use registry_core::api::{ListOptions, StatusError};
use registry_core::codec::cbor;
use registry_core::context::AuditLevel;
use registry_core::storage::{ListPage, StoredObject};
use registry_core::storage::{Rest, RestStream};
use responses::Response;
use responses::negotiation::{Endpoint, Format, Output};
use responses::{self, yaml};
use serde_json::{Map, Value, json};

use registry_core::json_fields::put;

use super::call::Call;
use super::options::{ListPurpose, list_options, shard_selector};
use super::representation::ItemForm;
use super::representation::cbor::Maps;
use super::routing::method_not_allowed;

mod body;
mod messages;
#[cfg(test)]
mod tests;

use body::{ListBody, Writer};

/// Handles a list.
pub(super) async fn list(call: &Call<'_>) -> Result<Response, StatusError> {
    let lister = call.route.path.capabilities.lister.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Collection)?;
    let options = selection(call, ListPurpose::List)?;
    let page = lister.list_in_parts(call.context, &options).await?;
    list_response(call, &output, page).await
}

/// Returns the list options of a request. A name in the path (`/watch/…/{name}`), which is what the request was
/// authorised for, is always one of the requirements.
///
/// # Errors
/// 400 if a field selector does not require the name in the path.
pub(super) fn selection(call: &Call<'_>, purpose: ListPurpose) -> Result<ListOptions, StatusError> {
    let mut options = list_options(call.query, purpose)?;
    if call.api.config.shards {
        options.shard_selector = shard_selector(call.query)?;
    }
    if call.name.is_empty() {
        return Ok(options);
    }
    let selector = &mut options.field_selector;
    if selector.requirements.is_empty() {
        let (path, value) = ("metadata.name".to_owned(), call.name.to_owned());
        selector.requirements.push(FieldRequirement { path, value, equal: true });
    } else if selector.required_value("metadata.name") != Some(call.name) {
        return Err(StatusError::bad_request("fieldSelector metadata.name doesn't match requested name"));
    }
    Ok(options)
}

/// Returns a page in the form that the client requests.
pub(super) async fn list_response(
    call: &Call<'_>,
    output: &Output,
    page: ListPage,
) -> Result<Response, StatusError> {
    let form = ItemForm::for_list(call, output)?;
    record(call, output, &page).await?;
    let size_hint_bytes = page.items.iter().map(|entry| entry.json().len()).sum();
    let body = match output.format {
        Format::Json => json_list(call, form, page),
        Format::Yaml => yaml_body(ListHead::new(call, &form), form, page)?,
        Format::Cbor => cbor_body(call, form, page).await?,
        Format::Protobuf => return messages::response(call, output, page).await,
    };
    Ok(responses::stream(output, body.begun()?, size_hint_bytes))
}

/// Records a list for the audit log. One that is too large, alone or with what is recorded of other requests, is not
/// recorded, and annotated as truncated.
async fn record(call: &Call<'_>, output: &Output, page: &ListPage) -> Result<(), StatusError> {
    let Some(record) = call.context.audit_at(AuditLevel::RequestResponse) else { return Ok(()) };
    let mut body = json_list(call, ItemForm::for_list(call, output)?, page.clone());
    let mut frames = futures::stream::poll_fn(move |task| std::pin::Pin::new(&mut body).poll_frame(task));
    let mut list = record.begin_list();
    while let Some(frame) = frames.next().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if !list.add(&piece) {
            return Ok(());
        }
    }
    list.end();
    Ok(())
}

/// The beginning of a list, before its items.
#[derive(Clone, Copy)]
struct ListHead<'a> {
    /// The first bytes of the list in JSON, including the opening brace of its metadata.
    json: &'a [u8],
    /// Whether it is a list of whole custom resources.
    is_custom: bool,
}

// === impl ListHead ===

impl<'a> ListHead<'a> {
    fn new(call: &Call<'a>, form: &ItemForm) -> Self {
        let is_custom = call.route.is_custom() && matches!(form, ItemForm::Whole);
        Self { json: call.route.list_head.as_deref().unwrap_or_default(), is_custom }
    }
}

fn json_list(call: &Call<'_>, form: ItemForm, page: ListPage) -> ListBody {
    let list_head = ListHead::new(call, &form);
    if list_head.is_custom {
        custom_json_body(call, form, page)
    } else {
        json_body(list_head.json, form, page)
    }
}

fn json_body(list_head: &[u8], form: ItemForm, page: ListPage) -> ListBody {
    let mut prefix = Vec::with_capacity(list_head.len() + 64);
    let metadata = page_metadata(&page, &form);
    match &form {
        ItemForm::Whole | ItemForm::Tail => {
            prefix.extend_from_slice(list_head);
            // The head ends with the opening brace of the metadata.
            prefix.extend_from_slice(metadata.trim_start_matches('{').as_bytes());
            prefix.extend_from_slice(b",\"items\":[");
        }
        ItemForm::Partial(partial) => {
            let api_version = partial.version.api_version();
            let head = format!(
                "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"{api_version}\",\
                 \"metadata\":{metadata},\"items\":"
            );
            prefix.extend_from_slice(head.as_bytes());
            // Kubernetes does not set the items of a list without any.
            if is_empty(&page) {
                return ListBody::new(prefix, page, Writer::Json(form), b"null}\n".to_vec());
            }
            prefix.push(b'[');
        }
        ItemForm::Row(table) => table.write_head(&mut prefix, &metadata, true),
    }
    ListBody::new(prefix, page, Writer::Json(form), b"]}\n".to_vec())
}

/// Returns a list of custom resources, which has no Go struct in Kubernetes: all its fields are sorted by name.
fn custom_json_body(call: &Call<'_>, form: ItemForm, page: ListPage) -> ListBody {
    let lister = call.route.path.capabilities.lister.as_ref();
    let list_kind = lister.map_or("", |lister| lister.list_kind());
    let prefix = format!("{{\"apiVersion\":\"{}\",\"items\":[", call.route.api_version);
    let suffix = format!("],\"kind\":\"{list_kind}\",\"metadata\":{}}}\n", custom_page_metadata(&page));
    ListBody::new(prefix.into_bytes(), page, Writer::Json(form), suffix.into_bytes())
}

/// Keys of YAML are sorted, so the items are between the fields before and after them.
fn yaml_body(list_head: ListHead<'_>, form: ItemForm, page: ListPage) -> Result<ListBody, StatusError> {
    let field = items_field(&form);
    let fields = head(list_head, &form, &page)?;
    let (before, after): (Map<_, _>, Map<_, _>) =
        fields.into_iter().partition(|(key, _)| key.as_str() < field);
    let mut prefix = String::new();
    yaml::write_fields(&mut prefix, &before, 0, false);
    prefix.push_str(field);
    prefix.push_str(match &form {
        _ if !is_empty(&page) => ":\n",
        ItemForm::Partial(_) => ": null\n",
        _ => ": []\n",
    });
    let mut suffix = String::new();
    yaml::write_fields(&mut suffix, &after, 0, false);

    let prefix = prefix.into_bytes();
    let suffix = suffix.into_bytes();
    Ok(ListBody::new(prefix, page, Writer::Yaml(form), suffix))
}

/// Writes the number of items before them, but not their size.
async fn cbor_body(call: &Call<'_>, form: ItemForm, page: ListPage) -> Result<ListBody, StatusError> {
    let head = head(ListHead::new(call, &form), &form, &page)?;
    let mut count = page.items.len();
    let mut rest = page.rest.as_ref().map(Rest::stream);
    while let Some(items) = next_of(&mut rest).await? {
        count += items.len();
    }
    let prefix = cbor::list_prefix(&head, items_field(&form), count);
    Ok(ListBody::new(prefix, page, Writer::Cbor(Maps::new(call, form)), Vec::new()))
}

/// Returns the next batch of a page's rest, if there is one.
async fn next_of(rest: &mut Option<RestStream>) -> Result<Option<Vec<StoredObject>>, StatusError> {
    match rest {
        Some(rest) => rest.next().await.transpose(),
        None => Ok(None),
    }
}

fn is_empty(page: &ListPage) -> bool {
    page.items.is_empty() && page.rest.is_none()
}

fn items_field(form: &ItemForm) -> &'static str {
    if matches!(form, ItemForm::Row(_)) { "rows" } else { "items" }
}

/// Returns a list without its items.
///
/// # Errors
/// 500 if the head is not that of an object.
fn head(
    list_head: ListHead<'_>,
    form: &ItemForm,
    page: &ListPage,
) -> Result<Map<String, Value>, StatusError> {
    let metadata =
        if list_head.is_custom { custom_page_metadata(page).to_string() } else { page_metadata(page, form) };
    let metadata: Value = serde_json::from_str(&metadata).map_err(StatusError::internal)?;
    let head = match form {
        ItemForm::Row(table) => table.head(&metadata),
        ItemForm::Partial(partial) => json!({
            "kind": "PartialObjectMetadataList", "apiVersion": partial.version.api_version(), "metadata": metadata,
        }),
        ItemForm::Whole | ItemForm::Tail => {
            let closed = [list_head.json, b"}}"].concat();
            let mut head: Value = serde_json::from_slice(&closed).map_err(StatusError::internal)?;
            put(&mut head, "metadata", metadata);
            head
        }
    };
    match head {
        Value::Object(head) => Ok(head),
        _ => Err(StatusError::internal("a list's head is not an object")),
    }
}

/// Returns the metadata of a list. Only lists of whole objects name their shard.
fn page_metadata(page: &ListPage, form: &ItemForm) -> String {
    use std::fmt::Write;
    let mut text = format!("{{\"resourceVersion\":\"{}\"", page.revision);
    // Writing to a string cannot fail.
    if let Some(token) = &page.continue_token {
        let _ = write!(text, ",\"continue\":{}", Value::from(token.as_str()));
    }
    if let Some(remaining) = remaining_items(page) {
        let _ = write!(text, ",\"remainingItemCount\":{remaining}");
    }
    if let (Some(shard), ItemForm::Whole | ItemForm::Tail) = (&page.shard, form) {
        let _ = write!(text, ",\"shardInfo\":{{\"selector\":{}}}", Value::from(&**shard.text()));
    }
    text.push('}');
    text
}

/// Returns the metadata of a list of custom resources, in which `continue` is never omitted.
fn custom_page_metadata(page: &ListPage) -> Value {
    let token = page.continue_token.as_ref().map_or("", |token| token.as_str());
    let mut metadata = json!({ "continue": token, "resourceVersion": page.revision.to_string() });
    if let Some(remaining) = remaining_items(page) {
        put(&mut metadata, "remainingItemCount", remaining);
    }
    metadata
}

fn remaining_items(page: &ListPage) -> Option<u64> {
    page.remaining.filter(|_| page.continue_token.is_some())
}
