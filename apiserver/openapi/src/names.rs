//! Names and tags of operations.

use registry_core::api::{GroupVersion, Scope};
use registry_core::registry::InstalledPath;

use super::actions::{Action, PathScope};

/// Returns an operation id such as `connectCoreV1GetNamespacedPodExec` or `readCoreV1NamespacedPodLog`.
pub(super) fn connection_id(path: &InstalledPath, verb: &str, method: &str) -> String {
    let version = path.resource.group_version();
    let group = group_id(version.group);
    let scope = match path.capabilities.storage.scope() {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "",
    };
    let version = capitalized(version.version);
    let method = capitalized(method);
    let subresource = path.subresource.map(capitalized).unwrap_or_default();
    format!("{verb}{group}{version}{method}{scope}{}{subresource}", path.resource.kind.kind)
}

/// Returns an operation id such as `createAppsV1NamespacedDeployment` or
/// `readAppsV1NamespacedDeploymentStatus`.
pub(super) fn operation_id(path: &InstalledPath, place: PathScope, action: Action) -> String {
    let version = path.resource.group_version();
    let collection = if action == Action::DeleteCollection { "Collection" } else { "" };
    let is_namespaced = path.capabilities.storage.scope() == Scope::Namespaced;
    let scope = if is_namespaced && !place.is_everywhere() { "Namespaced" } else { "" };
    let list = if action == Action::WatchList { "List" } else { "" };
    let kind = path.resource.kind.kind;
    let subresource = path.subresource.map(capitalized).unwrap_or_default();
    let all = if place.is_everywhere() { "ForAllNamespaces" } else { "" };
    format!(
        "{}{}{}{collection}{scope}{kind}{subresource}{list}{all}",
        action.id_verb(),
        group_id(version.group),
        capitalized(version.version),
    )
}

/// Returns the tag of a version's operations.
pub(super) fn tag(path: &InstalledPath) -> String {
    version_tag(path.resource.group_version())
}

pub(super) fn version_tag(version: GroupVersion) -> String {
    format!("{}_{}", group_tag(version.group), version.version)
}

/// Returns a tag such as `apps` or `rbacAuthorization`.
pub(super) fn group_tag(group: &str) -> String {
    identifier(group_name(group), false)
}

/// Returns a name such as `Core`, `Apps` or `RbacAuthorization`.
pub(super) fn group_id(group: &str) -> String {
    identifier(group_name(group), true)
}

fn group_name(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    }
}

/// Returns the words of a text as one identifier: each word but the first starts in upper case, the first one if it
/// `is_capitalized`. An identifier does not start with a digit.
fn identifier(text: &str, is_capitalized: bool) -> String {
    let mut starts_word = is_capitalized;
    let mut identifier = String::with_capacity(text.len());
    for (position, character) in text.char_indices() {
        let is_allowed =
            character.is_alphabetic() || character == '_' || (position > 0 && character.is_numeric());
        match (is_allowed, starts_word) {
            (false, _) => starts_word = true,
            (true, false) => identifier.push(character),
            (true, true) => {
                identifier.extend(character.to_uppercase());
                starts_word = false;
            }
        }
    }
    identifier
}

/// Returns the word with its first letter in upper case.
pub(super) fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_become_identifiers() {
        assert_eq!((group_tag(""), group_id("")), ("core".to_owned(), "Core".to_owned()));
        assert_eq!(group_tag("rbac.authorization.k8s.io"), "rbacAuthorization");
        assert_eq!(group_id("my-group.example.com"), "MyGroupExampleCom");
        assert_eq!(
            (group_tag("1a2.example"), group_id("1a2.example")),
            ("A2Example".to_owned(), "A2Example".to_owned())
        );
    }
}
