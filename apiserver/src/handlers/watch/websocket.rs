//! Watches over WebSocket (RFC 6455). Each event is a message: text for JSON, bytes for other formats.
//!
//! Clients send nothing but pings, pongs and the end. Other messages are read and dropped, and frames that break the
//! protocol end the connection. Requests need no `Origin`, which only browsers always send.
//!
//! Kubernetes concept: `WatchServer.HandleWS` in `k8s.io/apiserver/pkg/endpoints/handlers`.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{Buf as _, Bytes};
use futures::{Stream, StreamExt as _};
use http::header::{
    CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyStream;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use registry_core::api::StatusError;
use responses::negotiation::Format;
use responses::{Delivery, Response, ResponseBody};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::super::call::Call;
use super::body::WatchBody;

mod incoming;

use incoming::Wish;

/// The text that the key of a handshake is hashed with.
const HANDSHAKE: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The version of the protocol.
const VERSION: &str = "13";
/// Maximum time for the client to upgrade.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for a client to take a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of pongs that wait to be sent.
const WAITING_PONGS: usize = 4;
/// Number of bytes before a message in a stream of protobuf: its length, which a WebSocket message has itself.
const LENGTH_BYTES: usize = 4;

/// The bit of the last frame of a message.
const FINAL: u8 = 0x80;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PONG: u8 = 10;
/// The code of a connection that ends as intended.
const NORMAL: u16 = 1000;

/// Returns the events of a watch, one at a time.
pub(super) fn messages(events: WatchBody, format: Format) -> impl Stream<Item = Bytes> + Send + 'static {
    let frames = BodyStream::new(events.single());
    frames.filter_map(move |frame| async move {
        let Ok(frame) = frame;
        let mut event = frame.into_data().ok()?;
        Some(message(event.copy_to_bytes(event.remaining()), format))
    })
}

/// Returns the message of an event's frame.
pub(super) fn message(mut frame: Bytes, format: Format) -> Bytes {
    if format == Format::Protobuf {
        frame.advance(LENGTH_BYTES.min(frame.len()));
    }
    frame
}

/// Responds with the upgrade, and then sends the messages.
///
/// # Errors
/// 400: the connection cannot be upgraded, or the handshake is not one of WebSocket.
pub(super) fn open(
    call: &Call<'_>,
    messages: impl Stream<Item = Bytes> + Send + 'static,
    format: Format,
) -> Result<Response, StatusError> {
    let upgrade = call.upgrade.cloned();
    let upgrade = upgrade.ok_or_else(|| StatusError::bad_request("Upgrade request required"))?;
    let (until_end, kept) = oneshot::channel();
    let mut response = Response::new(ResponseBody::from(Delivery::Upgraded(Some(until_end))));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = handshake(call.headers)?;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.stream_media_type()));
    let opcode = if format == Format::Json { TEXT } else { BINARY };
    tokio::spawn(async move {
        let _kept = kept;
        serve(upgrade, messages, opcode).await;
    });
    Ok(response)
}

/// Returns the headers of the response to a handshake.
fn handshake(asked: &HeaderMap) -> Result<HeaderMap, StatusError> {
    let refused = |why: &str| Err(StatusError::bad_request(format!("websocket handshake failed: {why}")));
    if asked.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
        return refused("missing or bad WebSocket Version");
    }
    let Some(key) = asked.get(SEC_WEBSOCKET_KEY).filter(|key| !key.is_empty()) else {
        return refused("missing Sec-WebSocket-Key");
    };
    let hashed = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key.as_bytes(), HANDSHAKE.as_bytes()].concat());
    let Ok(accept) = HeaderValue::from_str(&BASE64_STANDARD.encode(hashed)) else {
        return refused("bad Sec-WebSocket-Key");
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    let mut protocols = asked.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    if let Some(protocol) = protocols.next() {
        // The events are the same with any subprotocol; the client chooses which.
        if protocols.next().is_some() || protocol.as_bytes().contains(&b',') {
            return refused("missing or bad WebSocket-Protocol");
        }
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol.clone());
    }
    Ok(headers)
}

/// Sends messages until there are no more, or the client leaves.
async fn serve(upgrade: OnUpgrade, messages: impl Stream<Item = Bytes>, opcode: u8) {
    let stream = match timeout(UPGRADE_TIMEOUT, upgrade).await {
        Ok(Ok(stream)) => TokioIo::new(stream),
        Ok(Err(error)) => return tracing::debug!("an upgrade came to nothing: {error}"),
        Err(_) => return tracing::debug!("an upgrade took too long"),
    };
    let (reader, mut writer) = tokio::io::split(stream);
    let (wishes, mut wished) = mpsc::channel(WAITING_PONGS);
    let _reading = AbortOnDropHandle::new(tokio::spawn(incoming::read(reader, wishes)));
    let mut messages = std::pin::pin!(messages);
    let end = loop {
        let (opcode, payload) = tokio::select! {
            wish = wished.recv() => match wish {
                Some(Wish::Pong(payload)) => (PONG, payload),
                Some(Wish::Close(code)) => break code,
                None => break NORMAL,
            },
            message = messages.next() => match message {
                Some(message) => (opcode, message),
                None => break NORMAL,
            },
        };
        if let Err(error) = send(&mut writer, opcode, &payload).await {
            return tracing::debug!("a watch over WebSocket ended: {error}");
        }
    };
    // The client may have left.
    let _ = send(&mut writer, CLOSE, &end.to_be_bytes()).await;
    let _ = timeout(SEND_TIMEOUT, writer.shutdown()).await;
}

/// Writes a frame, which is not masked.
async fn send(writer: &mut (impl AsyncWrite + Unpin), opcode: u8, payload: &[u8]) -> std::io::Result<()> {
    let mut head = vec![FINAL | opcode];
    if let Ok(length) = u8::try_from(payload.len())
        && length < 126
    {
        head.push(length);
    } else if let Ok(length) = u16::try_from(payload.len()) {
        head.push(126);
        head.extend(length.to_be_bytes());
    } else {
        head.push(127);
        head.extend((payload.len() as u64).to_be_bytes());
    }
    let write = async {
        writer.write_all(&head).await?;
        writer.write_all(payload).await?;
        writer.flush().await
    };
    timeout(SEND_TIMEOUT, write).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_are_answered_as_the_protocol_says() {
        let mut asked = HeaderMap::new();
        assert!(handshake(&asked).is_err(), "no version");
        asked.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        assert!(handshake(&asked).is_err(), "no key");
        // The example of RFC 6455.
        asked.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ=="));
        let answer = handshake(&asked).unwrap();
        assert_eq!(answer[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(answer.get(SEC_WEBSOCKET_PROTOCOL), None);
        asked.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("base64.binary.k8s.io"));
        assert_eq!(handshake(&asked).unwrap()[SEC_WEBSOCKET_PROTOCOL], "base64.binary.k8s.io");
        asked.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("a, b"));
        assert!(handshake(&asked).is_err(), "two subprotocols");
        asked.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("8"));
        assert!(handshake(&asked).is_err(), "an old version");
    }
}
