//! Keeps the graph of nodes up to date: one informer for each kind of object that gives a node access.

use std::collections::HashSet;
use std::sync::Arc;

use registry_core::api::Object;
use registry_core::codec::json::Parts;
use registry_core::registry::{Informer, InformerChange, InformerHandler, InformerTask, InstalledApi, Store};
use registry_core::resource::{Resource, ResourceDescription};
use registry_core::storage::StoredObject;
use resources::api::certificates::podcertificaterequests::PodCertificateRequests;
use resources::api::core::persistentvolumes::PersistentVolumes;
use resources::api::core::pods::Pods;
use resources::api::resource::resourceslices::ResourceSlices;
use resources::api::storage::volumeattachments::VolumeAttachments;

use super::graph::{Kind, NodeGraph, Reference};
use super::references;

/// The kinds that give a node access.
const KINDS: [(&ResourceDescription, Kind); 5] = [
    (Pods::TYPE, Kind::Pod),
    (PersistentVolumes::TYPE, Kind::Volume),
    (VolumeAttachments::TYPE, Kind::VolumeAttachment),
    (ResourceSlices::TYPE, Kind::ResourceSlice),
    (PodCertificateRequests::TYPE, Kind::PodCertificateRequest),
];

/// Follows the objects of one kind.
pub(in crate::authorization) struct NodeFollower {
    graph: Arc<NodeGraph>,
    store: Arc<Store>,
    prefix: String,
    kind: Kind,
}

// === impl NodeFollower ===

impl NodeFollower {
    /// Returns the informers that keep a graph up to date.
    pub(in crate::authorization) fn follow(
        installed: &InstalledApi,
        graph: &Arc<NodeGraph>,
    ) -> Vec<InformerTask> {
        let followed = KINDS.iter().filter_map(|(resource, kind)| {
            let store = installed.store(resource)?;
            let prefix = format!("{}/", store.root());
            let graph = graph.clone();
            let follower = Self { graph, store: store.clone(), prefix, kind: *kind };
            Some(Informer::new(store, Arc::new(follower)).into_task())
        });
        followed.collect()
    }

    /// Returns the object that a key names.
    fn reference(&self, key: &str) -> Reference {
        let name = key.strip_prefix(&self.prefix).unwrap_or_default();
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        Reference::new(self.kind, namespace, name)
    }

    /// Records the state of an object. One that cannot be decoded gives nothing.
    fn set(&self, stored: &StoredObject) {
        let reference = self.reference(&stored.key);
        let decoded = match self.kind {
            // A pod gives access to its node only.
            Kind::Pod if stored.attributes.field("spec.nodeName").is_empty() => Ok(Object::default()),
            // Most of a pod gives its node no access, and pods change all the time.
            Kind::Pod => self.store.read_parts(stored, Parts::Only(references::POD_PARTS)),
            _ => self.store.read(stored),
        };
        let decoded = decoded
            .inspect_err(|failure| tracing::warn!("an object gives its node no access: {failure}"))
            .unwrap_or_default();
        self.record(reference, &decoded);
    }

    fn record(&self, reference: Reference, object: &Object) {
        match self.kind {
            Kind::Volume => self.graph.set_volume(reference, references::volume_references(object)),
            Kind::Pod => self.graph.set(reference, references::pod_references(object)),
            _ => self.graph.set(reference, references::node_field_references(object, &["spec", "nodeName"])),
        }
    }
}

impl InformerHandler for NodeFollower {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let recorded = self.graph.recorded(self.kind);
        for object in &objects {
            self.set(object);
        }
        // The first list replaces nothing.
        if recorded.is_empty() {
            return;
        }
        let present: HashSet<Reference> = objects.iter().map(|object| self.reference(&object.key)).collect();
        for gone in recorded.into_iter().filter(|object| !present.contains(object)) {
            self.record(gone, &Object::default());
        }
    }

    fn changed(&self, change: InformerChange) {
        match &change {
            InformerChange::Added(object) | InformerChange::Modified(object) => self.set(object),
            InformerChange::Deleted(last) => self.record(self.reference(&last.key), &Object::default()),
        }
    }
}
