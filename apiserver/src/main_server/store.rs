//! Stores of the main server's resources: cached here, followed by one list and one watch each, and read-only.
//!
//! They are installed as the stores of this server's own resources are, so that admission reads either in the same way.
//! Reads of any available state come from the cache, all others from the main server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clients::Client;
use futures::StreamExt as _;
use futures::stream;
use registry_core::ResourceType;
use registry_core::api::{Object, Preconditions, StatusError};
use registry_core::codec::stored;
use registry_core::reflector::{Change, Event};
use registry_core::registry::storage_map::OpenStorage;
use registry_core::registry::{InstalledApi, Services};
use registry_core::resource::{Resource as _, ResourceDescription, Versions};
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_core::storage::interface::ValidateDeletion;
use registry_core::storage::{
    CorruptObject, Entry, Interface, ListPage, ListRequest, NewValue, NotReady, Revision, StorageError,
    StoredObject, TryUpdate, Unreadable, Updated, WatchError, WatchEvent, WatchRequest, WatchStream,
};
use resources::api::admissionregistration::mutatingadmissionpolicies::MutatingAdmissionPolicies;
use resources::api::admissionregistration::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings;
use resources::api::admissionregistration::mutatingwebhookconfigurations::MutatingWebhookConfigurations;
use resources::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies;
use resources::api::admissionregistration::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings;
use resources::api::admissionregistration::validatingwebhookconfigurations::ValidatingWebhookConfigurations;
use resources::api::core::namespaces::Namespaces;
use resources::api::core::services::Services as ServiceResource;
use resources::api::flowcontrol::flowschemas::FlowSchemas;
use resources::api::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations;

use crate::api_server::{self, ApiServerError, Events};

/// The resources that admission depends on.
const FOLLOWED: [&ResourceDescription; 8] = [
    Namespaces::TYPE,
    ServiceResource::TYPE,
    MutatingWebhookConfigurations::TYPE,
    ValidatingWebhookConfigurations::TYPE,
    MutatingAdmissionPolicies::TYPE,
    MutatingAdmissionPolicyBindings::TYPE,
    ValidatingAdmissionPolicies::TYPE,
    ValidatingAdmissionPolicyBindings::TYPE,
];
/// The resources that priority and fairness depends on.
const FOLLOWED_BY_FAIRNESS: [&ResourceDescription; 2] =
    [FlowSchemas::TYPE, PriorityLevelConfigurations::TYPE];
/// The prefix of the keys in the caches.
const PREFIX: &str = "/main";
/// Number of events that a cache keeps, for the informers of this process.
const HISTORY_EVENTS: usize = 1_000;
/// Interval between bookmarks for those informers.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);
/// Time after which a resource that the main server does not have is looked for again.
const ABSENT_PERIOD: Duration = Duration::from_secs(30);

/// Opens the stores of a main server's resources.
struct MainStorages {
    client: Arc<Client>,
    budget: Arc<CacheBudget>,
    services: Services,
}

/// A resource of the main server, without a cache.
struct Source {
    client: Arc<Client>,
    versions: Arc<Versions>,
    /// The path of its group version.
    api_path: Arc<str>,
    /// The prefix of its keys in the cache.
    prefix: Arc<str>,
}

/// The reads of a storage that has no others.
#[async_trait]
trait Reads: Send + Sync + 'static {
    /// As [`Interface::get`].
    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError>;
    /// As [`Interface::list`].
    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError>;
    /// As [`Interface::watch`].
    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError>;
    /// As [`Interface::count`].
    async fn count(&self, prefix: &str) -> Result<u64, StorageError>;
    /// As [`Interface::readiness`].
    fn readiness(&self) -> Result<(), NotReady> {
        Ok(())
    }
}

/// A storage that refuses writes.
struct ReadOnly<R>(R);

/// A cached resource of the main server.
struct MainStore {
    source: Arc<Source>,
    cacher: Arc<Cacher>,
}

/// Installs the stores of the main server's resources that admission depends on, and, `with_fairness`, priority and
/// fairness. They are added to the stores of `services`.
///
/// # Errors
/// Fails if a store cannot be opened.
pub(crate) fn install(
    client: Arc<Client>,
    services: Services,
    cache_bytes: usize,
    with_fairness: bool,
) -> Result<InstalledApi, StorageError> {
    let storages = MainStorages { client, budget: Arc::new(CacheBudget::new(cache_bytes)), services };
    let is_followed = |resource: &ResourceDescription| {
        let of_fairness = FOLLOWED_BY_FAIRNESS.iter().filter(|_| with_fairness);
        FOLLOWED.iter().chain(of_fairness).any(|followed| followed.resource() == resource.resource())
    };
    resources::STORAGE_MAP.install(&storages, &is_followed)
}

