//! An APIService for each group version that custom resource definitions serve, removed with the last definition that does.
//!
//! APIServices of these group versions with the label are kept as they should be; those without it belong to whoever made
//! them, and are left alone. An APIService with the label for which there is no group version is removed.
//!
//! Kubernetes concept: `autoRegisterController` of `k8s.io/kube-aggregator`, and `crdRegistrationController`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use registry_core::Resource as _;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Compiled, InformerTask, InstalledApi, Synced};
use tokio::time::Instant;

use super::apiservices::APIServices;
use super::apiservices::local::{self, Automanaged, LocalSpec};
use crate::api::apiextensions::{DefinedVersions, VersionNames};
use crate::support::system_writer::SystemWriter;

/// Time before another attempt after a failure.
const BACKOFF: Duration = Duration::from_secs(1);
/// The part of its time that the controller may spend on comparing: one in this many.
const IDLE_FACTOR: u32 = 20;
/// Maximum number of concurrent writes. They share commits.
const MAX_WRITES: usize = 64;

/// Keeps the APIServices of custom group versions.
pub struct CustomRegistration {
    services: Arc<Compiled<Registered>>,
    synced: Synced,
    defined: Arc<DefinedVersions>,
    /// The names of the APIServices of the storage maps.
    installed: BTreeSet<String>,
    writer: SystemWriter,
}

/// An APIService, as far as it is compared.
struct Registered {
    name: String,
    uid: String,
    automanaged: Option<Automanaged>,
    /// The spec, if the APIService is for a group version that this server serves.
    spec: Option<LocalSpec>,
}

/// An outstanding write of an APIService.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    Create(LocalSpec),
    Update(String, LocalSpec),
    Remove(String, String),
}

// === impl CustomRegistration ===

impl CustomRegistration {
    /// Creates the controller of an installed API, and the informer that it needs; `None` if it has no APIServices.
    pub fn new(installed: &InstalledApi, defined: Arc<DefinedVersions>) -> Option<(Self, InformerTask)> {
        let store = installed.store(APIServices::TYPE)?;
        let (services, informer) = Compiled::informer(store, |object| Some(Registered::from_object(&object)));
        let task = informer.into_task();
        let kinds = installed.paths.iter().map(|path| path.resource.kind);
        let names = kinds.map(|kind| format!("{}.{}", kind.version, kind.group)).collect();
        let writer = SystemWriter::for_resource::<APIServices>(installed)?;
        Some((Self { services, synced: task.synced(), defined, installed: names, writer }, task))
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        self.synced.wait().await;
        let mut services = self.services.subscribe();
        let mut defined = self.defined.subscribe();
        // What all is done for. Other resources advance the revision, too.
        let mut seen = None;
        loop {
            services.mark_unchanged();
            // Before all definitions are known, none of their APIServices is removed.
            let versions = defined.borrow_and_update().clone().filter(|versions| {
                let is_seen = |(services, defined): &(_, VersionNames)| {
                    Arc::ptr_eq(services, &self.services.snapshot()) && defined.ptr_eq(versions)
                };
                !seen.as_ref().is_some_and(is_seen)
            });
            let began = Instant::now();
            let mut next = began;
            let mut is_done = true;
            if let Some(versions) = versions {
                let present = self.services.snapshot();
                let actions = self.actions(&versions);
                next = Instant::now() + began.elapsed() * IDLE_FACTOR;
                is_done = self.perform(actions).await;
                seen = is_done.then_some((present, versions));
            }
            tokio::select! {
                _ = services.changed() => {},
                _ = defined.changed() => {},
                () = tokio::time::sleep(BACKOFF), if !is_done => {},
            }
            // Counted from the last comparison, so that a change that is the first in a while is followed at once: clients look
            // for the APIService as soon as its definition is established.
            tokio::time::sleep_until(next).await;
        }
    }

    /// Returns what has to be done so that every group version has its APIService.
    fn actions(&self, versions: &VersionNames) -> Vec<Action> {
        let services = self.services.snapshot();
        let mut actions = Vec::new();
        for (name, version) in versions.iter().filter(|(name, _)| !self.installed.contains(&***name)) {
            let wanted = LocalSpec::for_custom_resources(&version.group, &version.version);
            match services.get("", name) {
                None => actions.push(Action::Create(wanted)),
                Some(present) if present.automanaged == Some(Automanaged::Always) => {
                    if present.spec.as_ref() != Some(&wanted) {
                        actions.push(Action::Update(present.name.clone(), wanted));
                    }
                }
                Some(_) => {}
            }
        }
        for present in services.values() {
            let is_ours = present.automanaged == Some(Automanaged::Always);
            if is_ours
                && !versions.contains_key(present.name.as_str())
                && !self.installed.contains(&present.name)
            {
                actions.push(Action::Remove(present.name.clone(), present.uid.clone()));
            }
        }
        actions
    }

    /// Performs all actions; returns whether none failed.
    async fn perform(&self, actions: Vec<Action>) -> bool {
        let mut performed = futures::stream::iter(actions.into_iter().map(|action| self.write(action)))
            .buffer_unordered(MAX_WRITES);
        let mut is_done = true;
        while let Some(outcome) = performed.next().await {
            if let Err(failure) = outcome {
                tracing::warn!("cannot write the APIService of a custom group version yet: {failure}");
                is_done = false;
            }
        }
        is_done
    }

    async fn write(&self, action: Action) -> Result<(), StatusError> {
        match action {
            Action::Create(spec) => self.writer.create(spec.object(Automanaged::Always)).await,
            Action::Remove(name, uid) => self.writer.remove_exactly(&name, &uid).await,
            Action::Update(name, spec) => {
                let wanted = spec.object(Automanaged::Always);
                let written = self.writer.change("", &name, |present| {
                    let mut next = present.clone();
                    if local::automanaged(present) == Some(Automanaged::Always) {
                        next.copy_field(&wanted, &["spec"]);
                    }
                    next
                });
                match written.await {
                    // It is looked at again when the change arrives.
                    Err(failure) if failure.is_not_found() || failure.is_conflict() => Ok(()),
                    outcome => outcome,
                }
            }
        }
    }
}

// === impl Registered ===

impl Registered {
    fn from_object(object: &Object) -> Self {
        Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            automanaged: local::automanaged(object),
            spec: LocalSpec::read(object),
        }
    }
}

#[cfg(test)]
mod tests;
