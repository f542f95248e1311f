//! A collector of spans.

use std::net::SocketAddr;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::PATIENCE;

/// Keeps the spans that it receives.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// Starts a collector on a free port.
    pub(crate) async fn start() -> (Self, SocketAddr) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = TraceServiceServer::new(collector.clone());
        let incoming = TcpIncoming::from(listener);
        tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));
        (collector, address)
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.0.lock().clone()
    }

    /// Waits for the first span with this attribute.
    pub(crate) async fn root(&self, key: &str, value: &str) -> Span {
        let begun = std::time::Instant::now();
        loop {
            if let Some(found) =
                self.spans().into_iter().find(|span| attribute(span, key).as_deref() == Some(value))
            {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "no span with {key}={value}: {:#?}", self.spans());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for resource in request.into_inner().resource_spans {
            let of = resource.resource.unwrap();
            assert!(of.attributes.iter().any(|attribute| attribute.key == "service.name"), "{of:?}");
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.0.lock().extend(spans);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Returns an attribute of a span, as text.
pub(crate) fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}
