//! An audit event, as `audit.k8s.io/v1` and as a line of text.
//!
//! Kubernetes concept: [`Event`](https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/).

use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use registry_core::api::time;
use registry_core::context::{AuditLevel, Recorded, TRUNCATED, UserInfo};
use request_info::ResourceRequest;
use serde_json::Value;

use super::policy::Stage;

mod json;
mod legacy;
#[cfg(test)]
pub(in crate::audit) mod tests;

/// Size of an event without objects.
const TYPICAL_BYTES: usize = 1024;

/// The properties of a request that all of its events share.
#[derive(Clone, Debug)]
pub struct RequestFacts {
    /// The level.
    pub level: AuditLevel,
    /// Whether objects are written without their managed fields.
    pub omits_managed_fields: bool,
    /// The request's id.
    pub audit_id: String,
    /// Path and query, as the client sent them.
    pub request_uri: String,
    /// The API verb, or the method for a non-resource path.
    pub verb: &'static str,
    /// The authenticated user; empty if the user is not known.
    pub user: UserInfo,
    /// The addresses that the request came from.
    pub source_ips: Vec<IpAddr>,
    /// The client's user agent.
    pub user_agent: String,
    /// The resource; `None` for non-resource paths.
    pub object_ref: Option<ResourceRequest>,
    /// Time when the request was received.
    pub received: Timestamp,
}

/// An audit event: the state of a request at a stage.
#[derive(Clone, Debug)]
pub struct Event {
    /// The properties of the request.
    pub facts: Arc<RequestFacts>,
    /// The stage.
    pub stage: Stage,
    /// Time of the stage.
    pub stage_time: Timestamp,
    /// The user on whose behalf the request is made, if that is another one.
    pub impersonated: Option<Arc<UserInfo>>,
    /// The verb of the constrained mode of impersonation that allowed it.
    pub impersonation_constraint: Option<Arc<str>>,
    /// The records of handlers and plug-ins.
    pub recorded: Recorded,
    /// The code of the response; `None` before it.
    pub code: Option<u16>,
}

// === impl Event ===

impl Event {
    /// Appends the event as JSON in one line, with the newline.
    pub fn write_line(&self, buffer: &mut Vec<u8>) {
        self.write_json(buffer);
        buffer.push(b'\n');
    }

    /// Appends the event in Kubernetes' `legacy` format, with the newline.
    pub fn write_legacy(&self, buffer: &mut Vec<u8>) {
        legacy::write(self, buffer);
        buffer.push(b'\n');
    }

    /// Appends the event as JSON.
    pub fn write_json(&self, buffer: &mut Vec<u8>) {
        json::write(self, buffer);
    }

    /// Returns the approximate size of the event as JSON, in bytes.
    pub fn size_hint(&self) -> usize {
        let objects = [&self.recorded.request_object, &self.recorded.response_object];
        TYPICAL_BYTES + objects.into_iter().flatten().map(bytes::Bytes::len).sum::<usize>()
    }

    /// Returns the event without its objects, annotated as truncated.
    #[must_use]
    pub fn truncated(&self) -> Self {
        let mut event = self.clone();
        event.recorded.request_object = None;
        event.recorded.response_object = None;
        event.recorded.annotations.retain(|(key, _)| key != TRUNCATED);
        event.recorded.annotations.push((TRUNCATED.into(), "true".into()));
        event
    }

    /// Returns the event as a line of text, for the server's own log.
    pub fn text(&self) -> String {
        let mut buffer = Vec::new();
        legacy::write(self, &mut buffer);
        String::from_utf8_lossy(&buffer).into_owned()
    }

    /// Returns the fields of the response's status, in Kubernetes' order.
    fn status_fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let status = self.recorded.response_status.as_ref();
        ["status", "message", "reason", "details"]
            .into_iter()
            .filter_map(move |field| Some((field, status?.get(field)?)))
    }
}

/// Formats a time as `metav1.MicroTime`.
fn micro_time(moment: Timestamp) -> String {
    time::format_microseconds(moment)
}
