//! The controller's state of each definition, and the consequences of a change.

use std::collections::{BTreeSet, HashMap};

use registry_core::api::{GroupVersionResource, Object};
use registry_core::registry::ServedChange;
use registry_core::storage::{Revision, StoredObject};
use resource_views::apiextensions::v1::CustomResourceDefinition;

use super::super::customresourcedefinitions::conditions::{
    self, NamesInUse, StatusChange, api_approval, establish, name_conditions, non_structural_schema,
};
use super::super::customresourcedefinitions::definition::Definition;
use super::CustomResourceController;
use super::cleanup::Instances;
use super::kinds::{KindIdentity, ServedKind};
use super::pending::Batch;

/// Number of definitions that are applied before other tasks may run.
const APPLIED_AT_ONCE: usize = 32;

/// All definitions.
#[derive(Default)]
pub(super) struct State {
    definitions: HashMap<String, DefinitionState>,
    names: NamesInUse,
}

/// A definition.
struct DefinitionState {
    object: StoredObject,
    uid: String,
    group: String,
    /// The kind that is served for the definition.
    served: Option<ServedKind>,
    /// Whether the custom resources of the definition are being deleted.
    is_cleaning: bool,
    /// The generation whose schemas were checked for being structural.
    checked_generation: Option<i64>,
}

/// Work that takes writes.
pub(super) enum Task {
    /// Changes the status of a definition.
    Status { name: String, uid: String, changes: Vec<StatusChange> },
    /// Deletes the objects of a definition.
    Cleanup { name: String, uid: String, instances: Instances },
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
    /// Returns the name of the definition.
    pub(super) fn definition(&self) -> &str {
        match self {
            Self::Status { name, .. } | Self::Cleanup { name, .. } => name,
        }
    }
}

// === impl State ===

impl State {
    /// Applies changes of definitions.
    pub(super) async fn apply(&mut self, controller: &CustomResourceController, batch: Batch) -> Outcome {
        let mut applied = Outcome::default();
        let mut recheck = BTreeSet::new();
        if batch.is_complete {
            let gone = self.definitions.keys().filter(|name| !batch.changes.contains_key(*name));
            for name in gone.cloned().collect::<Vec<_>>() {
                self.forget(controller, &name, &mut applied, &mut recheck);
            }
        }
        // Definitions whose names are accepted come first: theirs are in use before others are decided.
        let mut undecided = Vec::new();
        for (position, (name, object)) in batch.changes.into_iter().enumerate() {
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

    /// Returns the stored state of a definition.
    pub(super) fn object(&self, name: &str) -> Option<StoredObject> {
        self.definitions.get(name).map(|known| known.object.clone())
    }

    /// Records that the objects of a definition are not being deleted any more.
    pub(super) fn end_cleanup(&mut self, name: &str) {
        if let Some(known) = self.definitions.get_mut(name) {
            known.is_cleaning = false;
        }
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
            is_cleaning: false,
            checked_generation: None,
        });
        known.object = object.clone();
        if known.uid != uid {
            // Another definition of the same name: nothing was done for it yet.
            uid.clone_into(&mut known.uid);
            known.is_cleaning = false;
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
        if conditions::needs_cleanup(&definition) && !known.is_cleaning {
            known.is_cleaning = true;
            let plural = CustomResourceDefinition(&definition).spec().names().plural().text();
            let is_built_in = controller.is_installed(&known.group, plural);
            let store = known.served.as_ref().map(|served| served.store.clone());
            let instances = if is_built_in { Instances::BuiltIn } else { Instances::new(store, &definition) };
            applied.tasks.push(Task::Cleanup { name, uid, instances });
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
    match ServedKind::install(&parsed, &known.object, &controller.storage) {
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
