//! Kinds of the main server that admission policies have as parameters: built-in, custom, or of other extension servers.
//!
//! A kind is looked up in the main server's discovery when a policy needs it first. From then on its objects are followed,
//! until no policy has needed them for some time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use clients::Client;
use parking_lot::Mutex;
use registry_core::api::selector::LabelSelector;
use registry_core::api::{Object, Scope};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::api_server::follow::{Followed, follow};
use crate::api_server::{self, ApiServerError};

/// Maximum time that a write waits until a kind and its objects are known.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time for which a kind that the main server does not have is not looked up again.
const ABSENT_PERIOD: Duration = Duration::from_secs(1);
/// Time after its last use at which a kind is not followed any longer.
const UNUSED_PERIOD: Duration = Duration::from_mins(10);
/// Maximum number of kinds that are followed.
const MAX_KINDS: usize = 256;

/// The kinds of a main server.
pub(crate) struct MainKinds {
    client: Arc<Client>,
    known: Mutex<HashMap<KindName, Known>>,
    /// Held while a kind is looked up, so that many writes cause one request.
    discovering: tokio::sync::Mutex<()>,
}

/// The objects of a kind of the main server.
pub(crate) struct MainKind {
    scope: Scope,
    objects: Arc<Followed<Object>>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct KindName {
    group: String,
    version: String,
    kind: String,
}

/// Error of a kind whose objects are not known. Retryable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KindError {
    #[error("the main server has not answered whether it has the kind {0}")]
    NoAnswer(String),
    #[error("the objects of the kind {kind} are not known yet{}", reason(.source.as_ref()))]
    NotListed { kind: String, source: Option<ApiServerError> },
    #[error("policies have parameters of more than {} kinds", MAX_KINDS)]
    TooMany,
    /// The main server does not say whether it has the kind.
    #[error(transparent)]
    Source(#[from] ApiServerError),
}

/// A kind has to be looked up.
struct NotKnown;

enum Known {
    Present { kind: Arc<MainKind>, used: Instant },
    Absent { until: Instant },
}

/// The resources of an `APIResourceList`.
#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<ListedResource>,
}

#[derive(Deserialize)]
struct ListedResource {
    name: String,
    kind: String,
    namespaced: bool,
}

fn reason(failure: Option<&ApiServerError>) -> String {
    failure.map_or_else(String::new, |failure| format!(": {failure}"))
}

// === impl MainKinds ===

impl MainKinds {
    /// Creates the kinds of a main server. None is followed yet.
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client, known: Mutex::default(), discovering: tokio::sync::Mutex::default() }
    }

    /// Returns a kind, whose objects are known; `None` if the main server does not have it.
    ///
    /// # Errors
    /// Fails if the main server does not answer in time, or refuses.
    pub(crate) async fn find(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Option<Arc<MainKind>>, KindError> {
        let [group, version, kind] = [group, version, kind].map(str::to_owned);
        let name = KindName { group, version, kind };
        let deadline = Instant::now() + TIMEOUT;
        let found = tokio::time::timeout_at(deadline, self.find_or_discover(&name)).await;
        let Ok(found) = found else { return Err(KindError::NoAnswer(name.kind)) };
        let Some(found) = found? else { return Ok(None) };
        if tokio::time::timeout_at(deadline, found.objects.listed()).await.is_err() {
            return Err(KindError::NotListed { kind: name.kind, source: found.objects.failure() });
        }
        Ok(Some(found))
    }

    async fn find_or_discover(&self, name: &KindName) -> Result<Option<Arc<MainKind>>, KindError> {
        if let Ok(answer) = self.find_known(name) {
            return Ok(answer);
        }
        let _discovering = self.discovering.lock().await;
        if let Ok(answer) = self.find_known(name) {
            return Ok(answer);
        }
        let listed = self.discover(name).await?;
        let now = Instant::now();
        let mut known = self.known.lock();
        known.retain(|_, known| known.is_needed(now));
        let Some(listed) = listed else {
            known.insert(name.clone(), Known::Absent { until: now + ABSENT_PERIOD });
            return Ok(None);
        };
        if known.len() >= MAX_KINDS {
            return Err(KindError::TooMany);
        }
        let kind = Arc::new(self.followed(name, &listed));
        known.insert(name.clone(), Known::Present { kind: kind.clone(), used: now });
        Ok(Some(kind))
    }

    /// Returns what is known of a kind: its objects, or that there is none.
    fn find_known(&self, name: &KindName) -> Result<Option<Arc<MainKind>>, NotKnown> {
        let mut known = self.known.lock();
        match known.get_mut(name) {
            // If it is gone, it was removed, or its objects are elsewhere now.
            Some(Known::Present { kind, used }) if !kind.is_gone() => {
                *used = Instant::now();
                Ok(Some(kind.clone()))
            }
            Some(Known::Absent { until }) if Instant::now() < *until => Ok(None),
            _ => Err(NotKnown),
        }
    }

    /// Returns the resource of a kind in the main server's discovery.
    async fn discover(&self, name: &KindName) -> Result<Option<ListedResource>, ApiServerError> {
        let list: ResourceList = match api_server::document(&*self.client, &name.root()).await {
            Ok(list) => list,
            Err(ApiServerError::NotFound(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let is_wanted =
            |resource: &ListedResource| resource.kind == name.kind && !resource.name.contains('/');
        Ok(list.resources.into_iter().find(is_wanted))
    }

    fn followed(&self, name: &KindName, listed: &ListedResource) -> MainKind {
        let path = format!("{}/{}?", name.root(), listed.name);
        let (objects, keeper) = Followed::new(path.trim_end_matches('?').to_owned(), Some);
        let client = self.client.clone();
        let task = tokio::spawn(async move { follow(&*client, &path, keeper).await });
        let scope = if listed.namespaced { Scope::Namespaced } else { Scope::Cluster };
        MainKind { scope, objects, _task: AbortOnDropHandle::new(task) }
    }
}

// === impl MainKind ===

impl MainKind {
    /// Returns the scope of the objects.
    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns an object.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Object> {
        self.objects.get(namespace, name).map(|object| Object::clone(&object))
    }

    /// Returns the objects of a namespace, or of all if it is empty, that a selector matches.
    pub(crate) fn select(&self, namespace: &str, selector: &LabelSelector) -> Vec<Object> {
        let matches = |object: &Arc<Object>| selector.matches(|key| object.label(key));
        let all = self.objects.all(namespace).into_iter();
        all.filter(matches).map(|object| Object::clone(&object)).collect()
    }

    fn is_gone(&self) -> bool {
        matches!(self.objects.failure(), Some(ApiServerError::NotFound(_)))
    }
}

// === impl KindName ===

impl KindName {
    /// Returns the path of the group version.
    fn root(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

// === impl Known ===

impl Known {
    fn is_needed(&self, now: Instant) -> bool {
        match self {
            Self::Present { used, .. } => now.duration_since(*used) < UNUSED_PERIOD,
            Self::Absent { until } => now < *until,
        }
    }
}