// === impl MainStorages ===

impl OpenStorage for MainStorages {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let hub = versions.hub();
        let prefix = format!("{PREFIX}/{}/", hub.storage_prefix);
        let source = Arc::new(Source {
            client: self.client.clone(),
            versions: versions.clone(),
            api_path: match hub.kind.group {
                "" => format!("/api/{}", hub.kind.version).into(),
                group => format!("/apis/{group}/{}", hub.kind.version).into(),
            },
            prefix: prefix.as_str().into(),
        });
        let options = CacherOptions {
            prefix,
            indexes: &[],
            budget: self.budget.clone(),
            history_events: HISTORY_EVENTS,
            bookmark_period: BOOKMARK_PERIOD,
        };
        let cacher = Cacher::new(Arc::new(ReadOnly(source.clone())), options);
        Ok(Arc::new(ReadOnly(MainStore { source, cacher })))
    }

    fn prefix(&self) -> &str {
        PREFIX
    }

    fn services(&self) -> Services {
        self.services.clone()
    }
}

// === impl Source ===

impl Source {
    fn hub(&self) -> &ResourceType {
        self.versions.hub()
    }

    /// Returns the URL path of the objects below a prefix of keys: of one namespace, or of all.
    fn collection(&self, prefix: &str) -> String {
        let namespace = prefix.strip_prefix(&*self.prefix).unwrap_or_default().trim_end_matches('/');
        let (api_path, plural) = (&self.api_path, self.hub().plural);
        match namespace {
            "" => format!("{api_path}/{plural}"),
            namespace => format!("{api_path}/namespaces/{namespace}/{plural}"),
        }
    }

    /// Returns the URL path of an object. The segments of keys are valid names, which need no escaping.
    fn path(&self, key: &str) -> String {
        let name = key.strip_prefix(&*self.prefix).unwrap_or_default();
        match name.split_once('/') {
            Some((namespace, name)) => {
                format!("{}/{name}", self.collection(&format!("{}{namespace}", self.prefix)))
            }
            None => format!("{}/{name}", self.collection(&self.prefix)),
        }
    }

    /// Returns an object of the main server as a cache holds it.
    fn entry(&self, mut object: Object) -> Result<StoredObject, StorageError> {
        let hub = self.hub();
        let name = object.name();
        let key = match object.namespace() {
            namespace if hub.is_namespaced() => format!("{}{namespace}/{name}", self.prefix),
            _ => format!("{}{name}", self.prefix),
        };
        let revision = api_server::revision_of(&object).map_err(unavailable)?;
        object.set_type(&hub.group_version().api_version(), hub.kind.kind);
        // Nobody reads them here.
        object.metadata_mut().remove("managedFields");
        let attributes = hub.attributes(&object);
        let value = stored::encode(&object, hub.schema().field_order());
        let line = stored::with_resource_version(&value, revision);
        let (line, item_offset) = line.map_err(|error| {
            let reason = Unreadable::Metadata(Arc::new(error));
            StorageError::Corrupt(CorruptObject { key: key.clone(), revision, reason })
        })?;
        Ok(Arc::new(Entry::new(key.into(), revision, line, item_offset, attributes)))
    }

    fn event(&self, event: Result<Event<Object>, ApiServerError>) -> Result<WatchEvent, WatchError> {
        let entry =
            |object| self.entry(object).map_err(|error| WatchError::Interrupted(error.to_string().into()));
        let Event { revision, change } = event.map_err(|error| match error {
            ApiServerError::Gone(_) => WatchError::Compacted { requested: 0, oldest: 0 },
            error => WatchError::Interrupted(error.to_string().into()),
        })?;
        match change {
            Some(Change::Added(object)) => entry(object).map(WatchEvent::Added),
            Some(Change::Modified(object)) => entry(object).map(WatchEvent::Modified),
            Some(Change::Deleted(object)) => entry(object).map(WatchEvent::Deleted),
            None => Ok(WatchEvent::Bookmark { revision, initial_events_end: false }),
        }
    }

