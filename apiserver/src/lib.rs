//! The HTTP house: a Kubernetes API server over a storage map
