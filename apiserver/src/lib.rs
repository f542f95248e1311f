//! The HTTP house: a Kubernetes API server over a storage map

pub mod request_info;
