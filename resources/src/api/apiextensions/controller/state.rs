//! The controller's state of each definition, and the consequences of a change.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use registry_core::api::{GroupVersionResource, Object};
use registry_core::backoff::Backoff;
use registry_core::registry::ServedChange;
use registry_core::storage::{Revision, StoredObject};
use resource_views::apiextensions::v1::CustomResourceDefinition;

use super::super::customresourcedefinitions::conditions::{
    self, NamesInUse, StatusChange, api_approval, establish, name_conditions, non_structural_schema,
};
use super::super::customresourcedefinitions::definition::Definition;
use super::cleanup::Instances;
use super::kinds::{KindIdentity, ServedKind};
use super::pending::Batch;
use super::{CustomResourceController, RETRIES, Work};

/// Number of definitions that are applied before other tasks may run.
const APPLIED_AT_ONCE: usize = 32;

/// All definitions.
#[derive(Default)]
pub(super) struct State {
    definitions: HashMap<String, DefinitionState>,
    names: NamesInUse,
}

/// A definition.
pub(super) struct DefinitionState {
    object: StoredObject,
    /// The pauses before work that failed is repeated.
    pub(super) retries: Backoff,
    uid: String,
    group: String,
    /// The kind that is served for the definition.
    served: Option<ServedKind>,
    cleaning: Cleaning,
    /// The generation whose schemas were checked for being structural.
    checked_generation: Option<i64>,
}

/// The deletion of the custom resources of a definition. It is under way while there is a clone, which belongs to its task, however
/// that ends, and to the pause after it.
#[derive(Clone, Default)]
pub(super) struct Cleaning(Arc<AtomicBool>);

/// Work that takes writes.
pub(super) enum Task {
    /// Changes the status of a definition.
    Status { name: String, uid: String, changes: Vec<StatusChange> },
    /// Deletes the objects of a definition.
    Cleanup { name: String, uid: String, instances: Instances, cleaning: Cleaning },
}

/// The consequences of a batch of changes.
#[derive(Default)]
pub(super) struct Outcome {
    /// The change of the served kinds.
    pub(super) served: ServedChange,
    /// The writes that have to be done.
    pub(super) tasks: Vec<Task>,
    /// The applied revision of each definition; `None` if it is gone.
    pub(super) revisions: Vec<(String, Option<Revision>)>,
}

// === impl Task ===

impl Task {
    /// Returns what it is about.
    pub(super) fn work(&self) -> Work {
        let (name, uid, cleaning) = match self {
            Self::Status { name, uid, .. } => (name, uid, None),
            Self::Cleanup { name, uid, cleaning, .. } => (name, uid, Some(cleaning.clone())),
        };
        Work { name: name.clone(), uid: uid.clone(), cleaning }
    }
}

// === impl Cleaning ===

impl Cleaning {
    /// Returns whether it has to begin: it is not under way, and has not been completed.
    fn is_due(&self) -> bool {
        Arc::strong_count(&self.0) == 1 && !self.0.load(Ordering::Acquire)
    }

    /// Marks the deletion as complete. Changes that were made before may still be seen.
    pub(super) fn complete(&self) {
        self.0.store(true, Ordering::Release);
    }
}

// === impl State ===

impl State {
    /// Applies changes of definitions.
    pub(super) async fn apply(&mut self, controller: &CustomResourceController, batch: Batch) -> Outcome {
        let Batch { is_complete, changes, again: mut recheck } = batch;
        let mut applied = Outcome::default();
        if is_complete {
            let gone = self.definitions.keys().filter(|name| !changes.contains_key(*name));
            for name in gone.cloned().collect::<Vec<_>>() {
                self.forget(controller, &name, &mut applied, &mut recheck);
            }
        }
        // Definitions whose names are accepted come first: theirs are in use before others are decided.
        let mut undecided = Vec::new();
        for (position, (name, object)) in changes.into_iter().enumerate() {
            if position % APPLIED_AT_ONCE == APPLIED_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            let Some(object) = object else {
                self.forget(controller, &name, &mut applied, &mut recheck);
                continue;
            };
            let definition = match controller.definitions.read(&object) {
                Ok(definition) => definition,
                Err(failure) => {
                    // It stays as it was; no request waits for it.
                    tracing::warn!(definition = name, "a stored definition cannot be read: {failure}");
                    applied.revisions.push((name, Some(object.revision)));
                    continue;
                }
            };
            controller.defined.set(&definition);
            self.remember(&name, &object, &definition, &mut recheck);
            if name_conditions(&definition, &self.names).is_some() {
                undecided.push(name);
            } else {
                self.examine(controller, definition, &mut applied);
            }
        }
        undecided.extend(recheck);
        for name in undecided {
            let object = self.definitions.get(&name).map(|known| known.object.clone());
            if let Some(Ok(definition)) = object.map(|object| controller.definitions.read(&object)) {
                self.examine(controller, definition, &mut applied);
            }
        }
        applied
    }

