//! The capabilities of a storage. A handler requires the narrowest one it needs; the verbs of a path, in routing and in
//! discovery, are exactly the capabilities of its storage.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/registry/rest`.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::{
    CreateOptions, DeleteOptions, GetOptions, GroupResource, GroupVersion, GroupVersionKind, ListOptions,
    Object, Preconditions, Scope, StatusError, UpdateOptions,
};
use crate::context::RequestContext;
use crate::resource::TableColumns;
use crate::schema::{EmptyFields, Schema};
use crate::storage::{ListPage, StoredObject, WatchStream};

pub mod access;
pub mod components;
pub mod connect;
pub mod tokens;
pub mod webhook;

pub use connect::Connecter;

/// Properties common to all storages.
pub trait Storage: Send + Sync + 'static {
    /// Returns the resource (for a subresource, its parent), for error messages.
    fn group_resource(&self) -> GroupResource;

    /// Returns the kind that this path accepts and returns; for `pods/binding` it is `v1 Binding`.
    fn kind(&self) -> GroupVersionKind;

    /// Returns other versions of the kind that the path accepts because their form is the same.
    fn other_versions(&self) -> &'static [GroupVersion] {
        &[]
    }

    /// Returns whether objects belong to a namespace or to the cluster.
    fn scope(&self) -> Scope;

    /// Returns the schema of the kind that this path accepts.
    fn schema(&self) -> Schema;

    /// Sets defaults that the schema cannot express; called for every decoded object.
    fn apply_defaults(&self, _object: &mut Object) {}

    /// Returns the only fields that writes through this path change, as paths in which `*` matches any list element;
    /// `None` means all fields that the resource allows.
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        None
    }

    /// Returns the table columns; an empty list means `Name` and `Age`.
    fn columns(&self) -> TableColumns {
        TableColumns::default()
    }
}

/// Reads one object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `get`",
    label = "needs `impl Getter`"
)]
#[async_trait]
pub trait Getter: Storage {
    /// Returns the object with this name in the context's namespace.
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError>;
}

/// Reads many objects.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `list`",
    label = "needs `impl Lister`"
)]
#[async_trait]
pub trait Lister: Storage {
    /// Returns the objects of the context's namespace (all namespaces if it is empty) that match the options.
    async fn list(&self, context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError>;

    /// Like [`list`](Self::list), for a caller that also reads the page's [`rest`](ListPage::rest), so that a large
    /// list is never completely in memory.
    async fn list_in_parts(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        self.list(context, options).await
    }

    /// Returns the kind of the list.
    fn list_kind(&self) -> &'static str;
}

/// Watches changes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `watch`",
    label = "needs `impl Watcher`"
)]
#[async_trait]
pub trait Watcher: Storage {
    /// Returns the changes of the objects that the same options would list.
    async fn watch(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, StatusError>;

    /// Whether events wait for a conversion outside of this process.
    fn is_converting(&self) -> bool {
        false
    }
}

/// Creates objects.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `create`",
    label = "needs `impl Creater`"
)]
#[async_trait]
pub trait Creater: Storage {
    /// Creates the object; with dry run, does everything except storing it.
    async fn create(
        &self,
        context: &RequestContext,
        new: NewObject,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError>;
}

/// Creates something below a named object: bindings, evictions, tokens.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `create`",
    label = "needs `impl NamedCreater`"
)]
#[async_trait]
pub trait NamedCreater: Storage {
    /// Creates it below the object with this name.
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        object: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError>;
}

/// Replaces objects; a patch is an update that computes the object from the current one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `update`",
    label = "needs `impl Updater`"
)]
#[async_trait]
pub trait Updater: Storage {
    /// Replaces the object with this name by the result of `update`. The flag says whether it was created.
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError>;
}

/// Reads and replaces objects, as patching requires.
pub trait Patcher: Getter + Updater {}
impl<S: Getter + Updater + ?Sized> Patcher for S {}

/// Deletes one object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `delete`",
    label = "needs `impl GracefulDeleter`"
)]
#[async_trait]
pub trait GracefulDeleter: Storage {
    /// Deletes the object with this name, or starts its graceful deletion.
    async fn delete(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
    ) -> Result<Deletion, StatusError>;

    /// Deletes an object as one of a collection. By default as one by itself.
    async fn delete_listed(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
    ) -> Result<Deletion, StatusError> {
        self.delete(context, name, admission, options).await
    }
}

/// Deletes many objects.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `deletecollection`",
    label = "needs `impl CollectionDeleter`"
)]
#[async_trait]
pub trait CollectionDeleter: Storage {
    /// Deletes the objects that match the list options; returns the objects as they were listed.
    async fn delete_collection(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ListPage, StatusError>;
}

/// An object to be created.
#[derive(Clone, Debug, Default)]
pub struct NewObject {
    /// The object in its stored form.
    pub object: Object,
    /// The empty lists that the client sent and the stored form does not have; validation sees them.
    pub empty_fields: EmptyFields,
}

/// The result of an operation on one object.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A stored object, whose bytes are ready to be sent.
    Stored(StoredObject),
    /// An object that is not stored in this form (a scale, a dry run's result, a review).
    Object(Object),
    /// A success `Status`: of a deletion, or of an action.
    Success(SuccessStatus),
}

