//! The limit on the size of events.
//!
//! Kubernetes concept: `k8s.io/apiserver/plugin/pkg/audit/truncate`.

use registry_core::context::AuditLevel;

use crate::options::TruncateConfig;

use super::event::Event;

/// An event that fits no limit, even without its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event is too large even after truncating")]
pub(super) struct TooLarge;

/// Returns an event that is within the limit, with its JSON: this one, or one without its objects.
///
/// # Errors
/// Fails if the event is too large in any case.
pub(super) fn within(limit: Option<TruncateConfig>, event: &Event) -> Result<Vec<u8>, TooLarge> {
    let encoded = |event: &Event| {
        let mut json = Vec::new();
        event.write_json(&mut json);
        json
    };
    let json = encoded(event);
    let Some(limit) = limit else { return Ok(json) };
    if json.len() <= limit.max_event_bytes {
        return Ok(json);
    }
    if event.facts.level < AuditLevel::Request {
        return Err(TooLarge);
    }
    let json = encoded(&event.truncated());
    if json.len() <= limit.max_event_bytes { Ok(json) } else { Err(TooLarge) }
}

#[cfg(test)]
mod tests {
    use super::super::event::tests::event;
    use super::*;

    #[test]
    fn objects_are_removed_from_events_that_are_too_large() {
        let limit = |max_event_bytes| Some(TruncateConfig { max_event_bytes, max_batch_bytes: usize::MAX });
        let mut large = event(AuditLevel::Request);
        large.recorded.request_object = Some(format!("{{\"a\":\"{}\"}}", "x".repeat(2000)).into());
        assert!(within(None, &large).unwrap().len() > 2000);
        let json: serde_json::Value = serde_json::from_slice(&within(limit(1000), &large).unwrap()).unwrap();
        assert_eq!(json["annotations"], serde_json::json!({"audit.k8s.io/truncated": "true"}));
        assert!(json.get("requestObject").is_none());
        assert_eq!(within(limit(100), &large), Err(TooLarge));
        assert_eq!(
            within(limit(100), &event(AuditLevel::Metadata)),
            Err(TooLarge),
            "there is nothing to remove"
        );
    }
}
