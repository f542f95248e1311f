//! The findings of the deletion of a namespace's content, and the conditions that say them.

use std::collections::BTreeMap;

use registry_core::api::time;
use serde_json::{Value, json};

use crate::controllers::kinds::Kind;

/// The types of the conditions, with the reason and the message of those that are false.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// The findings of a pass.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The group versions whose kinds are not known.
    undiscovered: Vec<String>,
    errors: Vec<String>,
    /// The number of objects that remain, by resource.
    remaining: BTreeMap<String, usize>,
    /// The number of objects that remain, by finalizer.
    finalizers: BTreeMap<String, usize>,
}

// === impl Findings ===

impl Findings {
    /// Notes the group versions of extension servers that do not respond.
    pub(super) fn note_discovery(&mut self, failing: &[String]) {
        self.undiscovered = failing.to_vec();
        self.undiscovered.sort();
    }

    /// Notes an error of the deletion.
    pub(super) fn note_error(&mut self, error: String) {
        self.errors.push(error);
    }

    /// Notes what remains of a kind.
    pub(super) fn note_content(&mut self, kind: &Kind, objects: usize, finalizers: BTreeMap<String, usize>) {
        if objects == 0 {
            return;
        }
        self.remaining.insert(format!("{}.{}", kind.resource, kind.group), objects);
        for (finalizer, objects) in finalizers {
            *self.finalizers.entry(finalizer).or_default() += objects;
        }
    }

    /// Whether objects remain.
    pub(super) fn has_content(&self) -> bool {
        !self.remaining.is_empty()
    }

    /// Whether nothing remains, and everything is known.
    pub(super) fn is_clean(&self) -> bool {
        !self.has_content() && self.error().is_none()
    }

    /// Returns the errors as one; `None` if there are none.
    pub(super) fn error(&self) -> Option<String> {
        let errors: Vec<String> = self.discovery_error().into_iter().chain(self.errors.clone()).collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    /// Returns the conditions that replace these; `None` if they stay as they are.
    pub(super) fn conditions(&self, before: &[Value]) -> Option<Vec<Value>> {
        let mut conditions = before.to_vec();
        let mut has_changed = false;
        let now = time::now();
        for (kind, ok_reason, ok_message) in CONDITIONS {
            let failure = self.failure(kind);
            let status = if failure.is_some() { "True" } else { "False" };
            let (reason, message) = failure.unwrap_or_else(|| (ok_reason, ok_message.to_owned()));
            let old =
                conditions.iter_mut().find(|condition| condition.get("type").is_some_and(|own| own == kind));
            let Some(old) = old else {
                has_changed = true;
                conditions.push(json!({
                    "type": kind, "status": status, "lastTransitionTime": now,
                    "reason": reason, "message": message,
                }));
                continue;
            };
            if old["status"] == status && old["reason"] == reason && old["message"] == message.as_str() {
                continue;
            }
            has_changed = true;
            if old["status"] != status {
                old["lastTransitionTime"] = now.as_str().into();
            }
            old["status"] = status.into();
            old["reason"] = reason.into();
            old["message"] = message.into();
        }
        has_changed.then_some(conditions)
    }

    /// Returns the reason and the message of a condition that is true.
    fn failure(&self, kind: &str) -> Option<(&'static str, String)> {
        match kind {
            "NamespaceDeletionDiscoveryFailure" => {
                let error = self.discovery_error()?;
                let failing = self.undiscovered.len();
                let message = format!("Discovery failed for some groups, {failing} failing: {error}");
                Some(("DiscoveryFailed", message))
            }
            "NamespaceDeletionContentFailure" if !self.errors.is_empty() => {
                let mut errors = self.errors.clone();
                errors.sort();
                let (number, errors) = (errors.len(), errors.join(", "));
                let message = format!("Failed to delete all resource types, {number} remaining: {errors}");
                Some(("ContentDeletionFailed", message))
            }
            "NamespaceContentRemaining" if !self.remaining.is_empty() => {
                let counts = counts(&self.remaining, "has");
                let counts: Vec<String> = counts.map(|text| format!("{text} resource instances")).collect();
                let message = format!("Some resources are remaining: {}", counts.join(", "));
                Some(("SomeResourcesRemain", message))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let counts = counts(&self.finalizers, "in");
                let counts: Vec<String> = counts.map(|text| format!("{text} resource instances")).collect();
                let counts = counts.join(", ");
                let message = format!("Some content in the namespace has finalizers remaining: {counts}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }

    fn discovery_error(&self) -> Option<String> {
        let failing = self.undiscovered.iter();
        let texts: Vec<String> =
            failing.map(|version| format!("{version}: stale GroupVersion discovery: {version}")).collect();
        (!texts.is_empty())
            .then(|| format!("unable to retrieve the complete list of server APIs: {}", texts.join(", ")))
    }
}

fn counts(numbers: &BTreeMap<String, usize>, verb: &str) -> impl Iterator<Item = String> {
    numbers.iter().map(move |(name, number)| format!("{name} {verb} {number}"))
}
