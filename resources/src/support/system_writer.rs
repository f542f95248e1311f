//! Writes of the server itself to the objects of one resource: with defaults, and with the server as field manager.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;
use registry_core::RequestContext;
use registry_core::api::{
    CreateOptions, DeleteOptions, GetOptions, ListOptions, Object, Preconditions, Reason, StatusError,
    UpdateOptions, time,
};
use registry_core::apply::{Conversions, FieldManager, Reset, reset_fields};
use registry_core::context::Budget;
use registry_core::registry::{InstalledApi, Store, SubresourceStore};
use registry_core::resource::Resource;
use registry_core::rest::{
    AdmitAll, Answer, Creater as _, Getter as _, GracefulDeleter as _, Lister as _, Storage as _,
    UpdatedObject, Updater as _,
};
use registry_core::storage::StoredObject;

/// The field manager of the server's own writes.
const FIELD_MANAGER: &str = "kube-apiserver";

/// Writes the objects of one resource.
pub(crate) struct SystemWriter {
    store: Arc<Store>,
    api_version: String,
    blank: Object,
}

/// The stored objects of a resource, by namespace and name. None is decoded.
pub(crate) struct Present {
    store: Arc<Store>,
    objects: HashMap<Arc<str>, StoredObject>,
}

/// An update by a function of the present object, recorded in the managed fields.
struct Change<'a, F> {
    system_writer: &'a SystemWriter,
    subresource: &'static str,
    make: F,
}

// === impl Present ===

impl Present {
    /// Returns the stored object of that name.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&StoredObject> {
        let key = self.store.key(&RequestContext::system(namespace), name).ok()?;
        self.objects.get(key.as_str())
    }

    /// Returns all objects.
    pub(crate) fn all(&self) -> impl Iterator<Item = &StoredObject> {
        self.objects.values()
    }
}

// === impl SystemWriter ===

impl SystemWriter {
    /// Creates a writer for an installed resource; `None` if it is not served.
    pub(crate) fn for_resource<R: Resource>(installed: &InstalledApi) -> Option<Self> {
        installed.store(R::TYPE).map(Self::new)
    }

