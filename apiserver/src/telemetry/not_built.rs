//! The place of the export of spans in a program without the feature `tracing-export`: the flag is refused.

use std::convert::Infallible;

use tracing::Subscriber;
use tracing_subscriber::layer::Layer;

use crate::options::{Options, TracingError, TracingFault};

use super::context::TraceContext;

/// No layer: it has no values.
pub(crate) enum SpanLayer {}

/// Refuses a configuration.
pub(crate) fn start(options: &Options) -> Result<Option<(SpanLayer, Infallible)>, TracingError> {
    let Some(path) = &options.tracing_config_file else { return Ok(None) };
    Err(TracingError { path: path.clone(), source: TracingFault::NotBuilt })
}

/// Returns the trace that the caller runs in: none.
pub(crate) fn present() -> Option<TraceContext> {
    None
}

// === impl SpanLayer ===

impl<S: Subscriber> Layer<S> for SpanLayer {}
