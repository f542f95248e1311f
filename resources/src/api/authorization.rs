//! `authorization.k8s.io`: the permissions of users.

mod access;
pub mod localsubjectaccessreviews;
mod selectors;
pub mod selfsubjectaccessreviews;
pub mod selfsubjectrulesreviews;
pub mod subjectaccessreviews;
