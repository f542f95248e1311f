//! Requests to members of etcd, over the JSON form of its API.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Failure;

const PATIENCE: Duration = Duration::from_secs(10);

const ALARM: &str = "/v3/maintenance/alarm";

/// A part of the message with which an etcd without space refuses writes.
pub(crate) const NO_SPACE: &str = "database space exceeded";

/// Returns whether a member that is part of a quorum is its leader.
pub(crate) async fn is_leader(port: u16) -> Result<bool, Failure> {
    let status = post(port, "/v3/maintenance/status", &json!({})).await?;
    let text = |path: &str| status.pointer(path).and_then(Value::as_str);
    let leader = text("/leader").ok_or("no leader")?;
    Ok(Some(leader) == text("/header/member_id"))
}

/// Removes the history before a revision.
pub(crate) async fn compact(port: u16, revision: u64) -> Result<(), Failure> {
    post(port, "/v3/kv/compaction", &json!({ "revision": revision.to_string() })).await.map(|_| ())
}

/// Removes the history before a revision, at any member that answers. Returns whether it was removed now.
pub(crate) async fn compact_any(ports: &[u16], revision: u64) -> bool {
    for port in ports {
        if revision > 0 && compact(*port, revision).await.is_ok() {
            return true;
        }
    }
    false
}

/// Rewrites the database of a member without the space of removed history. The member does not answer meanwhile.
pub(crate) async fn defragment(port: u16) -> Result<(), Failure> {
    post(port, "/v3/maintenance/defragment", &json!({})).await.map(|_| ())
}

/// Raises the alarm of a database that has reached its quota.
pub(crate) async fn raise_alarm(port: u16) -> Result<(), Failure> {
    let status = post(port, "/v3/maintenance/status", &json!({})).await?;
    let member = status.pointer("/header/member_id").ok_or("a member without an id")?;
    post(port, ALARM, &json!({ "action": "ACTIVATE", "memberID": member, "alarm": "NOSPACE" })).await?;
    Ok(())
}

/// Lifts the alarms of all members.
pub(crate) async fn lift_alarms(port: u16) -> Result<(), Failure> {
    let raised = post(port, ALARM, &json!({ "action": "GET" })).await?;
    for alarm in raised.get("alarms").and_then(Value::as_array).into_iter().flatten() {
        let mut request = alarm.clone();
        if let Some(request) = request.as_object_mut() {
            request.insert("action".to_owned(), "DEACTIVATE".into());
        }
        post(port, ALARM, &request).await?;
    }
    Ok(())
}

async fn post(port: u16, path: &str, body: &Value) -> Result<Value, Failure> {
    let exchange = async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = hyper::Request::post(path)
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        connection.abort();
        if !status.is_success() {
            return Err(format!("{path}: {status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(serde_json::from_slice(&body)?)
    };
    timeout(PATIENCE, exchange).await?
}
