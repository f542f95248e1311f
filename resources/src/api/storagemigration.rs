//! The resources of `storagemigration.k8s.io`.

pub mod storageversionmigrations;
