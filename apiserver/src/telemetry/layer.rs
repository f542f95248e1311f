//! Spans of `tracing` as spans of OpenTelemetry.

use std::borrow::Cow;
use std::fmt::{Debug, Write as _};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks, SpanProcessor};
use registry_core::spans::is_traced;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Span, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, Registry};
use uuid::Uuid;

use super::context::TraceContext;

/// Maximum number of attributes of a span.
const MAX_ATTRIBUTES: usize = 32;

/// Passes spans on when they are closed.
pub(crate) struct SpanLayer {
    processor: Arc<dyn SpanProcessor>,
    scope: InstrumentationScope,
}

/// A span that is open.
struct Open {
    trace_id: u128,
    span_id: u64,
    parent_span_id: u64,
    parent_is_remote: bool,
    started: SystemTime,
    fields: Fields,
}

/// The fields of a span. Those below `trace` are about the trace, the others are attributes.
#[derive(Default)]
struct Fields {
    trace_id: Option<u128>,
    parent: Option<u64>,
    link_trace_id: Option<u128>,
    link_span_id: Option<u64>,
    elapsed: Duration,
    name: Option<String>,
    attributes: Vec<KeyValue>,
}

/// Returns the trace and the span that the caller runs in, for requests to other servers.
pub(crate) fn present() -> Option<TraceContext> {
    if !is_traced() {
        return None;
    }
    let context = Span::current().with_subscriber(|(id, dispatch)| {
        let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
        let extensions = span.extensions();
        let open = extensions.get::<Open>()?;
        Some(TraceContext { trace_id: open.trace_id, span_id: open.span_id, is_sampled: true })
    });
    context.flatten()
}

// === impl SpanLayer ===

impl SpanLayer {
    pub(super) fn new(processor: Arc<dyn SpanProcessor>) -> Self {
        let scope = InstrumentationScope::builder("orlop").with_version(env!("CARGO_PKG_VERSION")).build();
        Self { processor, scope }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let parent = span.parent();
        let (trace_id, parent_span_id) = match (fields.trace_id, parent) {
            (Some(trace_id), _) => (trace_id, fields.parent.unwrap_or_default()),
            (None, Some(parent)) => match parent.extensions().get::<Open>() {
                Some(parent) => (parent.trace_id, parent.span_id),
                None => return,
            },
            (None, None) => return,
        };
        let (span_id, _) = Uuid::new_v4().as_u64_pair();
        let now = SystemTime::now();
        let open = Open {
            trace_id,
            span_id,
            parent_span_id,
            parent_is_remote: fields.parent.is_some(),
            started: now.checked_sub(fields.elapsed).unwrap_or(now),
            fields,
        };
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let open = span.extensions_mut().remove::<Open>();
        if let Some(open) = open {
            self.processor.on_end(open.close(span.name(), self.scope.clone()));
        }
    }
}

// === impl Open ===

impl Open {
    fn close(self, name: &'static str, scope: InstrumentationScope) -> SpanData {
        let context = |trace_id, span_id, is_remote| {
            let (trace_id, span_id) = (TraceId::from(trace_id), SpanId::from(span_id));
            SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, is_remote, TraceState::default())
        };
        let fields = self.fields;
        let mut links = SpanLinks::default();
        if let (Some(trace_id), Some(span_id)) = (fields.link_trace_id, fields.link_span_id) {
            links.links.push(Link::new(context(trace_id, span_id, true), Vec::new(), 0));
        }
        let is_root = fields.trace_id.is_some();
        SpanData {
            span_context: context(self.trace_id, self.span_id, false),
            parent_span_id: SpanId::from(self.parent_span_id),
            parent_span_is_remote: self.parent_is_remote,
            span_kind: if is_root { SpanKind::Server } else { SpanKind::Internal },
            name: fields.name.map_or(Cow::Borrowed(name), Cow::Owned),
            start_time: self.started,
            end_time: SystemTime::now(),
            attributes: fields.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: Status::Unset,
            instrumentation_scope: scope,
        }
    }
}

// === impl Fields ===

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<opentelemetry::Value>) {
        if self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.push(KeyValue::new(field.name(), value));
        }
    }
}

impl Visit for Fields {
    fn record_u128(&mut self, field: &Field, value: u128) {
        match field.name() {
            "trace.id" => self.trace_id = Some(value),
            "trace.link.id" => self.link_trace_id = Some(value),
            _ => self.add(field, value.to_string()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "trace.parent" => self.parent = Some(value),
            "trace.link.span" => self.link_span_id = Some(value),
            "trace.elapsed" => self.elapsed = Duration::from_nanos(value),
            _ => self.add(field, i64::try_from(value).unwrap_or(i64::MAX)),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "trace.name" => self.name = Some(value.to_owned()),
            _ => self.add(field, value.to_owned()),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:?}");
        self.add(field, text);
    }
}
