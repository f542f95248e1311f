//! The resources of `batch`.

pub mod cronjobs;
pub mod jobs;
