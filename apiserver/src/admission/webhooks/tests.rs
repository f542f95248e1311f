//! Tests of the plug-ins without a network.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin as _, MutatingAdmission as _};
use registry_core::api::{CreateOptions, Object};
use registry_core::context::{AuditLevel, AuditRecord, Budget};
use registry_core::registry::Services;
use registry_core::rest::webhook::{WebhookCall, WebhookError};
use registry_core::rest::{AdmitAll, Creater as _};
use serde_json::{Value, json};

use crate::admission::ObjectWriteMut;
use crate::admission::testing::{creation, installed};

use super::*;

/// Answers every call with this response, or not at all.
struct Answering(Mutex<Option<Value>>);

#[async_trait]
impl WebhookCaller for Answering {
    async fn call(&self, call: WebhookCall<'_>) -> Result<Bytes, WebhookError> {
        let review: Value = serde_json::from_slice(&call.body).unwrap();
        let response = self.0.lock().clone();
        let mut response = response.ok_or_else(|| WebhookError::Refused("no answer".to_owned()))?;
        response["uid"] = review["request"]["uid"].clone();
        let review =
            json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
        Ok(review.to_string().into())
    }
}

/// A plug-in with these configured webhooks, whose informer runs.
async fn mutating(webhooks: Value, answer: Option<Value>) -> MutatingAdmissionWebhook {
    let installed = installed(|plural| matches!(plural, "mutatingwebhookconfigurations" | "namespaces"));
    let store = installed.store(MutatingWebhookConfigurations::TYPE).unwrap();
    let configuration = json!({"metadata": {"name": "c"}, "webhooks": webhooks});
    let configuration = Object::from_value(configuration).unwrap();
    let context = RequestContext::system("");
    store.create(&context, configuration.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
    let services = Services { webhooks: Arc::new(Answering(Mutex::new(answer))), ..Services::default() };
    let dependencies = Dependencies {
        matcher: Matcher::new(&installed),
        caller: services.webhooks.clone(),
        access: services.access.clone(),
        metrics: crate::metrics::ServerMetrics::new().unwrap().admission().clone(),
    };
    let plugin = MutatingAdmissionWebhook::new(Configurations::from_store(store), Arc::new(dependencies));
    for task in plugin.informers() {
        tokio::spawn(task.run());
    }
    plugin
}

fn webhook(policy: &str) -> Value {
    let rule = json!({
        "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
    });
    json!([{
        "name": "w.example.com", "rules": [rule], "clientConfig": {"url": "https://127.0.0.1:1"},
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": policy,
    }])
}

fn object() -> Object {
    Object::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})).unwrap()
}

/// Returns the audit annotations of a write.
async fn annotations(plugin: &MutatingAdmissionWebhook, level: AuditLevel) -> Vec<(String, String)> {
    let record = Arc::new(AuditRecord::new(level, false));
    let mut context = RequestContext::system("default");
    context.audit = Some(record.clone());
    plugin.admit(&context, ObjectWriteMut::new(&creation(), Some(&mut object()), None)).await.unwrap();
    let owned = |(key, value): (Cow<'static, str>, Cow<'static, str>)| (key.into_owned(), value.into_owned());
    record.take().annotations.into_iter().map(owned).collect()
}

#[tokio::test]
async fn calls_are_annotated_for_the_audit() {
    // [{"op": "add", "path": "/data", "value": {}}]
    let patch = "W3sib3AiOiAiYWRkIiwgInBhdGgiOiAiL2RhdGEiLCAidmFsdWUiOiB7fX1d";
    let answer = json!({
        "allowed": true, "patchType": "JSONPatch", "patch": patch,
        "auditAnnotations": {"key": "value", "a/b": "malformed", "": "malformed"},
    });
    let plugin = mutating(webhook("Fail"), Some(answer)).await;
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let own = pair("w.example.com/key", "value");
    let mutation = pair(
        "mutation.webhook.admission.k8s.io/round_0_index_0",
        r#"{"configuration":"c","webhook":"w.example.com","mutated":true}"#,
    );
    let patch = pair(
        "patch.webhook.admission.k8s.io/round_0_index_0",
        r#"{"configuration":"c","webhook":"w.example.com","patch":[{"op":"add","path":"/data","value":{}}],"patchType":"JSONPatch"}"#,
    );
    assert_eq!(annotations(&plugin, AuditLevel::Metadata).await, [own.clone(), mutation.clone()]);
    assert_eq!(annotations(&plugin, AuditLevel::Request).await, [own, patch, mutation]);

    let plugin = mutating(webhook("Ignore"), None).await;
    let expected = [
        pair(
            "mutation.webhook.admission.k8s.io/round_0_index_0",
            r#"{"configuration":"c","webhook":"w.example.com","mutated":false}"#,
        ),
        pair("failed-open.mutation.webhook.admission.k8s.io/round_0_index_0", "w.example.com"),
    ];
    assert_eq!(annotations(&plugin, AuditLevel::Metadata).await, expected);
}

#[tokio::test]
async fn a_client_that_does_not_wait_any_more_gets_a_timeout() {
    let plugin = mutating(webhook("Ignore"), None).await;
    let mut context = RequestContext::system("default");
    context.budget = Budget::until(Some(Instant::now()));
    let failure = plugin
        .admit(&context, ObjectWriteMut::new(&creation(), Some(&mut object()), None))
        .await
        .unwrap_err();
    assert_eq!(failure.message, "Timeout: request did not complete within requested timeout");
    assert_eq!(failure.code, 504);
}
