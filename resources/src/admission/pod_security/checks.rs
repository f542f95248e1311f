//! What pods are looked at for, and what is said of what is found.

use std::collections::BTreeSet;
use std::collections::HashSet;

use crate::support::field::Field;

use super::policy::{Level, Version};

/// A pod, or the template of one.
pub(super) struct PodView<'v, 'p> {
    pub(super) metadata: &'p Field<'v, 'p>,
    pub(super) spec: &'p Field<'v, 'p>,
}

/// One thing to look for.
pub(super) struct Check {
    /// The name it is ordered by.
    pub(super) id: &'static str,
    /// From which level on it counts.
    pub(super) level: Level,
    /// Since which minor version it counts.
    pub(super) since: u32,
    /// The check of the lower level that this one makes needless.
    pub(super) overrides: &'static str,
    /// Looks; `None` when there is nothing to say.
    pub(super) find: fn(&PodView<'_, '_>, Version) -> Option<Violation>,
}

/// One thing a level does not allow.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) reason: String,
    pub(super) detail: String,
}

// === impl Violation ===

impl Violation {
    /// A violation, if somebody commits it.
    pub(super) fn by(setters: &Setters<'_>, reason: &str, what: impl FnOnce(&str) -> String) -> Option<Self> {
        let who = setters.text()?;
        Some(Self { reason: reason.to_owned(), detail: what(&who) })
    }
}

// === impl PodView ===

impl<'v> PodView<'v, '_> {
    /// Calls back with every container.
    pub(super) fn each_container(&self, mut visit: impl FnMut(&'v str, &Field<'v, '_>)) {
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            for container in self.spec.get(list).elements() {
                visit(container.get("name").text(), &container);
            }
        }
    }

    /// Calls back with the security context of the pod (`None`) and of every container that have one (by name).
    pub(super) fn each_context(&self, mut visit: impl FnMut(Option<&'v str>, &Field<'v, '_>)) {
        visit(None, &self.spec.get("securityContext"));
        self.each_container(|name, container| visit(Some(name), &container.get("securityContext")));
    }

    /// Whether it says that it runs on Windows.
    pub(super) fn is_windows(&self) -> bool {
        let system = self.spec.get("os");
        system.get("name").text() == "windows"
    }

    /// Whether its users are not those of the node.
    pub(super) fn has_own_users(&self) -> bool {
        self.spec.get("hostUsers").value().and_then(serde_json::Value::as_bool) == Some(false)
    }
}

/// Who does what is not allowed: the pod itself, and some of its containers.
#[derive(Default)]
pub(super) struct Setters<'a> {
    pod: bool,
    containers: Vec<&'a str>,
    known: HashSet<&'a str>,
}

impl<'a> Setters<'a> {
    /// Notes the pod (`None`) or one of its containers, once.
    pub(super) fn add(&mut self, who: Option<&'a str>) {
        match who {
            None => self.pod = true,
            Some(name) if self.known.insert(name) => self.containers.push(name),
            Some(_) => {}
        }
    }

    /// How many containers there are.
    pub(super) fn count(&self) -> usize {
        self.containers.len()
    }

    /// `pod and containers "a", "b"`; `None` when it is nobody.
    pub(super) fn text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.pod {
            parts.push("pod".to_owned());
        }
        if !self.containers.is_empty() {
            let word = plural(self.containers.len(), "container", "containers");
            parts.push(format!("{word} {}", quoted(&self.containers)));
        }
        if parts.is_empty() { None } else { Some(parts.join(" and ")) }
    }
}

/// One word or another, by number.
pub(super) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// Texts in quotes, with commas between.
pub(super) fn quoted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    texts.into_iter().map(|text| format!("\"{}\"", text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Distinct texts, in order.
pub(super) type Texts<'a> = BTreeSet<&'a str>;
