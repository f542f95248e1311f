//! `authorization.k8s.io`: what somebody may do.

mod access;
pub mod localsubjectaccessreviews;
pub mod selfsubjectaccessreviews;
pub mod selfsubjectrulesreviews;
pub mod subjectaccessreviews;
