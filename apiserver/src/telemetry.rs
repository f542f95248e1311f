//! Distributed tracing: spans of requests and of their stages, exported to a collector.
//!
//! ```text
//! traceparent ─ Sampler: the span of a sampled request ─ stage! ─ SpanLayer ─ a bounded queue ─ OTLP over gRPC
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `context` | the trace that a request belongs to, and its header |
//! | `root` | the span of a request, if it is sampled |
//! | `layer` | spans of `tracing` as spans of OpenTelemetry |
//! | `export` | their export |
//! | `not_built` | the place of the last two in a program without the feature `tracing-export` |
//!
//! A request that is not sampled has no spans, and neither have its stages. Spans that do not fit into the queue are lost;
//! nothing waits for a collector.
//!
//! Kubernetes concept: `k8s.io/component-base/tracing`, and `WithTracing` of `k8s.io/apiserver`.

mod context;
#[cfg(feature = "tracing-export")]
mod export;
#[cfg(feature = "tracing-export")]
mod layer;
#[cfg(not(feature = "tracing-export"))]
mod not_built;
mod root;

pub(crate) use context::TRACEPARENT;
#[cfg(feature = "tracing-export")]
pub(crate) use export::start;
#[cfg(feature = "tracing-export")]
pub(crate) use layer::{SpanLayer, present};
#[cfg(not(feature = "tracing-export"))]
pub(crate) use not_built::{SpanLayer, present, start};
pub(crate) use root::{Sampler, Traced};
