//! #[derive(Resource)] and the storage-map macro: an annotated struct becomes a Kubernetes-style resource
