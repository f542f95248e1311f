//! The table of ResourcePoolStatusRequests.

use registry_core::api::Object;
use registry_core::resource::{CellValue, Column};
use resource_views::resource::v1alpha3::ResourcePoolStatusRequest;
use serde_json::Value;

use crate::support::printers;

const POOLS: &[&str] = &["status", "pools"];
const POOL_COUNT: &[&str] = &["status", "poolCount"];

pub(super) static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Driver", |object| printers::text(object, &["spec", "driver"]))
        .described("The driver to query pools for."),
    Column::text("Total", |object| sum(object, "totalDevices"))
        .described("Total number of devices across all pools."),
    Column::text("Available", |object| sum(object, "availableDevices"))
        .described("Number of available devices across all pools."),
    Column::text("Allocated", |object| sum(object, "allocatedDevices"))
        .described("Number of allocated devices across all pools."),
    Column::text("Unavailable", |object| sum(object, "unavailableDevices"))
        .described("Number of unavailable devices across all pools."),
    Column::text("Errors", failures).described("Number of pools with validation errors."),
    Column::integer("Pools", |object| printers::number(object, POOL_COUNT))
        .described("Total number of matching pools."),
    Column::text("Status", status).described("Processing status."),
    Column::dated("Completed", completed).described("Time since the observation completed."),
];

/// Returns the first of the final conditions that is true.
fn outcome(object: &Object) -> Option<&Value> {
    let text =
        |condition: &'_ Value, field: &str| condition.get(field).and_then(Value::as_str).map(str::to_owned);
    let is_final = |condition: &&Value| {
        let kind = text(condition, "type").unwrap_or_default();
        text(condition, "status").as_deref() == Some("True") && (kind == "Complete" || kind == "Failed")
    };
    printers::elements(object, &["status", "conditions"]).find(is_final)
}

fn outcome_is(object: &Object, wanted: &str) -> bool {
    outcome(object).and_then(|condition| condition.get("type")).and_then(Value::as_str) == Some(wanted)
}

/// Whether there are numbers to show.
fn has_numbers(object: &Object) -> bool {
    ResourcePoolStatusRequest(object).status().exists() && !outcome_is(object, "Failed")
}

/// Returns the sum of a number of all pools.
fn sum(object: &Object, field: &str) -> Value {
    if !has_numbers(object) {
        return "-".into();
    }
    let numbers = printers::elements(object, POOLS).filter_map(|pool| pool.get(field)?.as_i64());
    numbers.sum::<i64>().to_string().into()
}

/// Returns the number of pools whose devices cannot be counted.
fn failures(object: &Object) -> Value {
    if !has_numbers(object) {
        return "-".into();
    }
    let pools = printers::elements(object, POOLS);
    pools.filter(|pool| pool.get("validationError").is_some()).count().to_string().into()
}

fn status(object: &Object) -> Value {
    if outcome_is(object, "Failed") {
        return "Failed".into();
    }
    if !outcome_is(object, "Complete") {
        return "Pending".into();
    }
    let all = object.get_i64(POOL_COUNT).unwrap_or_default();
    let shown = i64::try_from(printers::length(object, POOLS)).unwrap_or(i64::MAX);
    if all > shown { format!("Complete ({shown}/{all} pools)").into() } else { "Complete".into() }
}

fn completed(object: &Object) -> CellValue {
    let condition = outcome(object).filter(|_| outcome_is(object, "Complete"));
    match condition.and_then(|condition| condition.get("lastTransitionTime")?.as_str()) {
        Some(moment) => CellValue::age_of(Some(moment)),
        None => "<none>".into(),
    }
}
