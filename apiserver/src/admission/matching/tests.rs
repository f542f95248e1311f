//! Tests of rules and selectors over installed resources.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{CreateOptions, GroupVersionKind, GroupVersionResource, Object, StatusError};
use registry_core::context::Budget;
use registry_core::resource::Resource as _;
use registry_core::rest::{AdmitAll, Creater as _};
use resources::api::core::namespaces::Namespaces;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::admission::testing::installed;
use crate::admission::{Attributes, Operation};
use crate::handlers::{Api, ApiParts};

use super::{MatchCriteria, Matched, Matcher, VersionedObjects, is_exempt};

const NAMESPACE: GroupVersionResource = resource("", "v1", "namespaces");
const NODE: GroupVersionResource = resource("", "v1", "nodes");
const POD: GroupVersionResource = resource("", "v1", "pods");
const SCALER_V1: GroupVersionResource = resource("autoscaling", "v1", "horizontalpodautoscalers");

const fn resource(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
) -> GroupVersionResource {
    GroupVersionResource { group, version, resource }
}

/// The matcher over resources with the namespaces `plain` and `labelled` (`team=a`).
struct Fixture {
    api: Arc<Api>,
    matcher: Matcher,
}

/// A write of an object named `web`.
struct Write {
    operation: Operation,
    resource: GroupVersionResource,
    subresource: &'static str,
    namespace: &'static str,
    object: Option<Object>,
    old: Option<Object>,
}

impl Fixture {
    async fn new() -> Self {
        let installed =
            installed(|plural| ["namespaces", "nodes", "pods", "horizontalpodautoscalers"].contains(&plural));
        let store = installed.store(Namespaces::TYPE).unwrap();
        for (name, labels) in [("plain", json!({})), ("labelled", json!({"team": "a"}))] {
            let namespace = object(json!({"metadata": {"name": name, "labels": labels}}));
            let context = RequestContext::system("");
            store.create(&context, namespace.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
        }
        let api = Api::new(&installed, ApiParts::default(), CancellationToken::new());
        Self { api, matcher: Matcher::new(&installed) }
    }

    async fn matches(&self, webhook: Value, write: &Write) -> Result<Option<Matched>, StatusError> {
        self.matches_criteria(&MatchCriteria::from_webhook(&webhook), write).await
    }

    async fn matches_criteria(
        &self,
        criteria: &MatchCriteria,
        write: &Write,
    ) -> Result<Option<Matched>, StatusError> {
        let context = RequestContext::system(write.namespace);
        let attributes = self.attributes(write);
        let (object, old) = (write.object.as_ref(), write.old.as_ref());
        self.matcher.matches(criteria, &context, &attributes, object, old).await
    }

    fn attributes(&self, write: &Write) -> Attributes<'_> {
        let GroupVersionResource { group, version, resource } = write.resource;
        let kind = match resource {
            "pods" => "Pod",
            "nodes" => "Node",
            "namespaces" => "Namespace",
            _ => "HorizontalPodAutoscaler",
        };
        let kind = GroupVersionKind { group, version, kind };
        let mut attributes = Attributes::new(write.operation, write.resource, kind, "web");
        attributes.subresource = write.subresource;
        attributes.kinds = &*self.api;
        attributes
    }
}

