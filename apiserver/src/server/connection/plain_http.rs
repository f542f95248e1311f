//! Clients that speak HTTP without TLS: they are told so, as by Go's server.
//!
//! A TLS client begins with a record of the handshake, whose type no method of HTTP begins with. Only connections that
//! begin with another byte are read here.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::unread::read_stream;

/// Type of the TLS record that every connection begins with.
const HANDSHAKE_RECORD: u8 = 22;
/// Number of bytes by which HTTP is recognized.
const BEGINNING_BYTES: usize = 5;
/// The beginnings of requests that Go's server recognizes (`tlsRecordHeaderLooksLikeHTTP`), and of the remaining methods of
/// the API. The last is that of HTTP/2.
const BEGINNINGS: [&[u8; BEGINNING_BYTES]; 8] =
    [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO", b"PATCH", b"DELET", b"PRI *"];
const ANSWER: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
/// Maximum number of bytes and time for reading the rest of the request. The client could lose the response if the
/// connection were closed before.
const MAX_DISCARDED_BYTES: usize = 64 * 1024;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns whether a client begins as TLS does, without taking anything from the stream.
pub(super) async fn begins_with_tls(stream: &TcpStream) -> std::io::Result<bool> {
    let mut first = [0];
    // A client that closes the connection at once is left to the handshake.
    Ok(stream.peek(&mut first).await? == 0 || first == [HANDSHAKE_RECORD])
}

/// Responds to a client that does not begin as TLS does, if it speaks HTTP. Returns whether it does.
pub(super) async fn respond(stream: &mut TcpStream) -> std::io::Result<bool> {
    let mut beginning = [0; BEGINNING_BYTES];
    stream.read_exact(&mut beginning).await?;
    if !BEGINNINGS.contains(&&beginning) {
        return Ok(false);
    }
    stream.write_all(ANSWER).await?;
    stream.shutdown().await?;
    // The response is complete whether or not the client ends its request.
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, read_stream(stream, MAX_DISCARDED_BYTES)).await;
    Ok(true)
}
