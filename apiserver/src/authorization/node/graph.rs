//! The nodes that an object belongs to: those of the pods that refer to it, directly or through a claim and its volume.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::node_counts::NodeCounts;

/// The kinds of objects that belong to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::authorization) enum Kind {
    /// A Pod.
    Pod,
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
    /// A PersistentVolumeClaim.
    Claim,
    /// A PersistentVolume.
    Volume,
    /// A ServiceAccount.
    ServiceAccount,
    /// A ResourceClaim.
    ResourceClaim,
    /// A ResourceSlice.
    ResourceSlice,
    /// A VolumeAttachment.
    VolumeAttachment,
    /// A PodCertificateRequest.
    PodCertificateRequest,
}

/// An object. The graph holds many, so they are small, and those that are equal share their text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reference {
    kind: Kind,
    /// The length of the namespace; 0 for objects of the cluster.
    namespace_length: usize,
    /// The namespace, directly followed by the name.
    namespace_and_name: Arc<str>,
}

/// The node that a pod or another object names, and the objects to which that node gets access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OnNode {
    /// The node.
    pub(super) node: Arc<str>,
    /// The objects that it refers to; the object itself belongs to the node in any case.
    pub(super) references: Box<[Reference]>,
}

/// A volume that is bound to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundVolume {
    /// The claim.
    pub(super) claim: Reference,
    /// The secrets that a kubelet needs to mount the volume.
    pub(super) secrets: Vec<Reference>,
}

/// The relations between objects and nodes.
#[derive(Default)]
pub(in crate::authorization) struct NodeGraph(RwLock<Relations>);

#[derive(Default)]
struct Relations {
    /// The record of each object that names a node.
    on_nodes: HashMap<Reference, OnNode>,
    volumes: HashMap<Reference, BoundVolume>,
    /// The nodes of each object that others refer to.
    nodes: HashMap<Reference, NodeCounts>,
    /// The volumes that need a secret.
    volumes_of_secret: HashMap<Reference, HashSet<Reference>>,
    /// The names of the nodes in `on_nodes`, which shares them.
    node_names: HashSet<Arc<str>>,
}

// === impl NodeGraph ===

impl NodeGraph {
    /// Returns whether an object belongs to a node.
    pub(super) fn belongs(&self, kind: Kind, namespace: &str, name: &str, node: &str) -> bool {
        // Kinds of the cluster have no namespace, whatever a request says.
        let is_of_cluster = matches!(kind, Kind::Volume | Kind::ResourceSlice | Kind::VolumeAttachment);
        let namespace = if is_of_cluster { "" } else { namespace };
        let object = Reference::new(kind, namespace, name);
        let relations = self.read();
        match kind {
            Kind::Volume => relations.volume_on(&object, node),
            Kind::Secret => {
                let mut volumes = relations.volumes_of_secret.get(&object).into_iter().flatten();
                relations.is_on(&object, node) || volumes.any(|volume| relations.volume_on(volume, node))
            }
            _ => relations.is_on(&object, node),
        }
    }

    /// Records what an object gives to a node; `None` if it gives nothing any more.
    pub(super) fn set(&self, object: Reference, on_node: Option<OnNode>) {
        let mut relations = self.write();
        if relations.on_nodes.get(&object) == on_node.as_ref() {
            return;
        }
        relations.remove(&object);
        if let Some(new) = on_node {
            relations.insert(object, new);
        }
    }

    /// Records the claim and secrets of a volume; `None` if it has no claim any more.
    pub(super) fn set_volume(&self, volume: Reference, bound: Option<BoundVolume>) {
        let mut relations = self.write();
        if let Some(old) = relations.volumes.remove(&volume) {
            for secret in &old.secrets {
                let Some(volumes) = relations.volumes_of_secret.get_mut(secret) else { continue };
                volumes.remove(&volume);
                if volumes.is_empty() {
                    relations.volumes_of_secret.remove(secret);
                }
            }
        }
        if let Some(new) = bound {
            for secret in &new.secrets {
                relations.volumes_of_secret.entry(secret.clone()).or_default().insert(volume.clone());
            }
            relations.volumes.insert(volume, new);
        }
    }

    /// Returns the recorded objects of a kind.
    pub(super) fn recorded(&self, kind: Kind) -> Vec<Reference> {
        let relations = self.read();
        let all = relations.on_nodes.keys().chain(relations.volumes.keys());
        all.filter(|object| object.kind == kind).cloned().collect()
    }

    /// Returns whether nothing is recorded or related.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let relations = self.read();
        relations.on_nodes.is_empty()
            && relations.volumes.is_empty()
            && relations.nodes.is_empty()
            && relations.volumes_of_secret.is_empty()
            && relations.node_names.is_empty()
    }

    fn read(&self) -> RwLockReadGuard<'_, Relations> {
        self.0.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Relations> {
        self.0.write()
    }
}

// === impl Relations ===

impl Relations {
    fn is_on(&self, object: &Reference, node: &str) -> bool {
        self.on_nodes.get(object).is_some_and(|on_node| *on_node.node == *node)
            || self.nodes.get(object).is_some_and(|nodes| nodes.contains(node))
    }

    fn volume_on(&self, volume: &Reference, node: &str) -> bool {
        self.volumes.get(volume).is_some_and(|bound| self.is_on(&bound.claim, node))
    }

    fn insert(&mut self, object: Reference, mut new: OnNode) {
        match self.node_names.get(&new.node) {
            Some(name) => new.node = name.clone(),
            None => {
                self.node_names.insert(new.node.clone());
            }
        }
        for reference in &mut new.references {
            if let Some((shared, _)) = self.nodes.get_key_value(reference) {
                *reference = shared.clone();
            }
            self.nodes.entry(reference.clone()).or_default().add(&new.node);
        }
        self.on_nodes.insert(object, new);
    }

    fn remove(&mut self, object: &Reference) {
        let Some(OnNode { node, references }) = self.on_nodes.remove(object) else { return };
        for reference in &references {
            let Some(nodes) = self.nodes.get_mut(reference) else { continue };
            nodes.remove(&node);
            if nodes.is_empty() {
                self.nodes.remove(reference);
            }
        }
        // Only this function and the set have it.
        if Arc::strong_count(&node) == 2 {
            self.node_names.remove(&node);
        }
    }
}

// === impl Reference ===

impl Reference {
    /// Returns a reference to an object.
    pub(super) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        let namespace_and_name = [namespace, name].concat().into();
        Self { kind, namespace_length: namespace.len(), namespace_and_name }
    }
}
