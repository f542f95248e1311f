//! Which nodes an object belongs to: those of the pods that refer to it, directly or through a claim and its volume.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reference {
    /// Its kind.
    pub(super) kind: Kind,
    /// Its namespace; empty for objects of the cluster.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
}

/// What a pod, or another object that names a node, gives to that node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OnNode {
    /// The node.
    pub(super) node: String,
    /// The objects that it refers to; the object itself belongs to the node in any case.
    pub(super) references: Vec<Reference>,
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
    /// What was recorded for each object, to undo it.
    on_nodes: HashMap<Reference, OnNode>,
    volumes: HashMap<Reference, BoundVolume>,
    /// The nodes of each object, with the number of objects that relate it to them.
    nodes: HashMap<Reference, HashMap<String, usize>>,
    /// The volumes that need a secret.
    volumes_of_secret: HashMap<Reference, HashSet<Reference>>,
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
        if let Some(old) = relations.on_nodes.remove(&object) {
            relations.release(&object, &old.node);
            for reference in &old.references {
                relations.release(reference, &old.node);
            }
        }
        if let Some(new) = on_node {
            relations.relate(&object, &new.node);
            for reference in &new.references {
                relations.relate(reference, &new.node);
            }
            relations.on_nodes.insert(object, new);
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

    fn read(&self) -> RwLockReadGuard<'_, Relations> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Relations> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Relations ===

impl Relations {
    fn is_on(&self, object: &Reference, node: &str) -> bool {
        self.nodes.get(object).is_some_and(|nodes| nodes.contains_key(node))
    }

    fn volume_on(&self, volume: &Reference, node: &str) -> bool {
        self.volumes.get(volume).is_some_and(|bound| self.is_on(&bound.claim, node))
    }

    fn relate(&mut self, object: &Reference, node: &str) {
        *self.nodes.entry(object.clone()).or_default().entry(node.to_owned()).or_default() += 1;
    }

    fn release(&mut self, object: &Reference, node: &str) {
        let Some(nodes) = self.nodes.get_mut(object) else { return };
        if let Some(count) = nodes.get_mut(node) {
            *count -= 1;
            if *count == 0 {
                nodes.remove(node);
            }
        }
        if nodes.is_empty() {
            self.nodes.remove(object);
        }
    }
}

// === impl Reference ===

impl Reference {
    /// Returns a reference to an object.
    pub(super) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}
