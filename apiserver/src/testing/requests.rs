//! Requests of an administrator, and waits until they have an effect.

use std::time::Duration;

use bytes::Bytes;
use clients::{self, Client, ClientSettings};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::{CallError, TestServer};

/// Maximum time of a request, and size of its answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Maximum time until an object is as expected.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time after which a watch that has ended is begun again.
const PAUSE: Duration = Duration::from_millis(5);

// === impl TestServer ===

impl TestServer {
    /// Sends a request with the rights of an administrator, with a JSON body unless it is `null`, and returns the answer.
    ///
    /// # Errors
    /// Fails if there is no answer of success in time.
    pub async fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, CallError> {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let answered = async {
            let (status, body) = self.open(method, path, body).await?;
            let body = clients::read(body, MAX_ANSWER_BYTES).await?;
            let text = || String::from_utf8_lossy(&body).into_owned();
            if !status.is_success() {
                return Err(CallError::Refused { status, body: text() });
            }
            serde_json::from_slice(&body).map_err(|source| CallError::Json { status, body: text(), source })
        };
        let late = |_| Err(CallError::Late { method: method.to_owned(), path: path.to_owned() });
        timeout(CALL_TIMEOUT, answered).await.unwrap_or_else(late)
    }

    /// Waits until an object is as expected, and returns it. `collection` is the path of the list that has it.
    ///
    /// # Errors
    /// Fails with the object if it is not as expected within half a minute, and if watches are refused.
    pub async fn until(
        &self,
        collection: &str,
        name: &str,
        is_expected: impl Fn(&Value) -> bool,
    ) -> Result<Value, CallError> {
        let deadline = Instant::now() + PATIENCE;
        let mut last = Value::Null;
        loop {
            let watched = self.watch_until(collection, name, &is_expected, &mut last);
            match timeout_at(deadline, watched).await {
                Ok(Ok(true)) => return Ok(last),
                // The watch has ended.
                Ok(Ok(false)) => tokio::time::sleep(PAUSE).await,
                Ok(Err(refused)) => return Err(refused),
                Err(_) => {
                    let (collection, name) = (collection.to_owned(), name.to_owned());
                    return Err(CallError::Stays { collection, name, last });
                }
            }
        }
    }

    /// Follows an object until it is as expected. Returns whether it is.
    async fn watch_until(
        &self,
        collection: &str,
        name: &str,
        is_expected: &impl Fn(&Value) -> bool,
        last: &mut Value,
    ) -> Result<bool, CallError> {
        let path = format!("{collection}?watch=true&fieldSelector=metadata.name%3D{name}");
        let (status, mut events) = self.open("GET", &path, Bytes::new()).await?;
        if !status.is_success() {
            return Err(CallError::Refused { status, body: String::new() });
        }
        let mut unread = Vec::new();
        while let Some(frame) = events.frame().await {
            let Ok(frame) = frame else { break };
            if let Some(data) = frame.data_ref() {
                unread.extend_from_slice(data);
            }
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                let mut event: Value = serde_json::from_slice(&line)?;
                *last = event.get_mut("object").map(Value::take).unwrap_or_default();
                if is_expected(last) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Sends a request. Returns the status and the body of the answer.
    async fn open(&self, method: &str, path: &str, body: Bytes) -> Result<(StatusCode, Incoming), CallError> {
        let request = Request::builder().method(method).uri(path).body(Full::new(body))?;
        let answer = self.client()?.open(request).await?;
        Ok((answer.status(), answer.into_body()))
    }

    fn client(&self) -> Result<&Client, CallError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = ClientSettings::from_kubeconfig(&self.kubeconfig_path).and_then(Client::new)?;
        Ok(self.client.get_or_init(|| client))
    }
}
