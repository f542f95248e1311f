//! The resources of `node.k8s.io`.

pub mod runtimeclasses;
