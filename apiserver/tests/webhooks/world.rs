//! A server, a client of it, and a webhook.

use apiserver::testing::{TestServer, TestServerBuilder};
use serde_json::{Value, json};

use crate::client::{Answer, Connection, Protocol};
use crate::hook::Hook;

pub const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub struct World {
    pub server: TestServer,
    pub hook: Hook,
    connection: Connection,
}

/// The kind of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mutating,
    Validating,
}

impl World {
    pub async fn start() -> Self {
        Self::over(TestServer::builder().memory()).await
    }

    pub async fn over(builder: TestServerBuilder) -> Self {
        Self::with_hook(builder, Hook::start().await).await
    }

    pub async fn with_hook(builder: TestServerBuilder, hook: Hook) -> Self {
        let server = builder
            .without_controllers()
            .flag("--disable-admission-plugins=ServiceAccount")
            .start()
            .await
            .unwrap();
        let connection = Connection::open(&server, Protocol::Http2).await;
        Self { server, hook, connection }
    }

    pub async fn send(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.connection.call(method, path, body).await
    }

    /// Sends a request that must be answered with this status, and returns the body.
    pub async fn expect(&mut self, status: u16, method: &str, path: &str, body: Value) -> Value {
        let answer = self.send(method, path, &body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        answer.json()
    }

    pub async fn get(&mut self, path: &str) -> Value {
        self.expect(200, "GET", path, Value::Null).await
    }

    /// Returns a webhook at this path of the webhook server, called for these operations and resources.
    pub fn webhook(
        &self,
        path: &str,
        operation: &str,
        (group, version, resource): (&str, &str, &str),
    ) -> Value {
        let rule = json!({
            "operations": [operation], "apiGroups": [group], "apiVersions": [version], "resources": [resource],
        });
        json!({
            "name": format!("{}.example.com", path.replace('/', "-")),
            "rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
            "clientConfig": { "url": self.hook.url(path), "caBundle": self.hook.ca_bundle },
        })
    }

    /// Registers webhooks.
    pub async fn register(&mut self, kind: Kind, name: &str, webhooks: &[Value]) {
        let mut probe = self.webhook(&format!("probe-{name}"), "CREATE", ("", "v1", "configmaps"));
        probe["objectSelector"] = json!({ "matchLabels": { "probe": name } });
        let webhooks: Vec<&Value> = [&probe].into_iter().chain(webhooks).collect();
        let (plural, kind) = kind.names();
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": { "name": name }, "webhooks": webhooks,
        });
        self.expect(201, "POST", &format!("{GROUP}/{plural}"), configuration).await;
        // A webhook that was registered through this server is in force at once.
        let probed = json!({ "metadata": { "name": "probe", "labels": { "probe": name } } });
        self.send("POST", &format!("{MAPS}?dryRun=All"), &probed).await;
        assert_eq!(self.hook.calls(&format!("probe-{name}")).len(), 1);
    }

    pub async fn unregister(&mut self, kind: Kind, name: &str) {
        let (plural, _) = kind.names();
        self.expect(200, "DELETE", &format!("{GROUP}/{plural}/{name}"), Value::Null).await;
    }
}

impl Kind {
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Mutating => ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
            Self::Validating => ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        }
    }
}

/// Returns a configmap.
pub fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "1" } })
}
