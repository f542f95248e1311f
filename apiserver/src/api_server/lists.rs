//! Objects and lists.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use registry_core::api::Object;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::exchange::{Answer, Bounds, Refusal, exchange, status_object};
use super::{ApiServer, ApiServerError};

/// The bounds of a read.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(30), max_bytes: 256 << 20 };
/// Maximum number of objects of a page.
const PAGE_OBJECTS: u64 = 500;

/// A page of a list.
pub(crate) struct Page {
    /// The revision of the list.
    pub(crate) revision: u64,
    /// The objects, without their type.
    pub(crate) items: Vec<Object>,
    /// The token of the next page.
    pub(crate) continue_token: Option<String>,
}

#[derive(Deserialize)]
struct ListAnswer {
    metadata: ListMetadata,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

/// Reads one object; `None` if there is none.
pub(crate) async fn get(server: &dyn ApiServer, path: &str) -> Result<Option<Object>, ApiServerError> {
    match read(server, path).await {
        Ok(body) => object(parse(&body)?).map(Some),
        Err(ApiServerError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a document.
pub(crate) async fn document<T: DeserializeOwned>(
    server: &dyn ApiServer,
    path: &str,
) -> Result<T, ApiServerError> {
    parse(&read(server, path).await?)
}

/// Reads a page of the list at a path with a query that ends in `?` or `&`.
pub(crate) async fn page(
    server: &dyn ApiServer,
    path: &str,
    continue_token: Option<&str>,
) -> Result<Page, ApiServerError> {
    let mut target = format!("{path}limit={PAGE_OBJECTS}");
    if let Some(token) = continue_token {
        target.push_str("&continue=");
        push_encoded(&mut target, token);
    }
    let ListAnswer { metadata, items } = parse(&read(server, &target).await?)?;
    let items: Result<Vec<Object>, ApiServerError> = items.into_iter().map(object).collect();
    Ok(Page {
        revision: number(&metadata.resource_version)?,
        items: items?,
        continue_token: metadata.continue_token.filter(|token| !token.is_empty()),
    })
}

/// Appends a value to a query.
fn push_encoded(target: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(target, "%{byte:02X}");
        }
    }
}

async fn read(server: &dyn ApiServer, target: &str) -> Result<Bytes, ApiServerError> {
    let Answer { status, body } = exchange(server, request(target)?, BOUNDS).await?;
    if status.is_success() { Ok(body) } else { Err(refusal(status, &status_object(&body))) }
}

/// Returns the request of a path and query.
pub(super) fn request(target: &str) -> Result<Request<Full<Bytes>>, ApiServerError> {
    let request = Request::get(target).body(Full::new(Bytes::new()));
    request.map_err(|error| ApiServerError::Request(error.into()))
}

/// Returns the error of an answer without success.
pub(super) fn refusal(code: StatusCode, status: &Value) -> ApiServerError {
    let Refusal { message, .. } = Refusal::new(code, status);
    match code {
        StatusCode::NOT_FOUND => ApiServerError::NotFound(message),
        StatusCode::GONE => ApiServerError::Gone(message),
        _ => ApiServerError::Refused(message),
    }
}

pub(super) fn parse<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, ApiServerError> {
    serde_json::from_slice(body).map_err(|error| ApiServerError::Unreadable(error.into()))
}

pub(super) fn object(value: Value) -> Result<Object, ApiServerError> {
    Object::from_value(value).map_err(|_| ApiServerError::NoObjects)
}

fn number(text: &str) -> Result<u64, ApiServerError> {
    text.parse().map_err(|_| ApiServerError::Revision(text.to_owned()))
}

/// Returns the revision of an object.
pub(crate) fn revision_of(object: &Object) -> Result<u64, ApiServerError> {
    number(object.resource_version())
}
