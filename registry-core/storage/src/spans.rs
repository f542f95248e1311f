//! Spans of the stages of a request, for distributed tracing.
//!
//! The server creates the span of a request if the request is traced; [`stage!`](crate::stage) creates spans below it. All
//! others cost the read of a flag.
//!
//! Kubernetes concept: `k8s.io/component-base/tracing`.

use std::sync::atomic::{AtomicBool, Ordering};

pub use tracing;

/// The target of all these spans, by which subscribers select them.
pub const TARGET: &str = "request_trace";

static IS_EXPORTED: AtomicBool = AtomicBool::new(false);

/// Creates spans from now on, because a subscriber exports them.
pub fn begin_export() {
    IS_EXPORTED.store(true, Ordering::Relaxed);
}

/// Returns whether spans are exported, and the present one belongs to a traced request.
pub fn is_traced() -> bool {
    IS_EXPORTED.load(Ordering::Relaxed) && !tracing::Span::current().is_none()
}

/// Returns the span of a stage of the present request, or none if the request is not traced.
#[macro_export]
macro_rules! stage {
    ($name:literal $(, $($fields:tt)*)?) => {
        if $crate::spans::is_traced() {
            $crate::spans::tracing::info_span!(target: $crate::spans::TARGET, $name $(, $($fields)*)?)
        } else {
            $crate::spans::tracing::Span::none()
        }
    };
}
