use registry_core::admission::Attributes;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use registry_core::api::{GroupVersionKind, GroupVersionResource};
use registry_core::rest::webhook::{WebhookCall, WebhookClientConfig, WebhookError, WebhookTarget};

use super::*;

/// Allows pods with the image `good`, and fails for `lost`.
#[derive(Default)]
struct Service {
    calls: AtomicUsize,
}

#[async_trait]
impl WebhookCaller for Service {
    async fn call(&self, call: WebhookCall<'_>) -> Result<Bytes, WebhookError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let review: Value = serde_json::from_slice(&call.body).unwrap();
        assert_eq!(review["kind"], "ImageReview");
        let image = review["spec"]["containers"][0]["image"].as_str().unwrap();
        if image == "lost" {
            return Err(WebhookError::Refused("Post: no answer".to_owned()));
        }
        let status = json!({"allowed": image == "good", "reason": "unsigned"});
        Ok(Bytes::from(json!({"status": status}).to_string()))
    }
}

fn plugin(service: Arc<Service>, default_allow: bool) -> ImagePolicy {
    let settings = ImagePolicySettings {
        webhook: WebhookClientConfig { target: WebhookTarget::Url(String::new()), ca_bundle: Vec::new() },
        allow_ttl: Duration::from_mins(1),
        deny_ttl: Duration::ZERO,
        retry_backoff: Duration::from_millis(1),
        default_allow,
    };
    ImagePolicy::new(Some(settings), service)
}

async fn refusal(plugin: &ImagePolicy, image: &str) -> Option<String> {
    let resource = GroupVersionResource { group: "", version: "v1", resource: "pods" };
    let kind = GroupVersionKind { group: "", version: "v1", kind: "Pod" };
    let attributes = Attributes::new(Operation::Create, resource, kind, "p");
    let spec = json!({"containers": [{"image": image}]});
    let pod = Object::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
    let context = RequestContext::system("default");
    plugin
        .validate(&context, ObjectWrite::new(&attributes, Some(&pod), None))
        .await
        .err()
        .map(|why| why.message)
}

#[tokio::test]
async fn the_service_decides_and_is_remembered_while_it_says_to() {
    let service = Arc::new(Service::default());
    let plugin = plugin(service.clone(), false);
    for _ in 0..3 {
        assert_eq!(refusal(&plugin, "good").await, None);
    }
    assert_eq!(service.calls.load(Ordering::Relaxed), 1);
    let refused = refusal(&plugin, "bad").await.unwrap();
    assert_eq!(
        refused,
        "pods \"p\" is forbidden: image policy webhook backend denied one or more images: unsigned"
    );
    assert!(refusal(&plugin, "bad").await.is_some());
    assert_eq!(service.calls.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_service_that_does_not_answer_admits_only_if_it_may() {
    let service = Arc::new(Service::default());
    assert!(refusal(&plugin(service.clone(), false), "lost").await.unwrap().ends_with("Post: no answer"));
    assert!(service.calls.load(Ordering::Relaxed) > 1, "it is tried again");
    assert_eq!(refusal(&plugin(service.clone(), true), "lost").await, None);
    assert!(refusal(&ImagePolicy::new(None, service), "good").await.is_some());
}
