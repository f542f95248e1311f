//! The audit record of one request, filled while the request is processed.
//!
//! Kubernetes concept: `AuditContext` in `k8s.io/apiserver/pkg/audit`.

use std::borrow::Cow;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::api::{Object, StatusError};

use super::copies::{RecordedBytes, Reservation};

/// The annotation of events without objects, if the objects are too large, alone or together with the objects of other
/// requests.
pub const TRUNCATED: &str = "audit.k8s.io/truncated";
/// Maximum size of a recorded list. The list itself is unlimited, but it is never in memory as a whole.
const MAX_LIST_BYTES: usize = 10 * 1024 * 1024;
/// Maximum number of annotations of a request.
const MAX_ANNOTATIONS: usize = 512;
/// Maximum size of all keys and values of a request's annotations.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The recorded part of a request. Every level includes the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    /// Nothing is recorded.
    #[default]
    None,
    /// The user, the request, its time, and the outcome.
    Metadata,
    /// Also the object in the request.
    Request,
    /// Also the object in the response.
    RequestResponse,
}

/// The parts of a request's audit event that are known while the request is processed.
#[derive(Debug, Default)]
pub struct AuditRecord {
    level: AuditLevel,
    omits_managed_fields: bool,
    recorded: Mutex<Recorded>,
    /// The memory that is left for objects.
    left: RecordedBytes,
}

/// A list in a response that is recorded piece by piece.
#[derive(Debug)]
pub struct RecordedList<'a> {
    record: &'a AuditRecord,
    json: Vec<u8>,
    reservation: Reservation,
}

/// The recorded parts.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The annotations by key, in the order in which they were added.
    pub annotations: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The identity of the object in the request.
    pub identity: ObjectIdentity,
    /// The object in the request, or the patch, in JSON; from level `Request` on.
    pub request_object: Option<Bytes>,
    /// The `Status` that is the response; `None` if the response is something else.
    pub response_status: Option<Value>,
    /// The object in the response, in JSON; only at level `RequestResponse`.
    pub response_object: Option<Bytes>,
    annotation_bytes: usize,
}

/// The identity of an object as a request states it. Unknown parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectIdentity {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The unique id.
    pub uid: String,
    /// The resource version.
    pub resource_version: String,
}

// === impl AuditLevel ===

impl AuditLevel {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::None, Self::Metadata, Self::Request, Self::RequestResponse];

    /// Returns the level's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

// === impl AuditRecord ===

impl AuditRecord {
    /// Creates the record of a request that is audited at this level. If `omits_managed_fields`, recorded objects
    /// have no managed fields.
    pub fn new(level: AuditLevel, omits_managed_fields: bool) -> Self {
        Self { level, omits_managed_fields, recorded: Mutex::default(), left: RecordedBytes::default() }
    }

    /// Limits the memory of this record's objects together with the memory of the objects of other records.
    #[must_use]
    pub fn limited(self, left: RecordedBytes) -> Self {
        Self { left, ..self }
    }

    /// Returns the level.
    pub fn level(&self) -> AuditLevel {
        self.level
    }

    /// Returns whether recorded objects have no managed fields.
    pub fn omits_managed_fields(&self) -> bool {
        self.omits_managed_fields
    }

    /// Adds an annotation. The first value of a key is kept, and another one is logged; annotations beyond the bounds
    /// are dropped and logged.
    pub fn annotate(&self, key: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) {
        let (key, value) = (key.into(), value.into());
        if self.level == AuditLevel::None {
            return;
        }
        let mut recorded = self.recorded();
        if let Some((_, present)) = recorded.annotations.iter().find(|(known, _)| *known == key) {
            if *present != value {
                tracing::warn!(%key, "an audit annotation has a value already, which stays");
            }
            return;
        }
        let bytes = recorded.annotation_bytes.saturating_add(key.len()).saturating_add(value.len());
        if recorded.annotations.len() >= MAX_ANNOTATIONS || bytes > MAX_ANNOTATION_BYTES {
            tracing::warn!(%key, "an audit annotation is dropped: the request has too many");
            return;
        }
        recorded.annotation_bytes = bytes;
        recorded.annotations.push((key, value));
    }

    /// Records the identity of the object in the request, as far as no earlier one is known.
    pub fn identify(&self, object: &Object) {
        let mut recorded = self.recorded();
        let known = &mut recorded.identity;
        for (own, stated) in [
            (&mut known.namespace, object.namespace()),
            (&mut known.name, object.name()),
            (&mut known.uid, object.uid()),
            (&mut known.resource_version, object.resource_version()),
        ] {
            if own.is_empty() {
                stated.clone_into(own);
            }
        }
    }

    /// Records the object in the request, or the patch, in JSON. Without memory for it, the events are annotated as
    /// truncated.
    pub fn set_request_object(&self, json: Bytes) {
        if self.level >= AuditLevel::Request
            && let Some(held) = self.hold(json)
        {
            self.recorded().request_object = Some(held);
        }
    }

