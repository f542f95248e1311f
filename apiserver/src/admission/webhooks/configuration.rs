//! The registered webhooks, compiled once per change.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/configuration`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use registry_core::RequestContext;
use registry_core::api::{ListOptions, Object, StatusError};
use registry_core::registry::{
    Compiled, Informer, InformerChange, InformerHandler, InformerTask, Store, Synced,
};
use registry_core::rest::Lister as _;
use registry_core::rest::webhook::{WebhookClientConfig, WebhookTarget};
use registry_core::storage::{Revision, StoredObject};
use serde_json::Value;

use crate::admission::conditions::MatchConditions;
use crate::admission::manifests::{ManifestDirectory, Manifests};
use crate::admission::matching::{MatchCriteria, is_exempt};
use crate::admission::{Attributes, first_known};
use crate::metrics::ManifestMetrics;

use super::review::ReviewVersion;

/// Time after a write of a configuration through this server during which configurations are read instead of followed.
const DOUBT: Duration = Duration::from_secs(2);
/// The timeout of webhooks that have none, in seconds.
const DEFAULT_TIMEOUT_SECONDS: u64 = 10;
/// The port of services that have none.
const DEFAULT_PORT: u16 = 443;

/// A registered webhook.
pub(super) struct Webhook {
    /// Its name.
    pub(super) name: String,
    /// The name of the configuration.
    pub(super) configuration: String,
    /// Identifies it among all webhooks.
    pub(super) id: String,
    /// Where it is; an error if this cannot be read.
    pub(super) client: Result<WebhookClientConfig, ClientConfigError>,
    /// Which writes it is called for; `None` for none, because it has no rules.
    pub(super) criteria: Option<MatchCriteria>,
    /// Which of these it is called for.
    pub(super) conditions: MatchConditions,
    /// Whether a write goes on if the call fails.
    pub(super) ignores_failures: bool,
    /// Maximum time for a call.
    pub(super) timeout: Duration,
    /// Whether it can be called for a dry run.
    pub(super) side_effects: SideEffects,
    /// The first known version of reviews that it accepts.
    pub(super) review_version: Option<ReviewVersion>,
    /// Whether it is called again if a later plug-in changes the object.
    pub(super) is_reinvoked: bool,
}

/// Error of a webhook that says not where it is. Not retryable.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientConfigError {
    #[error("the caBundle is not base64: {0}")]
    Bundle(#[from] base64::DecodeError),
    #[error("webhook configuration must have either service or URL")]
    NoTarget,
}

/// Whether a webhook has effects beside its answer, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideEffects {
    /// Not for a dry run.
    NotOnDryRun,
    /// Always, or it does not know.
    Some,
    /// It does not say.
    Unspecified,
}

/// All webhooks of one kind of configuration, in the order in which they are called.
pub(super) struct Configurations {
    store: Arc<Store>,
    webhooks: Arc<Webhooks>,
    synced: Synced,
    informer: Mutex<Option<Informer<Webhooks>>>,
}

/// The handler of the informer: keeps the webhooks of all configurations as one list.
struct Webhooks {
    compiled: Compiled<Vec<Arc<Webhook>>>,
    /// `None` before the first list of configurations.
    known: ArcSwapOption<Known>,
    /// The webhooks of files.
    from_files: ArcSwap<Vec<Arc<Webhook>>>,
    /// Held while the list of all webhooks is replaced.
    replacing: Mutex<()>,
}

/// The webhooks of all configurations.
#[derive(Clone)]
struct Known {
    all: WebhookList,
    /// Until when a configuration is in doubt, because it was written through this server.
    doubted_until: Option<Instant>,
}

/// Webhooks in the order in which they are called.
pub(super) type WebhookList = Arc<Vec<Arc<Webhook>>>;

// === impl Configurations ===

impl Configurations {
    /// Creates the webhooks of the configurations in a store.
    pub(super) fn from_store(store: Arc<Store>) -> Self {
        let compiled = Compiled::new(store.clone(), |object| Some(webhooks_of(&object, "")));
        let webhooks = Arc::new(Webhooks {
            compiled,
            known: ArcSwapOption::empty(),
            from_files: ArcSwap::default(),
            replacing: Mutex::default(),
        });
        let informer = Informer::new(store.clone(), webhooks.clone());
        Self { store, webhooks, synced: informer.synced(), informer: Mutex::new(Some(informer)) }
    }

