//! `batch/v1 CronJob`: CronJob represents the configuration of a single cron job.

mod schedule;
mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `cronjobs` of `batch/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::batch::v1::CronJob,
    group = "batch",
    version = "v1",
    retired("batch/v1beta1"),
    short("cj"),
    categories("all"),
    status,
    generation,
    columns = COLUMNS,
    strategy = strategy::CronJobStrategy,
)]
pub struct CronJobs;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Schedule", |object| printers::text(object, &["spec", "schedule"]))
        .documented_by(&["spec", "schedule"]),
    Column::text("Timezone", |object| printers::text_or(object, &["spec", "timeZone"], "<none>"))
        .documented_by(&["spec", "timeZone"]),
    // A text in Kubernetes too, in a column of another type.
    Column::boolean("Suspend", |object| printers::flag_text(object, &["spec", "suspend"]))
        .documented_by(&["spec", "suspend"]),
    Column::integer("Active", |object| printers::count(object, &["status", "active"]))
        .documented_by(&["status", "active"]),
    Column::dated("Last Schedule", |object| printers::age_or_none(object, &["status", "lastScheduleTime"]))
        .documented_by(&["status", "lastScheduleTime"]),
    Column::AGE,
    Column::text("Containers", |object| {
        printers::container_names(object, &["spec", "jobTemplate", "spec", "template", "spec"])
    })
    .described("Names of each container in the template.")
    .wide(),
    Column::text("Images", |object| {
        printers::container_images(object, &["spec", "jobTemplate", "spec", "template", "spec"])
    })
    .described("Images referenced by each container in the template.")
    .wide(),
    Column::text("Selector", |object| {
        printers::label_selector(object, &["spec", "jobTemplate", "spec", "selector"])
    })
    .documented_by(&["spec", "jobTemplate", "spec", "selector"])
    .wide(),
];
