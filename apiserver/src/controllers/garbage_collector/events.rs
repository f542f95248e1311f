//! Events about references to owners in other namespaces, which can never be valid.
//!
//! An owner may be known to be in another namespace: it has a node. Otherwise only its absence from the dependent's
//! namespace is known, as the graph has no nodes of objects that own nothing, and the owner is looked for in all
//! namespaces by its name. That takes time in the number of objects of its kind, which whoever writes references can cause. Therefore
//! references are looked at one after the other, at limited speed, from a queue of limited length; what finds no place in
//! it is not reported.
//!
//! Kubernetes concept: `reportInvalidNamespaceOwnerRef` in `pkg/controller/garbagecollector`; `EventRecorder` of
//! `k8s.io/client-go/tools/record`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use registry_core::api::go_text::quote;
use registry_core::api::{time, validation};
use registry_core::registry::store::new_uid;
use registry_core::rest::connect::encode_query;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::controllers::client::Failure;
use crate::controllers::metadata::{Metadata, set};

use super::GarbageCollector;
use super::graph::Reference;

/// The name of the controller in events.
const COMPONENT: &str = "garbage-collector-controller";
/// The namespace of events about cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";
/// Maximum number of references that wait for their report.
const MAX_WAITING: usize = 1000;
/// Number of references that are remembered as reported.
const MAX_REPORTED: usize = 256;
/// Time between two searches for owners.
const PAUSE: Duration = Duration::from_millis(50);

/// A reference that may have to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The owner is in another namespace.
    Elsewhere(Reference),
    /// The owner is not in the namespace of the dependent.
    Absent(Reference),
}

/// The references that wait for their report.
#[derive(Default)]
pub(super) struct Findings {
    waiting: Mutex<VecDeque<Finding>>,
    added: Notify,
}

/// The references that were reported last.
#[derive(Default)]
struct Reported(VecDeque<Reference>);

// === impl Findings ===

impl Findings {
    /// Adds a reference, if there is room.
    pub(super) fn add(&self, finding: Finding) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MAX_WAITING {
            tracing::debug!("an event about a reference is not created: too many others wait");
            return;
        }
        waiting.push_back(finding);
        drop(waiting);
        self.added.notify_one();
    }

    async fn next(&self) -> Finding {
        loop {
            let next = self.waiting.lock().pop_front();
            match next {
                Some(finding) => return finding,
                None => self.added.notified().await,
            }
        }
    }
}

// === impl Reported ===

impl Reported {
    fn has(&self, reference: &Reference) -> bool {
        self.0.contains(reference)
    }

    fn note(&mut self, reference: Reference) {
        if self.0.len() >= MAX_REPORTED {
            self.0.pop_front();
        }
        self.0.push_back(reference);
    }
}

// === impl GarbageCollector ===

impl GarbageCollector {
    /// Creates events until it is dropped.
    pub(super) async fn report(&self) {
        let mut reported = Reported::default();
        loop {
            let (reference, is_found) = match self.graph.findings.next().await {
                Finding::Elsewhere(reference) => (reference, true),
                Finding::Absent(reference) => (reference, false),
            };
            // No search for what is reported already.
            if reported.has(&reference) || !(is_found || self.finds_elsewhere(&reference).await) {
                continue;
            }
            let event = event_about(&reference);
            let path = format!("/api/v1/namespaces/{}/events", namespace_of_event(&reference));
            if let Err(failure) = self.client.create(&path, &event).await {
                tracing::debug!("an event about a reference is not created: {failure}");
            }
            reported.note(reference);
        }
    }

    /// Looks for the owner, after a pause. A search that fails finds nothing.
    async fn finds_elsewhere(&self, reference: &Reference) -> bool {
        tokio::time::sleep(PAUSE).await;
        self.is_elsewhere(reference).await.unwrap_or_else(|failure| {
            tracing::debug!("an owner cannot be looked for: {failure}");
            false
        })
    }

    /// Whether the owner exists in another namespace than that of the dependent.
    async fn is_elsewhere(&self, reference: &Reference) -> Result<bool, Failure> {
        let owner = &reference.owner;
        let Some(kind) = self.objects.kinds().find(&owner.api_version, &owner.kind).cloned() else {
            return Ok(false);
        };
        if !kind.is_namespaced {
            return Ok(false);
        }
        let query = encode_query([
            ("fieldSelector", Cow::from(format!("metadata.name={}", escaped(&owner.name)))),
            ("resourceVersion", Cow::from("0")),
        ]);
        let list = self.client.get(&format!("{}?{query}", kind.collection(""))).await?.unwrap_or_default();
        let found = list.get("items").and_then(Value::as_array).into_iter().flatten();
        let mut found = found.filter_map(Metadata::from_value).filter(|found| found.uid == owner.uid);
        Ok(found.any(|found| found.namespace != reference.dependent.namespace))
    }
}

/// Returns a name as the value of a field selector.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn namespace_of_event(reference: &Reference) -> &str {
    match reference.dependent.namespace.as_str() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    }
}

fn event_about(reference: &Reference) -> Value {
    let Reference { uid, dependent, owner } = reference;
    let now = time::now();
    let name = format!("{}.{:x}", dependent.name, jiff::Timestamp::now().as_nanosecond());
    let name = if validation::names::dns_subdomain(&name).is_empty() { name } else { new_uid() };
    let namespace = &dependent.namespace;
    let message = format!(
        "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {}",
        owner.api_version,
        owner.kind,
        owner.name,
        owner.uid,
        quote(namespace),
    );
    let mut involved = json!({
        "apiVersion": dependent.api_version, "kind": dependent.kind, "name": dependent.name, "uid": &**uid,
    });
    if !namespace.is_empty() {
        set(&mut involved, "namespace", namespace.as_str().into());
    }
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": { "name": name, "namespace": namespace_of_event(reference) },
        "involvedObject": involved,
        "type": "Warning", "reason": "OwnerRefInvalidNamespace", "message": message,
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
        "source": { "component": COMPONENT }, "reportingComponent": COMPONENT, "reportingInstance": "",
    })
}
