//! `authentication.k8s.io`: the identity of users.

pub mod selfsubjectreviews;
pub mod tokenreviews;
