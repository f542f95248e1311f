//! The kinds of one definition, installed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{GroupVersionResource, Object, Reason, StatusError};
use registry_core::features::Features;
use registry_core::registry::storage_map::OpenStorage;
use registry_core::registry::{FinishHook, InstalledPath, Services, Store, StoreHooks, install_kinds};
use registry_core::resource::{ResourceType, Versions};
use registry_core::storage::lazy::LazyStorage;
use registry_core::storage::{EncodingBudget, Interface, StorageError, StoredObject};

use super::super::custom_resources::{Compiling, CustomKinds};
use super::super::customresourcedefinitions::definition::{Definition, DefinitionError, Names};

/// The kind that is served for a definition.
pub(super) struct ServedKind {
    /// The parts of the definition that the kind was made of.
    pub(super) identity: KindIdentity,
    /// The resources, one for each served version.
    pub(super) resources: Vec<GroupVersionResource>,
    /// The store of the objects, also if no version is served.
    pub(super) store: Arc<Store>,
    /// Whether the definition is being deleted.
    is_terminating: Arc<AtomicBool>,
}

/// The parts of a definition that its kinds depend on. Changes of other parts do not end watches.
#[derive(PartialEq, Eq)]
pub(super) struct KindIdentity {
    uid: String,
    generation: i64,
    names: Names,
}

/// Refuses new objects of a definition that is being deleted: they would be deleted with the others, or be left behind.
struct RefuseNewObjects(Arc<AtomicBool>);

/// Opens storages when they are first used.
struct OpenLazily(Arc<dyn OpenStorage>);

/// Error of kinds that cannot be served.
#[derive(Debug, thiserror::Error)]
pub(super) enum InstallError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

// === impl KindIdentity ===

impl KindIdentity {
    /// Returns the identity of a definition's kinds.
    pub(super) fn from_definition(definition: &Definition) -> Self {
        Self {
            uid: definition.uid.clone(),
            generation: definition.generation,
            names: definition.accepted_names.clone(),
        }
    }
}

// === impl ServedKind ===

impl ServedKind {
    /// Installs the kinds of a definition, and returns them with their paths. `stored` is the definition's stored state,
    /// which the schemas are read from when they are needed.
    ///
    /// # Errors
    /// Fails if the definition cannot be served, with the reason.
    pub(super) fn install(
        definition: &Definition,
        stored: &StoredObject,
        storage: &Arc<dyn OpenStorage>,
        compiling: &Compiling,
    ) -> Result<(Self, Vec<Vec<InstalledPath>>), InstallError> {
        let kinds = CustomKinds::new(definition, stored, &storage.services().webhooks, compiling)?;
        let storage = OpenLazily(storage.clone());
        let (store, paths) = install_kinds(&kinds.versions, &kinds.served, &storage)?;
        let is_terminating = Arc::<AtomicBool>::default();
        let hooks: Arc<dyn StoreHooks> = Arc::new(RefuseNewObjects(is_terminating.clone()));
        store.attach_hooks(&hooks);
        let resources = paths.iter().filter_map(|paths| Some(paths.first()?.resource.resource())).collect();
        let identity = KindIdentity::from_definition(definition);
        Ok((Self { identity, resources, store, is_terminating }, paths))
    }

    /// Refuses new objects from now on if the definition is being deleted. Returns the resources if it was not before.
    pub(super) fn set_terminating(&self, is_terminating: bool) -> &[GroupVersionResource] {
        let was_terminating = self.is_terminating.swap(is_terminating, Ordering::AcqRel);
        if is_terminating && !was_terminating { &self.resources } else { &[] }
    }
}

#[async_trait]
impl StoreHooks for RefuseNewObjects {
    async fn begin_create(
        &self,
        _context: &RequestContext,
        _object: &mut Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        if self.0.load(Ordering::Acquire) {
            let message = "create not allowed while custom resource definition is terminating";
            return Err(StatusError::new(Reason::MethodNotAllowed, message));
        }
        Ok(None)
    }
}

impl OpenStorage for OpenLazily {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let storage = self.0.clone();
        let versions = versions.clone();
        Ok(LazyStorage::new(move || storage.open(&versions)))
    }

    fn prefix(&self) -> &str {
        self.0.prefix()
    }

    fn store_options(&self, resource: &ResourceType) -> registry_core::registry::store::StoreOptions {
        self.0.store_options(resource)
    }

    fn features(&self) -> Features {
        self.0.features()
    }

    fn encoding_budget(&self) -> Arc<EncodingBudget> {
        self.0.encoding_budget()
    }

    fn services(&self) -> Services {
        self.0.services()
    }
}
