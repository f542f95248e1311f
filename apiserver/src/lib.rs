//! The HTTP house: a Kubernetes API server over a storage map

pub mod admission;
pub mod discovery;
pub mod handlers;
mod json_fields;
pub mod openapi;
pub mod request_info;