    /// Opens a watch of the changes after a revision. If the main server does not have the resource, the watch ends after a
    /// time, and the resource is listed again.
    async fn events(&self, prefix: &str, after: Revision) -> Result<Events, StorageError> {
        let path = format!("{}?", self.collection(prefix));
        match api_server::watch(&*self.client, &path, after).await {
            Ok(events) => Ok(events),
            Err(ApiServerError::NotFound(message)) => {
                let end = async move {
                    tokio::time::sleep(ABSENT_PERIOD).await;
                    Err(ApiServerError::Gone(message))
                };
                Ok(stream::once(end).boxed())
            }
            Err(ApiServerError::Gone(_)) => {
                Err(StorageError::Compacted { requested: after, oldest: 0, fresh_continue: None })
            }
            Err(error) => Err(unavailable(error)),
        }
    }
}

fn unavailable(error: ApiServerError) -> StorageError {
    StorageError::unavailable(error)
}

fn read_only() -> StorageError {
    StorageError::Rejected(StatusError::internal("objects of the main server are not written from here"))
}

// === impl ReadOnly ===

#[async_trait]
impl<R: Reads> Interface for ReadOnly<R> {
    async fn create(&self, _: &str, _: NewValue, _: Option<Duration>) -> Result<StoredObject, StorageError> {
        Err(read_only())
    }

    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        self.0.get(key, not_older_than).await
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        self.0.list(prefix, request).await
    }

    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        self.0.watch(prefix, request).await
    }

    async fn guaranteed_update(
        &self,
        _: &str,
        _: &Preconditions,
        _: &mut dyn TryUpdate,
        _: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        Err(read_only())
    }

    async fn delete(
        &self,
        _: &str,
        _: &Preconditions,
        _: &mut dyn ValidateDeletion,
        _: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError> {
        Err(read_only())
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        self.0.count(prefix).await
    }

    async fn current_revision(&self) -> Result<Revision, StorageError> {
        Err(StorageError::unavailable("the revision of the main server is not known"))
    }

    async fn request_progress(&self) -> Result<(), StorageError> {
        Err(StorageError::unavailable("the main server reports its progress by itself"))
    }

    fn readiness(&self) -> Result<(), NotReady> {
        self.0.readiness()
    }
}

/// The reads of a cache from the main server behind it.
#[async_trait]
impl Reads for Arc<Source> {
    async fn get(&self, key: &str, _: Option<Revision>) -> Result<Option<StoredObject>, StorageError> {
        let found = api_server::get(&*self.client, &self.path(key)).await.map_err(unavailable)?;
        found.map(|object| self.entry(object)).transpose()
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        let path = format!("{}?", self.collection(prefix));
        let page = match api_server::page(&*self.client, &path, request.continue_token.as_deref()).await {
            Ok(page) => page,
            // An older main server may not have the resource.
            Err(ApiServerError::NotFound(_)) => return Ok(ListPage { revision: 1, ..ListPage::default() }),
            Err(error) => return Err(unavailable(error)),
        };
        let entries: Result<Vec<StoredObject>, StorageError> =
            page.items.into_iter().map(|object| self.entry(object)).collect();
        let mut items = entries?;
        items.retain(|entry| request.predicate.selects(entry));
        Ok(ListPage {
            revision: page.revision,
            items,
            continue_token: page.continue_token,
            ..ListPage::default()
        })
    }

    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        let after = request.revision.filter(|_| request.send_initial_events == Some(false));
        let (Some(after), true) = (after, request.predicate.is_everything()) else {
            return Err(StorageError::unavailable("the objects of the main server are not known yet"));
        };
        let events = self.events(prefix, after).await?;
        let own = self.clone();
        Ok(events.map(move |event| own.event(event)).boxed())
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        let mut request = ListRequest::default();
        let mut count = 0;
        loop {
            let page = self.list(prefix, &request).await?;
            count += page.items.len() as u64;
            request.continue_token = page.continue_token;
            if request.continue_token.is_none() {
                return Ok(count);
            }
        }
    }
}

// === impl MainStore ===

#[async_trait]
impl Reads for MainStore {
    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        match not_older_than {
            Some(_) => self.cacher.get(key, not_older_than).await,
            None => self.source.get(key, None).await,
        }
    }

    /// Lists the cached objects: informers and parameters of policies need no newer ones.
    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        let mut request = request.clone();
        if request.continue_token.is_none() {
            request.revision = request.revision.or(Some(0));
        }
        self.cacher.list(prefix, &request).await
    }

    /// Watches the cache, from what it holds on.
    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        let mut request = request.clone();
        request.revision = request.revision.or(Some(0));
        self.cacher.watch(prefix, &request).await
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        self.source.count(prefix).await
    }

    fn readiness(&self) -> Result<(), NotReady> {
        self.cacher.readiness()
    }
}
