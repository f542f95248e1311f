//! Rules of DeviceTaintRules.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{Object, time};
use registry_core::resource::ObjectStrategy;
use resource_views::resource::v1alpha3::{DeviceTaintRule, DeviceTaintRuleSpec};

use crate::api::resource::{names as device_names, taints};
use crate::support::{conditions, defaulting};

/// Maximum number of conditions.
const MAX_CONDITIONS: usize = 8;

/// The time of a taint is the time at which its effect was set.
pub(super) struct DeviceTaintRuleStrategy;

impl ObjectStrategy for DeviceTaintRuleStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "taint"], |taint| {
            defaulting::fill(taint, "timeAdded", time::now());
        });
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        let effect = ["spec", "taint", "effect"];
        let time_added = ["spec", "taint", "timeAdded"];
        if new.get(&effect) != old.get(&effect) && new.get(&time_added) == old.get(&time_added) {
            new.set(&time_added, time::now().into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check(&DeviceTaintRule(object).spec(), None, &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let before = DeviceTaintRule(old).spec();
        let taint = before.taint();
        check(&DeviceTaintRule(new).spec(), Some(taint.effect().text()), &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = DeviceTaintRule(new).status();
        let stated = status.conditions();
        conditions::check(&stated, &mut errors);
        stated.check_count(MAX_CONDITIONS, &mut errors);
        errors
    }
}

/// Checks a rule. The effect that it had before an update is tolerated.
fn check(spec: &DeviceTaintRuleSpec<'_, '_>, known_effect: Option<&str>, errors: &mut ErrorList) {
    let selector = spec.device_selector();
    let driver = selector.driver();
    if driver.exists() {
        device_names::check_driver(&driver, errors);
    }
    let pool = selector.pool();
    if pool.exists() {
        device_names::check_pool(&pool, errors);
    }
    let device = selector.device();
    if device.exists() {
        device.check(names::dns_label, errors);
    }
    taints::check_taint(&spec.taint(), known_effect, errors);
}