    /// Adds the webhooks of a directory. Returns the task that follows it.
    pub(super) fn follow(
        &self,
        directory: ManifestDirectory,
        metrics: &ManifestMetrics,
    ) -> BoxFuture<'static, ()> {
        let webhooks = self.webhooks.clone();
        directory.follow(metrics, move |manifests| webhooks.take_over(manifests))
    }

    /// Returns the informer, the first time it is called.
    pub(super) fn informer(&self) -> Option<InformerTask> {
        let mut informer = self.informer.lock();
        informer.take().map(Informer::into_task)
    }

    /// Returns the webhooks that may be called for a write; `None` if there are none. Those of the API are not called for writes
    /// that configure admission.
    ///
    /// # Errors
    /// 403 if they are not known yet, and do not become known in time.
    pub(super) async fn webhooks(
        &self,
        attributes: &Attributes<'_>,
    ) -> Result<Option<WebhookList>, StatusError> {
        if is_exempt(attributes) {
            self.notice(attributes);
            let from_files = self.webhooks.from_files.load_full();
            return Ok((!from_files.is_empty()).then_some(from_files));
        }
        let is_known = match &*self.webhooks.known.load() {
            Some(known) if known.is_doubted() => true,
            Some(known) => return Ok((!known.all.is_empty()).then(|| known.all.clone())),
            None => false,
        };
        let all = if is_known { self.newest().await? } else { self.first(attributes).await? };
        Ok((!all.is_empty()).then_some(all))
    }

    /// Waits for the first list of configurations.
    async fn first(&self, attributes: &Attributes<'_>) -> Result<WebhookList, StatusError> {
        let known = first_known(&self.webhooks.known, self.synced.wait(), attributes).await?;
        Ok(known.all.clone())
    }

    /// Returns the webhooks of the newest configurations.
    async fn newest(&self) -> Result<WebhookList, StatusError> {
        let page = self.store.list(&RequestContext::system(""), &ListOptions::default()).await?;
        let compiled = page.items.iter().filter_map(|entry| self.webhooks.compiled.for_object(entry));
        Ok(self.webhooks.with_those_of_files(compiled))
    }

    /// Notices that a configuration is about to be written. For a short time, the configurations themselves are read, so
    /// that a client that has registered a webhook finds it in force.
    fn notice(&self, attributes: &Attributes<'_>) {
        if attributes.resource.group_resource() != self.store.resource().group_resource() {
            return;
        }
        let doubted_until = Some(Instant::now() + DOUBT);
        self.webhooks.known.rcu(|known| {
            known.as_deref().map(|known| Arc::new(Known { doubted_until, all: known.all.clone() }))
        });
    }
}

// === impl Webhooks ===

impl Webhooks {
    /// Takes over the configurations of a directory.
    fn take_over(&self, manifests: &Manifests) {
        let webhooks =
            manifests.main.iter().flat_map(|configuration| webhooks_of(configuration, "manifest/"));
        self.from_files.store(Arc::new(webhooks.collect()));
        if self.known.load().is_some() {
            self.replace();
        }
    }

    /// Replaces the list of all webhooks.
    fn replace(&self) {
        let _alone = self.replacing.lock();
        let all = self.with_those_of_files(self.compiled.snapshot().values().cloned());
        self.known.rcu(|known| {
            let doubted_until = known.as_deref().and_then(|known| known.doubted_until);
            Some(Arc::new(Known { all: all.clone(), doubted_until }))
        });
    }

    /// Returns the webhooks of the files, and those of these configurations behind them: by the names of the configurations, and
    /// in each in its order.
    fn with_those_of_files(
        &self,
        configurations: impl Iterator<Item = Arc<Vec<Arc<Webhook>>>>,
    ) -> WebhookList {
        let mut all = self.from_files.load().to_vec();
        for webhooks in configurations {
            all.extend(webhooks.iter().cloned());
        }
        Arc::new(all)
    }
}

impl InformerHandler for Webhooks {
    fn replaced(&self, objects: Vec<StoredObject>) {
        self.compiled.replaced(objects);
    }

    fn changed(&self, change: InformerChange) {
        self.compiled.changed(change);
    }

    fn publish(&self) {
        self.compiled.publish();
        self.replace();
    }

    fn reached(&self, revision: Revision) {
        self.compiled.reached(revision);
    }
}

// === impl Known ===

impl Known {
    fn is_doubted(&self) -> bool {
        self.doubted_until.is_some_and(|until| Instant::now() < until)
    }
}

/// Compiles the webhooks of a configuration. `origin` tells those of configurations with one name apart.
fn webhooks_of(configuration: &Object, origin: &str) -> Vec<Arc<Webhook>> {
    let webhooks = configuration.get(&["webhooks"]).and_then(Value::as_array).into_iter().flatten();
    let mut of_name: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::new();
    for webhook in webhooks {
        let same = of_name.entry(text(webhook, "name")).or_default();
        let id = format!("{origin}{}/{}/{same}", configuration.name(), text(webhook, "name"));
        *same += 1;
        all.push(Arc::new(Webhook::new(configuration.name(), id, webhook)));
    }
    all
}

