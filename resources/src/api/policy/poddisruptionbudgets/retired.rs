//! Budgets that are stored as `v1beta1`, where an empty selector selects no pods.
//!
//! Kubernetes concept: the conversions of `pkg/apis/policy/v1beta1`.

use registry_core::api::Object;
use resource_views::meta::v1::LabelSelectorMut;
use resource_views::policy::v1::PodDisruptionBudgetMut;
use serde_json::json;

/// A label that no pod has. Its requirements stand for selectors of all pods and of none.
const LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// Changes a budget of `v1beta1` into one of `v1`.
pub(super) fn renew(budget: &mut Object) {
    if let Some(mut spec) = PodDisruptionBudgetMut(budget).spec().present() {
        spec.selector().edit(renew_selector);
    }
}

/// Lets an empty selector select nothing, and removes the requirement of the label from any other. One that consists of it
/// selects all pods then.
fn renew_selector(mut selector: LabelSelectorMut<'_>) {
    if selector.match_labels().is_empty() && selector.match_expressions().is_empty() {
        selector.match_expressions().set_value(json!([{ "key": LABEL, "operator": "Exists" }]));
        return;
    }
    selector.match_expressions().retain(|requirement| {
        requirement.value().and_then(|value| value.get("key")).is_none_or(|key| key != LABEL)
    });
}