    /// Records the object in the response, in JSON. Without memory for it, the events are annotated as truncated.
    pub fn set_response_object(&self, json: Bytes) {
        if self.level >= AuditLevel::RequestResponse
            && let Some(held) = self.hold(json)
        {
            self.recorded().response_object = Some(held);
        }
    }

    /// Begins to record a list in the response.
    pub fn begin_list(&self) -> RecordedList<'_> {
        RecordedList { record: self, json: Vec::new(), reservation: self.left.reserve() }
    }

    fn hold(&self, json: Bytes) -> Option<Bytes> {
        let mut reservation = self.left.reserve();
        if reservation.grow(json.len()) {
            return Some(reservation.hold(json));
        }
        self.annotate(TRUNCATED, "true");
        None
    }

    /// Records a `Status` as the response.
    pub fn set_response_status(&self, status: Value) {
        if self.level >= AuditLevel::RequestResponse {
            self.set_response_object(Bytes::from(status.to_string()));
        }
        self.recorded().response_status = Some(status);
    }

    /// Records a failure as the response.
    pub fn fail(&self, failure: &StatusError) {
        self.set_response_status(failure.to_value());
    }

    /// Calls `read` with what is recorded so far.
    pub fn read<T>(&self, read: impl FnOnce(&Recorded) -> T) -> T {
        read(&self.recorded())
    }

    /// Returns what is recorded, which the record loses: the request's last event has it.
    pub fn take(&self) -> Recorded {
        std::mem::take(&mut *self.recorded())
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock()
    }
}

// === impl RecordedList ===

impl RecordedList<'_> {
    /// Adds the next piece. Returns `false` if the list is too large to be recorded; the events are annotated as
    /// truncated then.
    #[must_use]
    pub fn add(&mut self, piece: &[u8]) -> bool {
        if self.json.len() + piece.len() > MAX_LIST_BYTES || !self.reservation.grow(piece.len()) {
            self.record.annotate(TRUNCATED, "true");
            return false;
        }
        self.json.extend_from_slice(piece);
        true
    }

    /// Records the list.
    pub fn end(mut self) {
        self.json.shrink_to_fit();
        let held = self.reservation.hold(self.json.into());
        self.record.recorded().response_object = Some(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_all_records_share_a_limit_that_events_return() {
        let left = RecordedBytes::new(10);
        let record = || AuditRecord::new(AuditLevel::RequestResponse, false).limited(left.clone());
        let (first, second, third) = (record(), record(), record());
        first.set_request_object(Bytes::from_static(b"\"six6\""));
        let mut list = second.begin_list();
        assert!(list.add(b"[1") && !list.add(b",2,3]"));
        drop(list);
        second.set_response_object(Bytes::from_static(b"{\"a\":1}"));
        let truncated = [(TRUNCATED.into(), "true".into())];
        second.read(|recorded| assert_eq!(recorded.annotations, truncated));
        assert!(second.take().response_object.is_none(), "the event has no object, but is there");
        let event = first.take();
        drop(first);
        third.set_request_object(Bytes::from_static(b"12345"));
        assert!(third.take().request_object.is_none());
        assert_eq!(event.request_object.as_deref(), Some(&b"\"six6\""[..]));
        drop(event);
        let mut list = third.begin_list();
        assert!(list.add(b"[1,2,3]"));
        list.end();
        assert_eq!(third.take().response_object.as_deref(), Some(&b"[1,2,3]"[..]));
    }

    fn annotations(record: &AuditRecord) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
        record.read(|recorded| recorded.annotations.clone())
    }

    #[test]
    fn the_first_value_of_a_key_stays() {
        let record = AuditRecord::new(AuditLevel::Metadata, false);
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
            record.annotate(key, value);
        }
        let kept = [("a", "1"), ("b", "2")].map(|(key, value)| (key.into(), value.into()));
        assert_eq!(annotations(&record), kept);
    }

    #[test]
    fn annotations_are_bounded_in_number_and_size() {
        let record = AuditRecord::new(AuditLevel::Metadata, false);
        record.annotate("large", "x".repeat(MAX_ANNOTATION_BYTES));
        assert!(annotations(&record).is_empty());
        (0..10_000).for_each(|number| record.annotate(number.to_string(), ""));
        assert_eq!(annotations(&record).len(), MAX_ANNOTATIONS);
    }

    #[test]
    fn objects_are_recorded_from_their_level_on() {
        for level in AuditLevel::ALL {
            let record = AuditRecord::new(level, false);
            record.annotate("a", "");
            record.set_request_object(Bytes::from_static(b"{}"));
            record.set_response_object(Bytes::from_static(b"{}"));
            record.read(|recorded| {
                assert_eq!(recorded.annotations.len(), usize::from(level >= AuditLevel::Metadata));
                assert_eq!(recorded.request_object.is_some(), level >= AuditLevel::Request);
                assert_eq!(recorded.response_object.is_some(), level >= AuditLevel::RequestResponse);
            });
        }
    }
}
