//! Field managers of written objects.

use registry_core::api::go_text::is_printable;
use registry_core::api::validation::object_meta::MAX_FIELD_MANAGER_BYTES;
use registry_core::api::{Object, Reason, StatusError, time};
use registry_core::apply::{Conversions, FieldManager, Reset, reset_fields};

use super::call::Call;

// === impl Call ===

impl<'a> Call<'a> {
    /// Returns the field manager of this path's objects.
    pub(super) fn field_manager(&self) -> FieldManager<'a> {
        let route = self.route;
        let subresource = route.path.subresource.unwrap_or_default();
        // The resource declares reset fields for its own kind only: a scale has no status of the resource's.
        let is_own_kind = route.kind == route.path.resource.kind;
        FieldManager {
            kind: route.kind,
            api_version: &route.api_version,
            subresource,
            schema: route.path.capabilities.storage.schema(),
            reset: match route.path.capabilities.storage.changes_only() {
                Some(paths) => Reset::AllBut(paths),
                None if is_own_kind => Reset::Fields(reset_fields(&route.path.resource, subresource)),
                None => Reset::default(),
            },
            blank: route.blank(),
            conversions: Conversions::default(),
            versions: if is_own_kind { route.path.versions.as_deref() } else { None },
            budget: Some(&self.context.budget),
        }
    }

    /// Records that the client changed the fields in which a new object differs from the live one, and then brings the
    /// object into the stored form: an empty list that the client sent is a field of its manager, but stored as null.
    /// `manager` is the manager's name; if it is empty, the user agent is used.
    pub(super) async fn track_update(&self, live: Option<&Object>, new: &mut Object, manager: &str) {
        let now = time::now();
        let agent = manager.is_empty().then(|| manager_of_agent(&self.context.user_agent));
        let name = agent.as_deref().unwrap_or(manager);
        let manager = self.field_manager();
        manager.with_conversions(|manager| manager.track_update(live, new, name, &now)).await;
        self.route.path.capabilities.storage.schema().nil_empties(&mut new.0);
    }
}

/// Removes the managers of an object's fields: there is no room for them.
pub(super) fn forget(object: &mut Object) {
    object.remove(&["metadata", "managedFields"]);
}

/// Returns whether an object was not stored because it is too large. It may fit without the managers of its fields, which
/// are lost then, as in Kubernetes.
pub(super) fn may_fit_without(failure: &StatusError) -> bool {
    failure.reason == Reason::RequestEntityTooLarge
}

/// Returns the part of a user agent that can name a manager: printable, and of bounded length.
fn manager_of_agent(agent: &str) -> String {
    let mut name = String::with_capacity(agent.len());
    for character in agent.chars().filter(|character| is_printable(*character)) {
        if name.len() + character.len_utf8() > MAX_FIELD_MANAGER_BYTES {
            break;
        }
        name.push(character);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_names_a_manager_within_bounds() {
        assert_eq!(manager_of_agent("kube\u{200b}ctl\u{7}"), "kubectl");
        assert_eq!(manager_of_agent(&"é".repeat(100)).len(), MAX_FIELD_MANAGER_BYTES);
    }
}
