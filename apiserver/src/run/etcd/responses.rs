//! The responses of a program without a store.

use serde_json::json;

use crate::version::LONG_VERSION;

/// The place in the response to `/version` of the storage that the server beside it is to use.
pub(in super::super) const STORAGE_POINTER: &str = "/orlop/storage";
/// Its value.
pub(in super::super) const IN_MEMORY: &str = "memory";

/// A part of the text of `etcd --version` by which any version of this program is recognized.
pub(in super::super) const VERSION_MARK: &str = "in the place of etcd";

/// The first line of an HTTP/2 connection, as clients of etcd open it.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// The reason for which clients of etcd are sent away.
const NO_STORE: &str = "this takes the place of etcd and keeps nothing: only a server named kube-apiserver, of the same build, can run beside it";
/// Types of HTTP/2 frames.
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
/// The HTTP/2 error code by which a client learns that it needs HTTP/1.1.
const HTTP_1_1_REQUIRED: u8 = 13;

/// Whether the head of a request is complete, or it is one of HTTP/2.
pub(super) fn is_complete(head: &[u8]) -> bool {
    head.starts_with(HTTP2_PREFACE) || head.windows(4).any(|bytes| bytes == b"\r\n\r\n")
}

/// Returns the response to the head of a request.
pub(super) fn to_request(head: &[u8]) -> Vec<u8> {
    if head.starts_with(HTTP2_PREFACE) {
        return refuse_http2();
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !is_complete(head) || !words.next().is_some_and(|version| version.starts_with("HTTP/1.")) {
        return response("400 Bad Request", "text/plain", "no request of HTTP/1.1\n", true);
    }
    let has_body = method != "HEAD";
    if !matches!(method, "GET" | "HEAD") {
        return response("405 Method Not Allowed", "text/plain", &format!("{NO_STORE}\n"), has_body);
    }
    match target.split('?').next().unwrap_or_default() {
        "/health" => response("200 OK", "application/json", r#"{"health":"true","reason":""}"#, has_body),
        "/livez" | "/readyz" => response("200 OK", "text/plain", "ok\n", has_body),
        "/version" => response("200 OK", "application/json", &version(), has_body),
        _ => response("404 Not Found", "text/plain", &format!("{NO_STORE}\n"), has_body),
    }
}

/// Returns the text of `etcd --version`.
pub(super) fn version_text() -> String {
    format!("etcd Version: none\norlop {LONG_VERSION}, {VERSION_MARK}\n")
}

fn version() -> String {
    let storage = json!({"version": env!("CARGO_PKG_VERSION"), "storage": IN_MEMORY});
    json!({"etcdserver": "none", "etcdcluster": "none", "orlop": storage}).to_string()
}

fn response(status: &str, media_type: &str, body: &str, has_body: bool) -> Vec<u8> {
    let length = body.len();
    let body = if has_body { body } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Returns the settings that an HTTP/2 server has to send first, and the reason why the connection ends.
fn refuse_http2() -> Vec<u8> {
    let last_stream_and_error = [0, 0, 0, 0, 0, 0, 0, HTTP_1_1_REQUIRED];
    let reason = [&last_stream_and_error, NO_STORE.as_bytes()].concat();
    [frame(SETTINGS, &[]), frame(GO_AWAY, &reason)].concat()
}

/// Returns a frame of the connection. The content is short.
fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
    let head = [0, 0, length, kind, 0, 0, 0, 0, 0];
    [&head, content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> String {
        let response = String::from_utf8(to_request(head.as_bytes())).unwrap();
        response.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn health_checks_are_answered_and_all_else_is_refused() {
        for (head, expected) in [
            ("GET /health HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK"),
            ("GET /health?serializable=true HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK"),
            ("HEAD /readyz HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK"),
            ("GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"),
            ("GET /healthy HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"),
            ("POST /v3/kv/put HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
            ("GET /health\r\n\r\n", "HTTP/1.1 400 Bad Request"),
            ("GET /health HTTP/1.1\r\nHost: a", "HTTP/1.1 400 Bad Request"),
            ("\r\n\r\n", "HTTP/1.1 400 Bad Request"),
            ("\0\0\0\0\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        ] {
            assert_eq!(status(head), expected, "{head:?}");
        }
        let head = to_request(b"HEAD /health HTTP/1.1\r\n\r\n");
        assert!(head.ends_with(b"\r\n\r\n"), "a response without a body");
        let version: serde_json::Value = serde_json::from_str(&version()).unwrap();
        assert_eq!(version.pointer(STORAGE_POINTER).unwrap(), IN_MEMORY);
    }

    #[test]
    fn clients_of_etcd_learn_why_they_get_no_answer() {
        assert!(is_complete(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        let answer = to_request(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        assert_eq!(answer[..9], [0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]);
        assert_eq!(usize::from(answer[11]), answer.len() - 18, "the length of the second frame");
        assert!(answer.ends_with(NO_STORE.as_bytes()));
    }
}
