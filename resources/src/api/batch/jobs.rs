//! `batch/v1 Job`: Job represents the configuration of a single job.

mod status;
mod strategy;
mod template;

use registry_core::api::{Object, time};
use registry_core::resource::{CellValue, Column};
use registry_derive::Resource;
use resource_views::batch::v1::Job;
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers::{self, workload};

/// `jobs` of `batch/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::batch::v1::Job,
    group = "batch",
    version = "v1",
    categories("all"),
    status,
    generation,
    selectable(status.succeeded = "status.successful"),
    columns = COLUMNS,
    strategy = strategy::JobStrategy,
)]
pub struct Jobs;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Status", status).described("Status of the job."),
    Column::text("Completions", completions).documented_by(&["status", "succeeded"]),
    Column::dated("Duration", duration).described("Time required to complete the job."),
    Column::AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];

/// Returns the state of the job, from its conditions.
fn status(object: &Object) -> Value {
    let is = |condition| conditions::is_true(object, condition);
    let word = if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if object.deletion_timestamp().is_some() {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    word.into()
}

/// Returns succeeded and wanted pods: `0/1`, `0/1 of 3`.
fn completions(object: &Object) -> Value {
    let succeeded = Job(object).status().succeeded().number();
    if let Some(completions) = Job(object).spec().completions().integer() {
        return format!("{succeeded}/{completions}").into();
    }
    match Job(object).spec().parallelism().integer() {
        Some(parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
        _ => format!("{succeeded}/1").into(),
    }
}

/// Returns the time that the job has been running, or ran.
fn duration(object: &Object) -> CellValue {
    let status = Job(object).status();
    let (start, end) = (status.start_time().optional_text(), status.completion_time().optional_text());
    match (start.and_then(time::parse), end.and_then(time::parse)) {
        (None, _) => "".into(),
        (Some(start), Some(end)) => printers::duration_text(end.as_second() - start.as_second()).into(),
        (Some(start), None) => CellValue::age(start),
    }
}
