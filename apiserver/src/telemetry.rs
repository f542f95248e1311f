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
//!
//! A request that is not sampled has no spans, and neither have its stages. Spans that do not fit into the queue are lost;
//! nothing waits for a collector.
//!
//! Kubernetes concept: `k8s.io/component-base/tracing`, and `WithTracing` of `k8s.io/apiserver`.

mod context;
mod export;
mod layer;
mod root;

pub(crate) use context::TRACEPARENT;
pub(crate) use export::start;
pub(crate) use layer::{SpanLayer, present};
pub(crate) use root::{Sampler, Traced};