/// The result of a deletion.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The object as it is now, or its last state, or a success.
    pub answer: Answer,
    /// Whether this request removed the object. If not, the object waits for its finalizers or its grace period.
    pub is_complete: bool,
}

/// The `Status` of a successful operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuccessStatus {
    /// The target of the operation; `None` for actions such as a binding.
    pub details: Option<SuccessDetails>,
    /// The HTTP code: 200 for deletions, 201 for creations.
    pub code: Option<u16>,
}

/// The target of a successful operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuccessDetails {
    /// The object's name.
    pub name: String,
    /// Its resource.
    pub resource: GroupResource,
    /// Its uid.
    pub uid: String,
}

/// Computes the new object of an update from the current one. Called again if the current one changes concurrently.
#[async_trait]
pub trait UpdatedObject: Send {
    /// Returns the preconditions on the current object.
    fn preconditions(&self) -> Preconditions {
        Preconditions::default()
    }

    /// Computes the new object from the current one (`None` if there is none).
    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError>;

    /// Returns the empty lists that the client sent in the object which was computed last, and which its stored form
    /// does not have; validation sees them. `None` also for an object in another form than the client's.
    fn empty_fields(&self) -> Option<&EmptyFields> {
        None
    }

    /// Whether an absent object is created even if the strategy does not allow it (apply).
    fn forces_create(&self) -> bool {
        false
    }
}

/// Validating admission: called inside the store's retry loop, with the object exactly as it would be written.
#[async_trait]
pub trait ValidateObject: Send + Sync {
    /// Validates the write. For a deletion only `old` is given.
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError>;
}

/// An object that no client sent.
impl From<Object> for NewObject {
    fn from(object: Object) -> Self {
        Self { object, empty_fields: EmptyFields::default() }
    }
}

/// Admits everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmitAll;

#[async_trait]
impl ValidateObject for AdmitAll {
    async fn validate(
        &self,
        _: &RequestContext,
        _: Option<&Object>,
        _: Option<&Object>,
    ) -> Result<(), StatusError> {
        Ok(())
    }
}

/// A storage with its capabilities, which serves one path of the API. Built by [`capabilities!`](crate::capabilities),
/// which compiles only for traits that the storage implements.
#[derive(Clone)]
pub struct Capabilities {
    /// The storage itself.
    pub storage: Arc<dyn Storage>,
    /// `get`.
    pub getter: Option<Arc<dyn Getter>>,
    /// `list`.
    pub lister: Option<Arc<dyn Lister>>,
    /// `watch`.
    pub watcher: Option<Arc<dyn Watcher>>,
    /// `create` on the collection.
    pub creater: Option<Arc<dyn Creater>>,
    /// `create` below a named object.
    pub named_creater: Option<Arc<dyn NamedCreater>>,
    /// `update`.
    pub updater: Option<Arc<dyn Updater>>,
    /// `patch`.
    pub patcher: Option<Arc<dyn Patcher>>,
    /// `delete`.
    pub deleter: Option<Arc<dyn GracefulDeleter>>,
    /// `deletecollection`.
    pub collection_deleter: Option<Arc<dyn CollectionDeleter>>,
    /// The verbs of connect subresources, which correspond to HTTP methods.
    pub connecter: Option<Arc<dyn Connecter>>,
}

impl Capabilities {
    /// Creates the value for a storage without capabilities.
    pub fn none(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            getter: None,
            lister: None,
            watcher: None,
            creater: None,
            named_creater: None,
            updater: None,
            patcher: None,
            deleter: None,
            collection_deleter: None,
            connecter: None,
        }
    }

    /// Returns the verbs in the form of discovery (sorted).
    pub fn verbs(&self) -> Vec<&'static str> {
        let creates = self.creater.is_some() || self.named_creater.is_some();
        let connects = self.connecter.as_ref().map_or(&[][..], |connecter| connecter.connect_spec().verbs);
        let all = [
            ("create", creates),
            ("delete", self.deleter.is_some()),
            ("deletecollection", self.collection_deleter.is_some()),
            ("get", self.getter.is_some()),
            ("list", self.lister.is_some()),
            ("patch", self.patcher.is_some()),
            ("update", self.updater.is_some()),
            ("watch", self.watcher.is_some()),
        ];
        let is_served = |(verb, served): &(&'static str, bool)| *served || connects.contains(verb);
        all.into_iter().filter(is_served).map(|(verb, _)| verb).collect()
    }
}

/// Declares the capabilities of a storage: `capabilities!(store; getter, updater, patcher)`. A capability whose trait
/// the storage does not implement is a compile error at the storage.
#[macro_export]
macro_rules! capabilities {
    ($storage:expr; $($capability:ident),* $(,)?) => {{
        let storage = $storage;
        let mut capabilities = $crate::rest::Capabilities::none(storage.clone());
        $( capabilities.$capability = ::core::option::Option::Some(storage.clone()); )*
        capabilities
    }};
}
