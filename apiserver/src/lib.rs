//! The HTTP house: a Kubernetes API server over a storage map

pub mod admission;
pub mod discovery;
pub mod handlers;
pub mod openapi;
pub mod request_info;
