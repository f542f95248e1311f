//! The table of ResourcePoolStatusRequests.

use registry_core::api::Object;
use registry_core::resource::{CellValue, Column};
use resource_views::meta::v1::Condition;
use resource_views::resource::v1alpha3::{PoolStatus, ResourcePoolStatusRequest};
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers;

pub(super) static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Driver", |object| printers::text(object, &["spec", "driver"]))
        .described("The driver to query pools for."),
    Column::text("Total", |object| sum(object, |pool| pool.total_devices().number()))
        .described("Total number of devices across all pools."),
    Column::text("Available", |object| sum(object, |pool| pool.available_devices().number()))
        .described("Number of available devices across all pools."),
    Column::text("Allocated", |object| sum(object, |pool| pool.allocated_devices().number()))
        .described("Number of allocated devices across all pools."),
    Column::text("Unavailable", |object| sum(object, |pool| pool.unavailable_devices().number()))
        .described("Number of unavailable devices across all pools."),
    Column::text("Errors", failures).described("Number of pools with validation errors."),
    Column::integer("Pools", |object| printers::number(object, &["status", "poolCount"]))
        .described("Total number of matching pools."),
    Column::text("Status", status).described("Processing status."),
    Column::dated("Completed", completed).described("Time since the observation completed."),
];

/// Returns the first of the final conditions that is true.
fn outcome(object: &Object) -> Option<Condition<'_, '_>> {
    conditions::all(object).find(|condition| {
        condition.status().text() == "True" && ["Complete", "Failed"].contains(&condition.r#type().text())
    })
}

fn outcome_is(object: &Object, wanted: &str) -> bool {
    outcome(object).is_some_and(|condition| condition.r#type().text() == wanted)
}

/// Whether there are numbers to show.
fn has_numbers(object: &Object) -> bool {
    ResourcePoolStatusRequest(object).status().exists() && !outcome_is(object, "Failed")
}

/// Returns the sum of a number of all pools.
fn sum(object: &Object, number: impl Fn(&PoolStatus<'_, '_>) -> i64) -> Value {
    if !has_numbers(object) {
        return "-".into();
    }
    let status = ResourcePoolStatusRequest(object).status();
    status.pools().elements().map(|pool| number(&pool)).sum::<i64>().to_string().into()
}

/// Returns the number of pools whose devices cannot be counted.
fn failures(object: &Object) -> Value {
    if !has_numbers(object) {
        return "-".into();
    }
    let status = ResourcePoolStatusRequest(object).status();
    status.pools().elements().filter(|pool| pool.validation_error().exists()).count().to_string().into()
}

fn status(object: &Object) -> Value {
    if outcome_is(object, "Failed") {
        return "Failed".into();
    }
    if !outcome_is(object, "Complete") {
        return "Pending".into();
    }
    let status = ResourcePoolStatusRequest(object).status();
    let all = status.pool_count().number();
    let shown = i64::try_from(status.pools().len()).unwrap_or(i64::MAX);
    if all > shown { format!("Complete ({shown}/{all} pools)").into() } else { "Complete".into() }
}

fn completed(object: &Object) -> CellValue {
    let condition = outcome(object).filter(|_| outcome_is(object, "Complete"));
    match condition.and_then(|condition| condition.last_transition_time().optional_text()) {
        Some(moment) => CellValue::age_of(Some(moment)),
        None => "<none>".into(),
    }
}
