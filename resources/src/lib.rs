//! Kubernetes' built-in resources, one annotated struct each
