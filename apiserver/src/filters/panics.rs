//! What becomes of a panic.

use std::any::Any;

use http::HeaderValue;
use registry_core::api::StatusError;

/// 500 for a request whose handling panicked; the log tells why (and, before, the panic hook told where).
pub(super) fn recovered(panic: &(dyn Any + Send), audit_id: &HeaderValue) -> StatusError {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(audit_id = ?audit_id, "a request panicked: {text}");
    StatusError::internal("this request caused apiserver to panic. Look in the logs for details.")
}
