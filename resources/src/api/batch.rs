//! The resources of `batch`.

pub mod cronjobs;
mod job_spec;
pub mod jobs;