// === impl Webhook ===

impl Webhook {
    fn new(configuration: &str, id: String, webhook: &Value) -> Self {
        let versions = webhook.get("admissionReviewVersions").and_then(Value::as_array);
        let mut versions = versions.into_iter().flatten().filter_map(Value::as_str);
        let has_rules = webhook.get("rules").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        let ignores_failures = text(webhook, "failurePolicy") == "Ignore";
        let seconds = webhook.get("timeoutSeconds").and_then(Value::as_u64);
        Self {
            name: text(webhook, "name").to_owned(),
            configuration: configuration.to_owned(),
            id,
            client: client_config(webhook.get("clientConfig").unwrap_or(&Value::Null)),
            criteria: has_rules.then(|| MatchCriteria::from_webhook(webhook)),
            conditions: MatchConditions::from_webhook(webhook.get("matchConditions")),
            ignores_failures,
            timeout: Duration::from_secs(seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS)),
            side_effects: SideEffects::from_name(webhook.get("sideEffects").and_then(Value::as_str)),
            review_version: versions.find_map(ReviewVersion::from_name),
            is_reinvoked: text(webhook, "reinvocationPolicy") == "IfNeeded",
        }
    }
}

fn client_config(client: &Value) -> Result<WebhookClientConfig, ClientConfigError> {
    let ca_bundle = STANDARD.decode(text(client, "caBundle"))?;
    let target = match (client.get("url").and_then(Value::as_str), client.get("service")) {
        (Some(url), _) => WebhookTarget::Url(url.to_owned()),
        (None, Some(service)) => WebhookTarget::Service {
            namespace: text(service, "namespace").to_owned(),
            name: text(service, "name").to_owned(),
            path: text(service, "path").to_owned(),
            port: service
                .get("port")
                .and_then(Value::as_u64)
                .and_then(|port| port.try_into().ok())
                .unwrap_or(DEFAULT_PORT),
        },
        (None, None) => return Err(ClientConfigError::NoTarget),
    };
    Ok(WebhookClientConfig { target, ca_bundle })
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

// === impl SideEffects ===

impl SideEffects {
    fn from_name(class: Option<&str>) -> Self {
        match class {
            Some("None" | "NoneOnDryRun") => Self::NotOnDryRun,
            Some(_) => Self::Some,
            None => Self::Unspecified,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn webhooks(webhooks: &Value) -> Vec<Arc<Webhook>> {
        let configuration = json!({"metadata": {"name": "c"}, "webhooks": webhooks});
        webhooks_of(&Object::from_value(configuration).unwrap(), "")
    }

    #[test]
    fn webhooks_are_compiled_in_order_and_identified() {
        let rules = json!([{"operations": ["*"]}]);
        let service = json!({"service": {"namespace": "n", "name": "s", "path": "/p", "port": 8443}});
        let all = webhooks(&json!([
            {"name": "a.example.com", "rules": rules, "clientConfig": service, "timeoutSeconds": 3},
            {"name": "never.example.com", "clientConfig": service},
            {"name": "a.example.com", "rules": rules, "clientConfig": {"url": "https://x", "caBundle": "?"}},
        ]));
        let ids: Vec<&str> = all.iter().map(|webhook| webhook.id.as_str()).collect();
        assert_eq!(ids, ["c/a.example.com/0", "c/never.example.com/0", "c/a.example.com/1"]);
        assert!(all[0].criteria.is_some() && all[1].criteria.is_none());
        let target = all[0].client.as_ref().unwrap().target.to_string();
        assert_eq!((target.as_str(), all[0].timeout.as_secs()), ("https://s.n.svc:8443/p", 3));
        assert!(all[2].client.as_ref().unwrap_err().to_string().contains("not base64"));
        assert_eq!(all[2].timeout.as_secs(), 10);
    }

    #[test]
    fn the_first_known_review_version_is_used() {
        let of = |versions: &Value| {
            let rules = json!([{"operations": ["*"]}]);
            webhooks(&json!([{"rules": rules, "admissionReviewVersions": versions}]))[0].review_version
        };
        assert_eq!(of(&json!(["v2", "v1", "v1beta1"])), Some(ReviewVersion::V1));
        assert_eq!(of(&json!(["v1beta1", "v1"])), Some(ReviewVersion::V1Beta1));
        assert_eq!(of(&json!(["v2"])), None);
    }
}
