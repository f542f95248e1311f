//! Rules of PodDisruptionBudgets.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::policy::v1::PodDisruptionBudget;

use crate::support::amount;
use crate::support::conditions;
use crate::support::field::ShownAsGo as _;
use crate::support::label_selector;

/// Either a minimum or a maximum, not both.
pub(super) struct PodDisruptionBudgetStrategy;

impl ObjectStrategy for PodDisruptionBudgetStrategy {
    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = PodDisruptionBudget(new).status();
        conditions::check(&status.conditions(), &mut errors);
        for count in [
            status.disruptions_allowed(),
            status.current_healthy(),
            status.desired_healthy(),
            status.expected_pods(),
        ] {
            count.check_not_negative(&mut errors);
        }
        errors
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = PodDisruptionBudget(object).spec();
        let least = spec.min_available();
        let most = spec.max_unavailable();
        if least.exists() && most.exists() {
            let detail = "minAvailable and maxUnavailable cannot be both set";
            errors.push(spec.invalid_as("<policy.PodDisruptionBudgetSpec>", detail));
        }
        for field in [&least, &most] {
            amount::check(field, &mut errors);
            amount::check_at_most_all(field, &mut errors);
        }
        label_selector::check(&spec.selector(), &mut errors);
        let policies = ["AlwaysAllow", "IfHealthyBudget"];
        spec.unhealthy_pod_eviction_policy().check_one_of(&policies, &mut errors);
        errors
    }
}
