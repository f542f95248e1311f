//! The resources of `internal.apiserver.k8s.io`.

pub mod storageversions;
