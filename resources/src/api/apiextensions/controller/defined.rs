//! The group versions that definitions serve, whether or not their names are accepted.

use std::collections::HashMap;
use std::sync::Arc;

use imbl::OrdMap;
use parking_lot::{Mutex, MutexGuard};
use registry_core::api::Object;
use resource_views::apiextensions::v1::CustomResourceDefinition;
use tokio::sync::watch;

/// The group versions that the definitions serve, kept up to date by the controller.
pub struct DefinedVersions {
    state: Mutex<State>,
    /// All of them; `None` until all definitions that existed at the start are known.
    published: watch::Sender<Option<VersionNames>>,
}

/// Group and version by the name of their APIService: `{version}.{group}`.
pub(crate) type VersionNames = OrdMap<Arc<str>, GroupVersionNames>;

/// A group and a version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupVersionNames {
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
}

#[derive(Default)]
struct State {
    /// The names of the group versions of each definition.
    by_definition: HashMap<String, Vec<Arc<str>>>,
    /// Number of definitions that serve a group version.
    users: HashMap<Arc<str>, usize>,
    versions: VersionNames,
    has_changed: bool,
}

// === impl DefinedVersions ===

impl Default for DefinedVersions {
    fn default() -> Self {
        Self { state: Mutex::default(), published: watch::Sender::new(None) }
    }
}

impl DefinedVersions {
    /// Returns the present group versions, and is notified of changes. `None` until all definitions are known.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<VersionNames>> {
        self.published.subscribe()
    }

    /// Records the versions that a definition serves.
    pub(crate) fn set(&self, definition: &Object) {
        let spec = CustomResourceDefinition(definition).spec();
        let group: Arc<str> = spec.group().text().into();
        let versions = spec.versions();
        let served = versions.elements().filter(|version| version.served().is_true());
        let served: Vec<GroupVersionNames> = served
            .map(|version| GroupVersionNames { group: group.clone(), version: version.name().text().into() })
            .collect();
        let names: Vec<Arc<str>> = served.iter().map(GroupVersionNames::name).collect();
        let mut state = self.state();
        if state.by_definition.get(definition.name()) == Some(&names) {
            return;
        }
        // Those that stay are added before they are removed.
        for (name, version) in names.iter().zip(served) {
            state.add(name, version);
        }
        let before = state.by_definition.insert(definition.name().to_owned(), names);
        state.release(before.unwrap_or_default());
    }

    /// Records that a definition is gone.
    pub(crate) fn remove(&self, definition: &str) {
        let mut state = self.state();
        let before = state.by_definition.remove(definition);
        state.release(before.unwrap_or_default());
    }

    /// Publishes the recorded changes: the first time only if all definitions are recorded (`is_complete`).
    pub(crate) fn publish(&self, is_complete: bool) {
        let mut state = self.state();
        let is_first = self.published.borrow().is_none();
        let is_due = if is_first { is_complete } else { state.has_changed };
        if is_due {
            state.has_changed = false;
            self.published.send_replace(Some(state.versions.clone()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

// === impl GroupVersionNames ===

impl GroupVersionNames {
    /// Returns the name of its APIService.
    fn name(&self) -> Arc<str> {
        format!("{}.{}", self.version, self.group).into()
    }
}

// === impl State ===

impl State {
    fn add(&mut self, name: &Arc<str>, version: GroupVersionNames) {
        let users = self.users.entry(name.clone()).or_default();
        *users += 1;
        if *users == 1 {
            self.versions.insert(name.clone(), version);
            self.has_changed = true;
        }
    }

    fn release(&mut self, names: Vec<Arc<str>>) {
        for name in names {
            let Some(users) = self.users.get_mut(&name) else { continue };
            *users -= 1;
            if *users == 0 {
                self.users.remove(&name);
                self.versions.remove(&name);
                self.has_changed = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use serde_json::Value;

    fn definition(name: &str, versions: &Value) -> Object {
        let spec = json!({ "group": "g.example.com", "versions": versions });
        Object::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    #[test]
    fn a_version_is_defined_as_long_as_a_definition_serves_it() {
        let defined = DefinedVersions::default();
        let receiver = defined.subscribe();
        let names = || -> Option<Vec<String>> {
            let published = receiver.borrow().clone();
            published.map(|versions| versions.keys().map(ToString::to_string).collect())
        };
        let v1 = json!({ "name": "v1", "served": true });
        let v2 = json!({ "name": "v2", "served": true });
        defined.set(&definition("a", &json!([v1, { "name": "v1alpha1", "served": false }])));
        defined.set(&definition("b", &json!([v1, v2])));
        defined.publish(false);
        assert_eq!(names(), None, "others may be unknown yet");
        defined.publish(true);
        assert_eq!(names().unwrap(), ["v1.g.example.com", "v2.g.example.com"]);
        defined.set(&definition("b", &json!([v1])));
        defined.publish(false);
        assert_eq!(names().unwrap(), ["v1.g.example.com"]);
        defined.remove("a");
        defined.publish(false);
        assert_eq!(names().unwrap(), ["v1.g.example.com"], "b still serves it");
        defined.remove("b");
        defined.publish(false);
        assert!(names().unwrap().is_empty());
    }
}
