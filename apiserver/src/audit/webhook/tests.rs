use std::convert::Infallible;

use clients::Authorization;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use registry_core::context::AuditLevel;
use serde_json::Value;
use tokio::net::TcpListener;

use super::super::event::tests::event;
use super::*;
use crate::metrics::ServerMetrics;

/// A webhook that answers with these codes, and then with success.
#[derive(Default)]
struct Webhook {
    codes: Mutex<Vec<u16>>,
    bodies: Mutex<Vec<Value>>,
}

impl Webhook {
    async fn answer(&self, request: http::Request<Incoming>) -> Response<http_body_util::Empty<Bytes>> {
        assert_eq!(request.headers()["authorization"], "Bearer secret");
        assert_eq!(request.uri().path(), "/events");
        let body = http_body_util::BodyExt::collect(request.into_body()).await.unwrap().to_bytes();
        let mut response = Response::default();
        if let Some(code) = self.codes.lock().pop() {
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
        } else {
            self.bodies.lock().push(serde_json::from_slice(&body).unwrap());
        }
        response
    }
}

async fn start(truncate: Option<TruncateConfig>) -> (Arc<Webhook>, WebhookBackend, Arc<ServerMetrics>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let webhook = Arc::new(Webhook::default());
    let serving = webhook.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let webhook = serving.clone();
            let service = service_fn(move |request| {
                let webhook = webhook.clone();
                async move { Ok::<_, Infallible>(webhook.answer(request).await) }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    let mut settings = ClientSettings::anonymous(format!("http://{address}/events"));
    settings.credentials.authorization = Authorization::Token("secret".to_owned());
    let metrics = ServerMetrics::new().unwrap();
    let faults = Faults::new(metrics.audit().clone());
    let initial_backoff = Duration::from_millis(1);
    let backend =
        WebhookBackend { client: Client::new(settings).unwrap(), initial_backoff, truncate, faults };
    (webhook, backend, metrics)
}

#[tokio::test]
async fn events_are_sent_as_lists_and_again_after_failures() {
    let (webhook, backend, metrics) = start(None).await;
    let metadata_event = Arc::new(event(AuditLevel::Metadata));
    let events = [metadata_event.clone(), metadata_event.clone(), metadata_event];
    assert!(backend.deliver(&events).await);
    *webhook.codes.lock() = vec![500, 429, 404, 503];
    assert!(backend.deliver(&events[..1]).await, "the fifth attempt succeeds");
    *webhook.codes.lock() = vec![500; 5];
    assert!(!backend.deliver(&events).await);
    assert_eq!(metrics.audit().errors("webhook"), 3);
    let bodies = webhook.bodies.lock();
    assert_eq!(bodies.iter().map(|body| body["items"].as_array().unwrap().len()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(
        (&bodies[0]["kind"], &bodies[0]["apiVersion"]),
        (&"EventList".into(), &"audit.k8s.io/v1".into())
    );
    assert_eq!(bodies[0]["items"][0]["auditID"], "id");
}

#[tokio::test]
async fn batches_that_are_too_large_are_divided() {
    let limit = TruncateConfig { max_event_bytes: 1000, max_batch_bytes: 1500 };
    let (webhook, backend, metrics) = start(Some(limit)).await;
    let mut large = event(AuditLevel::Metadata);
    Arc::make_mut(&mut large.facts).user_agent = "x".repeat(2000);
    let small = Arc::new(event(AuditLevel::Metadata));
    assert!(backend.deliver(&[small.clone(), Arc::new(large), small.clone(), small]).await);
    let bodies = webhook.bodies.lock();
    let sizes: Vec<_> = bodies.iter().map(|body| body["items"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [2, 1]);
    assert_eq!(metrics.audit().errors("truncate"), 1);
}