impl Write {
    fn new(resource: GroupVersionResource) -> Self {
        let namespace = if matches!(resource.resource, "nodes" | "namespaces") { "" } else { "plain" };
        let object = Some(object(json!({"metadata": {"name": "web"}})));
        Self { operation: Operation::Create, resource, subresource: "", namespace, object, old: None }
    }
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn rule(group: &str, version: &str, resource: &str) -> Value {
    json!({"operations": ["*"], "apiGroups": [group], "apiVersions": [version], "resources": [resource]})
}

fn webhook(rule: &Value) -> Value {
    json!({"rules": [rule], "matchPolicy": "Equivalent"})
}

#[tokio::test]
async fn rules_match_operations_groups_versions_and_resources() {
    let fixture = Fixture::new().await;
    let pod = Write::new(POD);
    for (rule, expected) in [
        (rule("", "v1", "pods"), true),
        (rule("*", "*", "*"), true),
        (rule("*", "*", "*/*"), true),
        (rule("", "v1", "pods/*"), true),
        (rule("apps", "v1", "pods"), false),
        (rule("", "v2", "pods"), false),
        (rule("", "v1", "pods/status"), false),
        (rule("", "v1", "*/status"), false),
        (
            json!({"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}),
            false,
        ),
    ] {
        let matched = fixture.matches(webhook(&rule), &pod).await.unwrap();
        assert_eq!(matched.is_some(), expected, "{rule}");
    }
    let status = Write { subresource: "status", operation: Operation::Update, ..Write::new(POD) };
    for (resource, expected) in
        [("pods", false), ("*", false), ("pods/status", true), ("*/status", true), ("pods/*", true)]
    {
        let matched = fixture.matches(webhook(&rule("", "v1", resource)), &status).await.unwrap();
        assert_eq!(matched.is_some(), expected, "{resource}");
    }
}

#[tokio::test]
async fn a_namespace_is_an_object_of_the_cluster() {
    let fixture = Fixture::new().await;
    for (resource, namespaced, cluster) in [(POD, true, false), (NODE, false, true), (NAMESPACE, false, true)]
    {
        for (scope, expected) in [("Namespaced", namespaced), ("Cluster", cluster), ("*", true), ("?", false)]
        {
            let mut rule = rule("*", "*", "*");
            rule["scope"] = scope.into();
            let matched = fixture.matches(webhook(&rule), &Write::new(resource)).await.unwrap();
            assert_eq!(matched.is_some(), expected, "{resource:?} {scope}");
        }
    }
}

#[tokio::test]
async fn the_labels_of_the_namespace_decide() {
    let fixture = Fixture::new().await;
    let mut selecting = webhook(&rule("*", "*", "*"));
    selecting["namespaceSelector"] = json!({"matchLabels": {"team": "a"}});
    for (namespace, expected) in [("plain", false), ("labelled", true)] {
        let pod = Write { namespace, ..Write::new(POD) };
        let matched = fixture.matches(selecting.clone(), &pod).await.unwrap();
        assert_eq!(matched.is_some(), expected, "{namespace}");
    }
    assert!(fixture.matches(selecting.clone(), &Write::new(NODE)).await.unwrap().is_some());
    // A namespace that is created has the labels in the request.
    let mut namespace = Write::new(NAMESPACE);
    assert!(fixture.matches(selecting.clone(), &namespace).await.unwrap().is_none());
    namespace.object = Some(object(json!({"metadata": {"labels": {"team": "a"}}})));
    assert!(fixture.matches(selecting.clone(), &namespace).await.unwrap().is_some());
    // A missing namespace fails only what the rules match.
    let orphan = Write { namespace: "missing", ..Write::new(POD) };
    let failure = fixture.matches(selecting.clone(), &orphan).await.err().unwrap();
    assert_eq!(failure.message, "namespaces \"missing\" not found");
    selecting["rules"] = json!([rule("apps", "v1", "deployments")]);
    assert!(fixture.matches(selecting, &orphan).await.unwrap().is_none());
}

#[tokio::test]
async fn the_labels_of_the_object_or_of_the_old_one_decide() {
    let fixture = Fixture::new().await;
    let mut selecting = webhook(&rule("*", "*", "*"));
    selecting["objectSelector"] =
        json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]});
    let plain = || object(json!({"metadata": {}}));
    let labelled = || object(json!({"metadata": {"labels": {"app": "web"}}}));
    for (object, old, expected) in [
        (Some(plain()), None, false),
        (Some(labelled()), None, true),
        (Some(plain()), Some(labelled()), true),
        (Some(labelled()), Some(plain()), true),
        (None, Some(labelled()), true),
        (None, None, false),
    ] {
        let write = Write { object, old, ..Write::new(POD) };
        assert_eq!(fixture.matches(selecting.clone(), &write).await.unwrap().is_some(), expected);
    }
    selecting["objectSelector"] = json!({"matchExpressions": [{"key": "app", "operator": "?"}]});
    let failure = fixture.matches(selecting, &Write::new(POD)).await.err().unwrap();
    assert!(failure.message.contains("is not a valid label selector operator"), "{failure:?}");
}

#[tokio::test]
async fn an_equivalent_version_matches_and_objects_are_converted_to_it() {
    let fixture = Fixture::new().await;
    let mut other = webhook(&rule("autoscaling", "v2", "horizontalpodautoscalers"));
    let spec = json!({
        "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70,
        "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
    });
    let scaler = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec,
    });
    let mut write = Write::new(SCALER_V1);
    write.object = Some(object(scaler.clone()));
    let matched = fixture.matches(other.clone(), &write).await.unwrap().unwrap();
    let attributes = fixture.attributes(&write);
    assert_eq!(matched.resource(&attributes).version, "v2");
    assert_eq!(matched.kind(&attributes).version, "v2");

    let mut versions = VersionedObjects::new(&attributes);
    let objects = versions.in_version(&matched, write.object.as_ref(), None).await.unwrap();
    let converted = objects.object.unwrap();
    let expected = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]);
    assert_eq!(converted.get(&["spec", "metrics"]), Some(&expected));
    let mut mutated = (*converted).clone();
    mutated.set(&["spec", "maxReplicas"], 5.into());
    mutated.set(&["spec", "unknown"], 5.into());
    let restored = versions.restored(&matched, mutated.clone(), &Budget::default()).await.unwrap();
    let mut wanted = object(scaler);
    wanted.set(&["spec", "maxReplicas"], 5.into());
    assert_eq!(restored.get(&["spec"]), wanted.get(&["spec"]));

    mutated.set(&["spec", "maxReplicas"], "five".into());
    assert_eq!(versions.restored(&matched, mutated.clone(), &Budget::default()).await.unwrap_err().code, 500);
    mutated.set(&["kind"], "Pod".into());
    assert_eq!(versions.restored(&matched, mutated, &Budget::default()).await.unwrap_err().code, 500);

    other["matchPolicy"] = "Exact".into();
    assert!(fixture.matches(other, &write).await.unwrap().is_none());
}

#[tokio::test]
async fn excluded_rules_and_names_are_honoured() {
    let fixture = Fixture::new().await;
    let mut named = rule("", "v1", "pods");
    named["resourceNames"] = json!(["web", "other"]);
    let all = json!({});
    let excluding = json!({"excludeResourceRules": [named]});
    named["resourceNames"] = json!(["other"]);
    let other = json!({"resourceRules": [named]});
    for (resources, expected) in [(all, true), (excluding, false), (other, false)] {
        let criteria = MatchCriteria::from_match_resources(&resources);
        let matched = fixture.matches_criteria(&criteria, &Write::new(POD)).await.unwrap();
        assert_eq!(matched.is_some(), expected, "{resources}");
    }
}

#[test]
fn the_configuration_of_admission_is_exempt() {
    let of_kind = |group, kind| {
        let resource = resource("any", "v1", "any");
        is_exempt(&Attributes::new(
            Operation::Create,
            resource,
            GroupVersionKind { group, version: "v1", kind },
            "",
        ))
    };
    assert!(of_kind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"));
    assert!(of_kind("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"));
    assert!(!of_kind("example.com", "ValidatingWebhookConfiguration"));
    assert!(!of_kind("authorization.k8s.io", "SubjectAccessReview"));
}
