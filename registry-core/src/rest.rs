//! The capabilities a storage may have. A handler takes the narrowest one it needs; the verbs a path serves, in
//! routing and in discovery, are exactly the capabilities its storage has.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/registry/rest`.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::{
    CreateOptions, DeleteOptions, GetOptions, GroupResource, GroupVersion, GroupVersionKind, ListOptions,
    Object, Preconditions, Scope, StatusError, UpdateOptions,
};
use crate::context::RequestContext;
use crate::resource::TableColumn;
use crate::schema::Schema;
use crate::storage::{ListPage, StoredObject, WatchStream};

pub mod access;
pub mod components;
pub mod connect;
pub mod tokens;

pub use connect::Connecter;

/// What every storage says of itself.
pub trait Storage: Send + Sync + 'static {
    /// The resource (of a subresource: its parent), for error messages.
    fn group_resource(&self) -> GroupResource;

    /// The kind this path takes and gives; of `pods/binding` that is `v1 Binding`.
    fn kind(&self) -> GroupVersionKind;

    /// Versions of the kind, other than its own, in which the path takes it too, because their form is the same.
    fn other_versions(&self) -> &'static [GroupVersion] {
        &[]
    }

    /// In a namespace, or in the cluster.
    fn scope(&self) -> Scope;

    /// The schema of what this path takes.
    fn schema(&self) -> Schema;

    /// Fills in defaults the schema cannot express; runs on every decoded object.
    fn apply_defaults(&self, _object: &mut Object) {}

    /// The only fields that writes through this path change, as paths on which `*` is any element of a list; `None`:
    /// whatever the resource lets it.
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        None
    }

    /// The columns of its table; none gives the `Name` and `Age` every object has.
    fn columns(&self) -> Arc<[TableColumn]> {
        Arc::default()
    }
}

/// Reads one object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `get`",
    label = "needs `impl Getter`"
)]
#[async_trait]
pub trait Getter: Storage {
    /// The object of that name in the context's namespace.
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
    /// The objects of the context's namespace (all namespaces when it is empty) that the options select.
    async fn list(&self, context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError>;

    /// The same, for a caller that reads the page's [`rest`](ListPage::rest), too: a large list is never in memory as a
    /// whole.
    async fn list_in_parts(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        self.list(context, options).await
    }

    /// The kind of the list.
    fn list_kind(&self) -> &'static str;
}

/// Follows changes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `watch`",
    label = "needs `impl Watcher`"
)]
#[async_trait]
pub trait Watcher: Storage {
    /// The changes of what the same options would list.
    async fn watch(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, StatusError>;
}

/// Makes new objects.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `create`",
    label = "needs `impl Creater`"
)]
#[async_trait]
pub trait Creater: Storage {
    /// Makes the object, or with dry run does all but that.
    async fn create(
        &self,
        context: &RequestContext,
        object: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError>;
}

/// Makes something below a named object: bindings, evictions, tokens.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `create`",
    label = "needs `impl NamedCreater`"
)]
#[async_trait]
pub trait NamedCreater: Storage {
    /// Makes it below the object of that name.
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        object: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError>;
}

/// Replaces objects; patches are updates whose object is made from the present one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `update`",
    label = "needs `impl Updater`"
)]
#[async_trait]
pub trait Updater: Storage {
    /// Replaces the object of that name by what `update` makes of it. The flag says whether it was created.
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError>;
}

/// Reads and replaces: what patching takes.
pub trait Patcher: Getter + Updater {}
impl<S: Getter + Updater + ?Sized> Patcher for S {}

/// Deletes one object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `delete`",
    label = "needs `impl GracefulDeleter`"
)]
#[async_trait]
pub trait GracefulDeleter: Storage {
    /// Deletes the object of that name, or begins to.
    async fn delete(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
    ) -> Result<Answer, StatusError>;
}

/// Deletes many objects.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `deletecollection`",
    label = "needs `impl CollectionDeleter`"
)]
#[async_trait]
pub trait CollectionDeleter: Storage {
    /// Deletes what the list options select; returns the objects as they were listed.
    async fn delete_collection(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ListPage, StatusError>;
}

/// What an operation on one object answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A stored object: its bytes are ready to be sent.
    Stored(StoredObject),
    /// An object that is not stored as such (a scale, a dry run's result, a review).
    Object(Object),
    /// The object is gone: the success `Status` of a deletion that names it, or of an action.
    Success(SuccessStatus),
}

/// The `Status` of something that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuccessStatus {
    /// What it was about; `None` for actions such as a binding.
    pub details: Option<SuccessDetails>,
    /// The HTTP code: 200 for deletions, 201 for things made.
    pub code: Option<u16>,
}

/// What a success was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuccessDetails {
    /// The object's name.
    pub name: String,
    /// Its resource.
    pub resource: GroupResource,
    /// Its uid.
    pub uid: String,
}

/// Makes the object an update wants from the present one. Called again whenever that changed in between.
#[async_trait]
pub trait UpdatedObject: Send {
    /// What must hold of the present object.
    fn preconditions(&self) -> Preconditions {
        Preconditions::default()
    }

    /// The new object, from the present one (`None`: there is none).
    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError>;

    /// Whether an absent object is to be created even where the strategy does not do so (apply).
    fn forces_create(&self) -> bool {
        false
    }
}

/// The last word of admission: asked inside the store's retry, with the object exactly as it would be written.
#[async_trait]
pub trait ValidateObject: Send + Sync {
    /// Whether the write may happen. Of a deletion only `old` is given.
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError>;
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

/// A storage with the capabilities it has: what one path of the API is made of. Built by
/// [`capabilities!`](crate::capabilities), which compiles only for traits the storage really implements.
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
    /// The verbs of connections, which are those of HTTP's methods.
    pub connecter: Option<Arc<dyn Connecter>>,
}

impl Capabilities {
    /// A storage that can do nothing yet.
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

    /// The verbs, as discovery lists them (sorted).
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

/// Lists the capabilities of a storage: `capabilities!(store; getter, updater, patcher)`. A capability whose
/// trait the storage does not implement is a compile error at the storage.
#[macro_export]
macro_rules! capabilities {
    ($storage:expr; $($capability:ident),* $(,)?) => {{
        let storage = $storage;
        let mut capabilities = $crate::rest::Capabilities::none(storage.clone());
        $( capabilities.$capability = ::core::option::Option::Some(storage.clone()); )*
        capabilities
    }};
}
