//! Rules of ResourcePoolStatusRequests.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use resource_views::Text;
use resource_views::resource::v1alpha3::{
    PoolStatus, ResourcePoolStatusRequest, ResourcePoolStatusRequestSpec, ResourcePoolStatusRequestStatus,
};

use crate::api::resource::names as device_names;
use crate::support::field::ShownAsGo as _;
use crate::support::{conditions, defaulting};

/// The number of pools that are reported unless the request says another one.
const DEFAULT_LIMIT: i64 = 100;
/// Maximum number of pools.
const MAX_POOLS: i64 = 1_000;
/// Maximum number of conditions.
const MAX_CONDITIONS: usize = 10;
/// Maximum length of the reason why a pool cannot be counted, in bytes.
const MAX_ERROR_BYTES: usize = 256;

/// A request is immutable, and answered once.
pub(super) struct ResourcePoolStatusRequestStrategy;

impl ObjectStrategy for ResourcePoolStatusRequestStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec"], |spec| defaulting::fill_absent(spec, "limit", DEFAULT_LIMIT));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_request(&ResourcePoolStatusRequest(object).spec(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = ResourcePoolStatusRequest(new).spec();
        let before = ResourcePoolStatusRequest(old).spec();
        spec.check_immutable_as("<v1alpha3.ResourcePoolStatusRequestSpec>", &before, &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = ResourcePoolStatusRequest(new).status();
        let before = ResourcePoolStatusRequest(old).status();
        if before.exists() {
            status.check_immutable_as("<resource.ResourcePoolStatusRequestStatus>", &before, &mut errors);
        } else if status.exists() {
            check_status(&status, &mut errors);
        }
        errors
    }
}

fn check_request(spec: &ResourcePoolStatusRequestSpec<'_, '_>, errors: &mut ErrorList) {
    check_driver(&spec.driver(), errors);
    let pool = spec.pool_name();
    if pool.exists() {
        device_names::check_pool(&pool, errors);
    }
    let limit = spec.limit();
    if limit.number() > MAX_POOLS {
        errors.push(limit.invalid(format!("must be less than or equal to {MAX_POOLS}")));
    }
    if limit.number() < 1 {
        errors.push(limit.invalid("must be greater than or equal to 1"));
    }
}

/// Checks the name of a driver, which is not bounded here as it is in other kinds.
fn check_driver(driver: &Text<'_, '_>, errors: &mut ErrorList) {
    if driver.check_present(errors) {
        for complaint in names::dns_subdomain(&driver.text().to_lowercase()) {
            errors.push(driver.invalid(complaint));
        }
    }
}

fn check_status(status: &ResourcePoolStatusRequestStatus<'_, '_>, errors: &mut ErrorList) {
    let stated = status.conditions();
    conditions::check(&stated, errors);
    stated.check_count(MAX_CONDITIONS, errors);
    let count = status.pool_count();
    match count.integer() {
        None => errors.push(count.required("")),
        Some(_) => count.check_not_negative(errors),
    }
    let pools = status.pools();
    if pools.check_count(usize::try_from(MAX_POOLS).unwrap_or(usize::MAX), errors) {
        for pool in pools.elements() {
            check_pool(&pool, errors);
        }
    }
}

fn check_pool(pool: &PoolStatus<'_, '_>, errors: &mut ErrorList) {
    check_driver(&pool.driver(), errors);
    device_names::check_pool(&pool.pool_name(), errors);
    let generation = pool.generation();
    match generation.number() {
        0 => errors.push(generation.required("")),
        _ => generation.check_not_negative(errors),
    }
    let slices = pool.resource_slice_count();
    if slices.integer().is_some_and(|slices| slices < 1) {
        errors.push(slices.invalid("must be greater than or equal to 1"));
    }
    for count in
        [pool.total_devices(), pool.allocated_devices(), pool.available_devices(), pool.unavailable_devices()]
    {
        count.check_not_negative(errors);
    }
    pool.node_name().check_if_present(names::dns_subdomain, errors);
    pool.validation_error().check_length(MAX_ERROR_BYTES, errors);
}
