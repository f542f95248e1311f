//! `authentication.k8s.io`: who somebody is.

pub mod selfsubjectreviews;
pub mod tokenreviews;