    /// Returns the definition with this uid; `None` if it is gone.
    pub(super) fn definition(&mut self, name: &str, uid: &str) -> Option<&mut DefinitionState> {
        self.definitions.get_mut(name).filter(|known| known.uid == uid)
    }

    fn remember(
        &mut self,
        name: &str,
        object: &StoredObject,
        definition: &Object,
        recheck: &mut BTreeSet<String>,
    ) {
        let group = CustomResourceDefinition(definition).spec().group().text().to_owned();
        if self.names.update(definition) {
            recheck.extend(self.names.definitions_in(&group).map(str::to_owned));
        }
        let uid = definition.uid();
        let known = self.definitions.entry(name.to_owned()).or_insert_with(|| DefinitionState {
            object: object.clone(),
            uid: uid.to_owned(),
            group,
            served: None,
            retries: RETRIES,
            cleaning: Cleaning::default(),
            checked_generation: None,
        });
        known.object = object.clone();
        if known.uid != uid {
            // Another definition of the same name: nothing was done for it yet.
            uid.clone_into(&mut known.uid);
            known.cleaning = Cleaning::default();
            known.retries.reset();
            known.checked_generation = None;
        }
    }

    fn forget(
        &mut self,
        controller: &CustomResourceController,
        name: &str,
        applied: &mut Outcome,
        recheck: &mut BTreeSet<String>,
    ) {
        controller.defined.remove(name);
        applied.revisions.push((name.to_owned(), None));
        let Some(known) = self.definitions.remove(name) else { return };
        if self.names.remove(name) {
            recheck.extend(self.names.definitions_in(&known.group).map(str::to_owned));
        }
        applied.served.removed.extend(known.served.into_iter().flat_map(|served| served.resources));
    }

    /// Decides what follows from the present state of a definition.
    fn examine(
        &mut self,
        controller: &CustomResourceController,
        mut definition: Object,
        applied: &mut Outcome,
    ) {
        let name = definition.name().to_owned();
        let Some(known) = self.definitions.get_mut(&name) else { return };
        let checks_schema = known.checked_generation != Some(definition.generation());
        known.checked_generation = Some(definition.generation());
        let mut changes = Vec::new();
        if let Some(change) = name_conditions(&definition, &self.names) {
            change.apply(&mut definition);
            self.names.update(&definition);
            changes.push(change);
        }
        let controllers: [fn(&Object) -> Option<StatusChange>; 2] = [establish, api_approval];
        let structural = checks_schema.then_some(non_structural_schema as fn(&Object) -> _);
        for controller in controllers.into_iter().chain(structural) {
            if let Some(change) = controller(&definition) {
                change.apply(&mut definition);
                changes.push(change);
            }
        }
        serve(controller, known, &definition, applied);
        applied.revisions.push((name.clone(), Some(known.object.revision)));
        let uid = definition.uid().to_owned();
        if conditions::needs_cleanup(&definition) && known.cleaning.is_due() {
            let plural = CustomResourceDefinition(&definition).spec().names().plural().text();
            let is_built_in = controller.is_installed(&known.group, plural);
            let store = known.served.as_ref().map(|served| served.store.clone());
            let instances = if is_built_in { Instances::BuiltIn } else { Instances::new(store, &definition) };
            applied.tasks.push(Task::Cleanup { name, uid, instances, cleaning: known.cleaning.clone() });
        } else if !changes.is_empty() {
            applied.tasks.push(Task::Status { name, uid, changes });
        }
    }
}

/// Serves the kinds of an established definition, unless they are served already.
fn serve(
    controller: &CustomResourceController,
    known: &mut DefinitionState,
    definition: &Object,
    applied: &mut Outcome,
) {
    let change = &mut applied.served;
    let parsed = match Definition::parse(definition) {
        Ok(parsed) if parsed.is_established => parsed,
        Ok(_) => return,
        Err(reason) => {
            tracing::warn!("a stored definition is not served: {reason}");
            return;
        }
    };
    if controller.is_installed(&parsed.group, &parsed.accepted_names.plural) {
        return;
    }
    let identity = KindIdentity::from_definition(&parsed);
    if let Some(served) = &known.served
        && served.identity == identity
    {
        change.terminating.extend(served.set_terminating(parsed.is_terminating));
        return;
    }
    match ServedKind::install(&parsed, &known.object, &controller.storage, &controller.compiling) {
        Ok((served, paths)) => {
            let before = known.served.take().map(|served| served.resources).unwrap_or_default();
            let is_replaced = |resource: &GroupVersionResource| served.resources.contains(resource);
            change.removed.extend(before.into_iter().filter(|resource| !is_replaced(resource)));
            change.added.extend(paths);
            change.terminating.extend(served.set_terminating(parsed.is_terminating));
            known.served = Some(served);
        }
        Err(failure) => {
            tracing::warn!(definition = parsed.name, "a definition is not served: {failure}");
        }
    }
}
