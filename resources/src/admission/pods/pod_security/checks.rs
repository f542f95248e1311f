//! The checks of pods, and the texts of their violations.

use std::collections::BTreeSet;
use std::collections::HashSet;

use resource_views::alike::AnySecurityContext;
use resource_views::core::v1::{Container, PodSpec};
use resource_views::meta::v1::ObjectMeta;

use super::policy::{Level, Version};

/// A pod, or a pod template.
pub(super) struct PodView<'v, 'p> {
    pub(super) metadata: &'p ObjectMeta<'v, 'p>,
    pub(super) spec: &'p PodSpec<'v, 'p>,
}

/// One check.
pub(super) struct Check {
    /// The name that checks are sorted by.
    pub(super) id: &'static str,
    /// The lowest level that includes the check.
    pub(super) level: Level,
    /// The first minor version that includes the check.
    pub(super) since: u32,
    /// The check of the lower level that this one replaces.
    pub(super) overrides: &'static str,
    /// Runs the check; `None` if the pod passes.
    pub(super) find: fn(&PodView<'_, '_>, Version) -> Option<Violation>,
}

/// A violation of a level.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) reason: String,
    pub(super) detail: String,
}

// === impl Violation ===

impl Violation {
    /// Returns a violation if there are any setters.
    pub(super) fn by(
        setters: &Setters<'_>,
        reason: &str,
        detail: impl FnOnce(&str) -> String,
    ) -> Option<Self> {
        let subject = setters.text()?;
        Some(Self { reason: reason.to_owned(), detail: detail(&subject) })
    }
}

// === impl PodView ===

impl<'v> PodView<'v, '_> {
    /// Calls `visit` with every container.
    pub(super) fn each_container(&self, mut visit: impl FnMut(&'v str, &Container<'v, '_>)) {
        let spec = self.spec;
        for list in [spec.init_containers(), spec.containers(), spec.ephemeral_containers().seen_as()] {
            for container in list.elements() {
                visit(container.name().text(), &container);
            }
        }
    }

    /// Calls `visit` with the security contexts of the pod (`None`) and of the containers (by name), where present.
    pub(super) fn each_context(&self, mut visit: impl FnMut(Option<&'v str>, &AnySecurityContext<'v, '_>)) {
        visit(None, &self.spec.security_context().into());
        self.each_container(|name, container| visit(Some(name), &container.security_context().into()));
    }

    /// Whether the pod declares that it runs on Windows.
    pub(super) fn is_windows(&self) -> bool {
        self.spec.os().name().text() == "windows"
    }

    /// Whether the pod has a user namespace of its own.
    pub(super) fn has_own_users(&self) -> bool {
        self.spec.host_users().truth() == Some(false)
    }
}

/// The pod itself and the containers that violate a rule.
#[derive(Default)]
pub(super) struct Setters<'a> {
    pod: bool,
    containers: Vec<&'a str>,
    known: HashSet<&'a str>,
}

impl<'a> Setters<'a> {
    /// Adds the pod (`None`) or one of its containers, once.
    pub(super) fn add(&mut self, container: Option<&'a str>) {
        match container {
            None => self.pod = true,
            Some(name) if self.known.insert(name) => self.containers.push(name),
            Some(_) => {}
        }
    }

    /// Sorts the containers by name.
    pub(super) fn sort(&mut self) {
        self.containers.sort_unstable();
    }

    /// Number of containers.
    pub(super) fn count(&self) -> usize {
        self.containers.len()
    }

    /// Returns `pod and containers "a", "b"`; `None` when empty.
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

/// Returns the singular or the plural, by number.
pub(super) fn plural(count: usize, singular: &'static str, many: &'static str) -> &'static str {
    if count == 1 { singular } else { many }
}

/// Returns the texts in quotes, separated by commas.
pub(super) fn quoted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    texts.into_iter().map(|text| format!("\"{}\"", text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Distinct texts, in order.
pub(super) type Texts<'a> = BTreeSet<&'a str>;