    /// Creates a writer for the resource of a store.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let api_version = store.resource().kind.group_version().api_version();
        let mut system_writer = Self { store, api_version, blank: Object::default() };
        system_writer.blank = system_writer.conformed(Object::default());
        system_writer
    }

    /// Returns all stored objects from the cache, which is up to date because this is its first read.
    pub(crate) async fn present(&self) -> Result<Present, StatusError> {
        let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
        let page = self.store.list(&RequestContext::system(""), &options).await?;
        let objects = page.items.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        Ok(Present { store: self.store.clone(), objects })
    }

    /// Returns the result of `summarize` for each stored object, at least as new as every write acknowledged before the
    /// call. Decodes one object at a time.
    pub(crate) async fn list_newest<T>(
        &self,
        summarize: impl Fn(Object) -> T,
    ) -> Result<Vec<T>, StatusError> {
        let page = self.store.list(&RequestContext::system(""), &ListOptions::default()).await?;
        page.items.iter().map(|entry| Ok(summarize(self.store.read(entry)?))).collect()
    }

    /// Returns the stored object of that name: see [`get_newest`].
    pub(crate) async fn get_newest(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, StatusError> {
        get_newest(&self.store, namespace, name).await
    }

    /// Creates the object if there is none of its name; otherwise writes what `mend` returns for the present and the
    /// wanted object (`None`: no change is needed). Reads only this object, from the cache.
    pub(crate) async fn ensure_one(
        &self,
        wanted: Object,
        mend: impl Fn(&Object, &Object) -> Option<Object>,
    ) -> Result<(), StatusError> {
        let options = GetOptions { resource_version: Some(0) };
        match get(&self.store, wanted.namespace(), wanted.name(), &options).await? {
            None => self.create(wanted).await,
            Some(present) => match mend(&present, &wanted) {
                Some(mended) => self.replace(mended).await,
                None => Ok(()),
            },
        }
    }

    /// Decodes a stored object.
    pub(crate) fn read(&self, entry: &StoredObject) -> Result<Object, StatusError> {
        self.store.read(entry)
    }

    /// Creates missing objects, and writes what `mend` returns for a present and the wanted object (`None`: no change
    /// is needed). The writes are concurrent, so that they share few commits.
    pub(crate) async fn ensure(
        &self,
        wanted: Vec<Object>,
        mend: impl Fn(&Object, &Object) -> Option<Object>,
    ) -> Result<(), StatusError> {
        let present = self.present().await?;
        let mut missing = Vec::new();
        let mut mended = Vec::new();
        for object in wanted {
            match present.get(object.namespace(), object.name()) {
                None => missing.push(object),
                Some(entry) => mended.extend(mend(&self.read(entry)?, &object)),
            }
        }
        try_join_all(missing.into_iter().map(|object| self.create(object))).await?;
        try_join_all(mended.into_iter().map(|object| self.replace(object))).await?;
        Ok(())
    }

    /// Creates an object. Succeeds if it exists already.
    pub(crate) async fn create(&self, object: Object) -> Result<(), StatusError> {
        match self.claim(object).await {
            Err(failure) if failure.reason != Reason::AlreadyExists => Err(failure),
            _ => Ok(()),
        }
    }

    /// Creates an object; fails if one of the name exists.
    pub(crate) async fn claim(&self, object: Object) -> Result<(), StatusError> {
        let mut object = self.with_defaults(object);
        let now = time::now();
        let manager = self.manager("");
        manager
            .with_conversions(|manager| manager.track_update(None, &mut object, FIELD_MANAGER, &now))
            .await;
        let context = RequestContext::system(object.namespace());
        self.store.create(&context, object.into(), &AdmitAll, &CreateOptions::default()).await.map(drop)
    }

    /// Writes an object that was derived from the present one; fails with a conflict if that has changed since.
    pub(crate) async fn replace(&self, object: Object) -> Result<(), StatusError> {
        let namespace = object.namespace().to_owned();
        let name = object.name().to_owned();
        self.change(&namespace, &name, |_| object.clone()).await
    }

    /// Writes what `change` makes of the present object.
    pub(crate) async fn change(
        &self,
        namespace: &str,
        name: &str,
        change: impl Fn(&Object) -> Object + Send + Sync,
    ) -> Result<(), StatusError> {
        let context = RequestContext::system(namespace);
        let mut change = Change { system_writer: self, subresource: "", make: change };
        self.store.update(&context, name, &mut change, &AdmitAll, &UpdateOptions::default()).await.map(drop)
    }

    /// Writes what `change` makes of the present object's status.
    pub(crate) async fn change_status(
        &self,
        namespace: &str,
        name: &str,
        change: impl Fn(&Object) -> Object + Send + Sync,
    ) -> Result<(), StatusError> {
        let context = RequestContext::system(namespace);
        let mut change = Change { system_writer: self, subresource: "status", make: change };
        let store = SubresourceStore::status(self.store.clone());
        store.update(&context, name, &mut change, &AdmitAll, &UpdateOptions::default()).await.map(drop)
    }

    /// Removes an object. Succeeds if there is none.
    pub(crate) async fn remove(&self, namespace: &str, name: &str) -> Result<(), StatusError> {
        let context = RequestContext::system(namespace);
        match self.store.delete(&context, name, &AdmitAll, &DeleteOptions::default()).await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }

    /// Removes the cluster-scoped object of this name and uid: succeeds without a change if it is gone, or if there is
    /// another object of its name.
    pub(crate) async fn remove_exactly(&self, name: &str, uid: &str) -> Result<(), StatusError> {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        match self.store.delete(&RequestContext::system(""), name, &AdmitAll, &options).await {
            Err(failure) if !failure.is_not_found() && !failure.is_conflict() => Err(failure),
            _ => Ok(()),
        }
    }

    /// Returns the object as a client's would be stored: conformed to the schema, with all defaults.
    pub(crate) fn with_defaults(&self, object: Object) -> Object {
        let mut value = self.conformed(object).into_value();
        // Without a limit, it succeeds.
        let _ = self.store.schema().apply_defaults(&mut value, &Budget::unlimited());
        let mut object = Object::from_value(value).unwrap_or_default();
        self.store.apply_defaults(&mut object);
        object
    }

    fn conformed(&self, mut object: Object) -> Object {
        object.set_type(&self.api_version, self.store.resource().kind.kind);
        let mut value = object.clone().into_value();
        match self.store.schema().conform(&mut value, &mut Vec::new()) {
            Ok(()) => Object::from_value(value).unwrap_or(object),
            Err(_) => object,
        }
    }

    fn manager(&self, subresource: &'static str) -> FieldManager<'_> {
        let resource = self.store.resource();
        FieldManager {
            kind: resource.kind,
            api_version: &self.api_version,
            subresource,
            schema: self.store.schema(),
            reset: Reset::Fields(reset_fields(resource, subresource)),
            blank: &self.blank,
            // The kinds that the server manages itself have one version.
            versions: None,
            conversions: Conversions::default(),
            budget: None,
        }
    }
}

/// Returns the stored object of that name, at least as new as every write that was made before the call: also one
/// without a known outcome, because its request was abandoned.
pub(crate) async fn get_newest(
    store: &Store,
    namespace: &str,
    name: &str,
) -> Result<Option<Object>, StatusError> {
    let newest = store.storage().current_revision().await.map_err(StatusError::internal)?;
    // By its revision, so that a write that was committed without an answer is seen too: a cache knows the answered ones.
    get(store, namespace, name, &GetOptions { resource_version: Some(newest) }).await
}

async fn get(
    store: &Store,
    namespace: &str,
    name: &str,
    options: &GetOptions,
) -> Result<Option<Object>, StatusError> {
    match store.get(&RequestContext::system(namespace), name, options).await {
        Ok(Answer::Stored(entry)) => store.read(&entry).map(Some),
        Ok(Answer::Object(object)) => Ok(Some(object)),
        Ok(Answer::Success(_)) => Ok(None),
        Err(failure) if failure.is_not_found() => Ok(None),
        // No object has such a name.
        Err(failure) if failure.reason == Reason::BadRequest => Ok(None),
        Err(failure) => Err(failure),
    }
}

#[async_trait]
impl<F: Fn(&Object) -> Object + Send + Sync> UpdatedObject for Change<'_, F> {
    async fn updated_object(
        &mut self,
        _context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let absent = Object::default();
        let mut new = self.system_writer.with_defaults((self.make)(current.unwrap_or(&absent)));
        // The managers are the previous ones, whatever the new object has.
        new.remove(&["metadata", "managedFields"]);
        let manager = self.system_writer.manager(self.subresource);
        let now = time::now();
        manager
            .with_conversions(|manager| manager.track_update(current, &mut new, FIELD_MANAGER, &now))
            .await;
        Ok(new)
    }
}
