//! The graph of objects and their owners.
//!
//! An object has a node if it has owners, is an owner, or waits for its dependents. A node is virtual as long as only
//! references to it are known: the object may not exist, or have other coordinates than a reference says.
//!
//! Kubernetes concept: `GraphBuilder` in `pkg/controller/garbagecollector`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::controllers::kinds::Kind;
use crate::controllers::metadata::{FOREGROUND, Metadata, ORPHAN, OwnerReference};

#[cfg(test)]
mod tests;

/// The unique id of an object.
pub(super) type Uid = Arc<str>;

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Coordinates {
    /// The name of the kind.
    pub(super) kind: String,
    /// The group and version.
    pub(super) api_version: String,
    /// The namespace; empty for cluster-scoped objects.
    pub(super) namespace: String,
    /// The name.
    pub(super) name: String,
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeState {
    /// Where the object is, or may be if the node is virtual.
    pub(super) coordinates: Coordinates,
    /// Whether only references to the object are known.
    pub(super) is_virtual: bool,
    /// Whether the object is being deleted.
    pub(super) is_being_deleted: bool,
    /// Whether the object waits until its dependents are deleted.
    pub(super) deletes_dependents: bool,
}

struct Node {
    coordinates: Coordinates,
    /// The kind; `None` if the node is virtual.
    kind: Option<Arc<Kind>>,
    owners: Vec<OwnerReference>,
    dependents: BTreeSet<Uid>,
    is_being_deleted: bool,
    deletes_dependents: bool,
    orphans_dependents: bool,
}

/// The graph.
#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
}

/// The objects that have to be examined after a change of the graph.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// The objects that may have to be deleted, or that may not be waited for any more.
    pub(super) delete: BTreeSet<Uid>,
    /// The objects whose dependents lose them as their owners.
    pub(super) orphan: BTreeSet<Uid>,
    /// The references to owners that are in another namespace.
    pub(super) misplaced: Vec<Reference>,
}

/// A reference of an object to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The unique id of the object.
    pub(super) uid: Uid,
    /// Where the object is.
    pub(super) dependent: Coordinates,
    /// The reference.
    pub(super) owner: OwnerReference,
}

// === impl Coordinates ===

impl Coordinates {
    fn observed(kind: &Kind, object: &Metadata) -> Self {
        Self {
            kind: kind.name.clone(),
            api_version: kind.api_version(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        }
    }

    /// Returns the coordinates of an owner, as a dependent in a namespace refers to it.
    fn referred(owner: &OwnerReference, namespace: &str) -> Self {
        Self {
            kind: owner.kind.clone(),
            api_version: owner.api_version.clone(),
            namespace: namespace.to_owned(),
            name: owner.name.clone(),
        }
    }

    /// Whether a dependent in a namespace can mean the object here by a reference.
    fn matches(&self, owner: &OwnerReference, namespace: &str) -> bool {
        let is_reachable = self.namespace.is_empty() || self.namespace == namespace;
        is_reachable
            && self.kind == owner.kind
            && self.api_version == owner.api_version
            && self.name == owner.name
    }

    /// Whether an object in a namespace is here, and the dependent in no or another one.
    fn is_apart(&self, dependent: &Self) -> bool {
        !self.namespace.is_empty() && self.namespace != dependent.namespace
    }
}

// === impl Node ===

impl Node {
    fn referred(coordinates: Coordinates) -> Self {
        Self {
            coordinates,
            kind: None,
            owners: Vec::new(),
            dependents: BTreeSet::new(),
            is_being_deleted: false,
            deletes_dependents: false,
            orphans_dependents: false,
        }
    }

    /// Whether nothing depends on the node being known.
    fn is_superfluous(&self) -> bool {
        let waits = self.deletes_dependents || self.orphans_dependents;
        self.owners.is_empty() && self.dependents.is_empty() && !waits
    }
}

// === impl Graph ===

impl Graph {
    /// Learns the state of an object that exists.
    pub(super) fn observe(&mut self, kind: &Arc<Kind>, object: &Metadata, effects: &mut Effects) {
        let waits = object.waits_for(FOREGROUND) || object.waits_for(ORPHAN);
        let uid: Uid = match self.nodes.get_key_value(object.uid.as_str()) {
            Some((uid, _)) => uid.clone(),
            None if object.owner_references.is_empty() && !waits => return,
            None => {
                let uid: Uid = object.uid.as_str().into();
                self.nodes.insert(uid.clone(), Node::referred(Coordinates::observed(kind, object)));
                uid
            }
        };
        self.settle(&uid, kind, object, effects);
        self.set_owners(&uid, &object.owner_references, effects);
        if let Some(node) = self.nodes.get_mut(&uid) {
            node.is_being_deleted |= object.is_being_deleted();
            let starts_orphaning = object.waits_for(ORPHAN) && !node.orphans_dependents;
            let starts_deleting = object.waits_for(FOREGROUND) && !node.deletes_dependents;
            node.orphans_dependents = object.waits_for(ORPHAN);
            node.deletes_dependents = object.waits_for(FOREGROUND);
            if starts_orphaning {
                effects.orphan.insert(uid.clone());
            } else if starts_deleting {
                effects.delete.extend(node.dependents.iter().cloned());
                effects.delete.insert(uid.clone());
            }
        }
        self.prune(&uid);
    }

    /// Makes a virtual node one of an object that exists. Dependents that mean another object are examined.
    fn settle(&mut self, uid: &Uid, kind: &Arc<Kind>, object: &Metadata, effects: &mut Effects) {
        let coordinates = Coordinates::observed(kind, object);
        let Some(node) = self.nodes.get_mut(uid) else { return };
        let was_virtual = node.kind.replace(kind.clone()).is_none();
        let is_elsewhere = node.coordinates != coordinates;
        node.coordinates = coordinates.clone();
        if was_virtual && is_elsewhere {
            let (_, mistaken) = self.partition(uid, &coordinates);
            let misplaced = mistaken.iter().filter_map(|dependent| self.reference(dependent, uid));
            let misplaced = misplaced.filter(|reference| coordinates.is_apart(&reference.dependent));
            effects.misplaced.extend(misplaced);
            effects.delete.extend(mistaken);
        }
    }

    /// Returns the first reference of an object to an owner.
    fn reference(&self, dependent: &Uid, owner: &str) -> Option<Reference> {
        let node = self.nodes.get(dependent)?;
        let owner = node.owners.iter().find(|reference| reference.uid == owner)?.clone();
        Some(Reference { uid: dependent.clone(), dependent: node.coordinates.clone(), owner })
    }

    /// Returns references to a virtual node that mean the object at these coordinates, at most this number of them.
    pub(super) fn references(&self, owner: &Uid, at: &Coordinates, max: usize) -> Vec<Reference> {
        let Some(node) = self.nodes.get(owner).filter(|node| node.kind.is_none()) else { return Vec::new() };
        let references = node.dependents.iter().filter_map(|dependent| self.reference(dependent, owner));
        let means = |found: &Reference| at.matches(&found.owner, &found.dependent.namespace);
        references.filter(means).take(max).collect()
    }

    /// Replaces the owners of a node.
    fn set_owners(&mut self, uid: &Uid, owners: &[OwnerReference], effects: &mut Effects) {
        let Some(node) = self.nodes.get_mut(uid) else { return };
        if node.owners == owners {
            return;
        }
        let before = std::mem::replace(&mut node.owners, owners.to_vec());
        let namespace = node.coordinates.namespace.clone();
        let by_uid = |owners: &[OwnerReference]| -> HashMap<String, OwnerReference> {
            owners.iter().map(|owner| (owner.uid.clone(), owner.clone())).collect()
        };
        let (before, after) = (by_uid(&before), by_uid(owners));
        // As in Kubernetes, only the first owner that is not as a reference says is reported.
        let mut is_doubtful = false;
        for owner in owners.iter().filter(|owner| !before.contains_key(&owner.uid)) {
            let is_apart = self.link(uid, &namespace, owner, effects);
            if let (Some(true), false) = (is_apart, is_doubtful) {
                effects.misplaced.extend(self.reference(uid, &owner.uid));
            }
            is_doubtful |= is_apart.is_some();
        }
        for old in before.values() {
            let now = after.get(&old.uid);
            if old.blocks() && !now.is_some_and(OwnerReference::blocks) {
                effects.delete.extend(self.known(&old.uid));
            }
            if now.is_none() {
                self.unlink(uid, &old.uid);
            }
        }
    }

    /// Adds a dependent to its owner, which becomes a virtual node if it has none. If the owner is not as the reference says,
    /// returns whether it exists in another namespace.
    fn link(
        &mut self,
        uid: &Uid,
        namespace: &str,
        owner: &OwnerReference,
        effects: &mut Effects,
    ) -> Option<bool> {
        let Some(node) = self.nodes.get_mut(owner.uid.as_str()) else {
            let mut node = Node::referred(Coordinates::referred(owner, namespace));
            node.dependents.insert(uid.clone());
            let owner: Uid = owner.uid.as_str().into();
            self.nodes.insert(owner.clone(), node);
            effects.delete.insert(owner);
            return None;
        };
        node.dependents.insert(uid.clone());
        let coordinates = &node.coordinates;
        // A virtual cluster-scoped owner may be a namespaced one that a cluster-scoped dependent refers to.
        let is_doubtful = node.kind.is_none() && coordinates.namespace.is_empty() && !namespace.is_empty();
        let is_mistaken = !coordinates.matches(owner, namespace) || is_doubtful;
        if is_mistaken || node.deletes_dependents {
            effects.delete.insert(uid.clone());
        }
        let is_apart = !coordinates.namespace.is_empty() && coordinates.namespace != namespace;
        is_mistaken.then_some(is_apart && node.kind.is_some())
    }

    fn unlink(&mut self, uid: &Uid, owner: &str) {
        let Some(owner) = self.known(owner) else { return };
        if let Some(node) = self.nodes.get_mut(&owner) {
            node.dependents.remove(uid);
        }
        self.prune(&owner);
    }

    /// Removes a node that nothing depends on.
    fn prune(&mut self, uid: &Uid) {
        if self.nodes.get(uid).is_some_and(Node::is_superfluous) {
            self.nodes.remove(uid);
        }
    }

    /// Learns that an object does not exist any more. Its dependents are examined, and owners that wait for it.
    pub(super) fn remove(&mut self, uid: &str, effects: &mut Effects) {
        let Some((uid, node)) = self.nodes.remove_entry(uid) else { return };
        for owner in &node.owners {
            let Some(known) = self.known(&owner.uid) else { continue };
            if self.nodes.get(&known).is_some_and(|owner| owner.deletes_dependents) {
                effects.delete.insert(known);
            }
            self.unlink(&uid, &owner.uid);
        }
        effects.delete.extend(node.dependents);
    }

    /// Learns that there is no object with this uid at these coordinates, which a reference has.
    pub(super) fn confirm_absence(&mut self, uid: &Uid, at: &Coordinates, effects: &mut Effects) {
        let Some(node) = self.nodes.get(uid) else { return };
        let (is_virtual, is_here) = (node.kind.is_none(), node.coordinates == *at);
        let (matching, others) = self.partition(uid, at);
        if (is_virtual && others.is_empty()) || (!is_virtual && is_here) {
            return self.remove(uid, effects);
        }
        effects.delete.extend(matching);
        if is_virtual && is_here {
            // The object may be where the other dependents say.
            let next = self.alternative(uid, &others, at);
            if let (Some(next), Some(node)) = (next, self.nodes.get_mut(uid)) {
                node.coordinates = next;
                effects.delete.insert(uid.clone());
            }
        }
    }

    /// Returns the dependents that mean the object at these coordinates, and those that mean another one.
    fn partition(&self, uid: &Uid, at: &Coordinates) -> (Vec<Uid>, Vec<Uid>) {
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        for dependent in self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents) {
            let Some(node) = self.nodes.get(dependent) else { continue };
            let references = || node.owners.iter().filter(|owner| *owner.uid == **uid);
            let namespace = &node.coordinates.namespace;
            if references().any(|owner| at.matches(owner, namespace)) {
                matching.push(dependent.clone());
            }
            if references().any(|owner| !at.matches(owner, namespace)) {
                others.push(dependent.clone());
            }
        }
        (matching, others)
    }

    /// Returns the coordinates after `absent`, in a cyclic order, among those that dependents say.
    fn alternative(&self, uid: &Uid, dependents: &[Uid], absent: &Coordinates) -> Option<Coordinates> {
        let named: BTreeSet<Coordinates> = dependents
            .iter()
            .filter_map(|dependent| self.nodes.get(dependent))
            .flat_map(|node| node.owners.iter().map(|owner| (owner, &node.coordinates.namespace)))
            .filter(|(owner, _)| *owner.uid == **uid)
            .map(|(owner, namespace)| Coordinates::referred(owner, namespace))
            .filter(|named| named != absent)
            .collect();
        named.iter().find(|named| *named > absent).or_else(|| named.first()).cloned()
    }

    /// Learns all objects of a kind. Virtual nodes that may be of the kind are examined.
    pub(super) fn replace(&mut self, kind: &Arc<Kind>, objects: &[Metadata], effects: &mut Effects) {
        let present: HashSet<&str> = objects.iter().map(|object| object.uid.as_str()).collect();
        let mut gone = Vec::new();
        for (uid, node) in &self.nodes {
            match &node.kind {
                Some(own) if own.is_same_resource(kind) && !present.contains(&**uid) => {
                    gone.push(uid.clone());
                }
                None if node.coordinates.kind == kind.name => {
                    effects.delete.insert(uid.clone());
                }
                _ => {}
            }
        }
        for uid in gone {
            self.remove(&uid, effects);
        }
        for object in objects {
            self.observe(kind, object, effects);
        }
    }

    /// Forgets the objects of a kind that is not served any more. Whether they exist is not known from now on.
    pub(super) fn forget(&mut self, kind: &Kind) {
        let is_of_kind = |node: &Node| node.kind.as_ref().is_some_and(|own| own.is_same_resource(kind));
        let forgotten = self.nodes.iter().filter(|(_, node)| is_of_kind(node));
        let forgotten: Vec<Uid> = forgotten.map(|(uid, _)| uid.clone()).collect();
        for uid in forgotten {
            let Some(node) = self.nodes.get_mut(&uid) else { continue };
            let dependents = std::mem::take(&mut node.dependents);
            let blank = Node { dependents, ..Node::referred(node.coordinates.clone()) };
            let before = std::mem::replace(node, blank);
            for owner in &before.owners {
                self.unlink(&uid, &owner.uid);
            }
            self.prune(&uid);
        }
    }

    /// Sets the coordinates of a virtual node to those of a cluster-scoped object.
    pub(super) fn move_to_cluster(&mut self, uid: &Uid) {
        if let Some(node) = self.nodes.get_mut(uid).filter(|node| node.kind.is_none()) {
            node.coordinates.namespace.clear();
        }
    }

    /// Returns the state of a node.
    pub(super) fn state(&self, uid: &Uid) -> Option<NodeState> {
        self.nodes.get(uid).map(|node| NodeState {
            coordinates: node.coordinates.clone(),
            is_virtual: node.kind.is_none(),
            is_being_deleted: node.is_being_deleted,
            deletes_dependents: node.deletes_dependents,
        })
    }

    /// Returns the dependents of a node.
    pub(super) fn dependents(&self, uid: &Uid) -> Vec<Uid> {
        self.nodes.get(uid).map(|node| node.dependents.iter().cloned().collect()).unwrap_or_default()
    }

    /// Returns the dependents without which a node that waits for its dependents is removed not yet.
    pub(super) fn blocking_dependents(&self, uid: &Uid) -> Vec<Uid> {
        let blocks = |dependent: &Uid| {
            let owners = self.nodes.get(dependent).map(|node| node.owners.as_slice()).unwrap_or_default();
            owners.iter().any(|owner| *owner.uid == **uid && owner.blocks())
        };
        // An object that owns itself would wait for itself.
        self.dependents(uid).into_iter().filter(|dependent| dependent != uid && blocks(dependent)).collect()
    }

    /// Whether a dependent of a node waits for its own dependents.
    pub(super) fn has_waiting_dependent(&self, uid: &Uid) -> bool {
        let waits = |dependent: &Uid| self.nodes.get(dependent).is_some_and(|node| node.deletes_dependents);
        self.nodes.get(uid).is_some_and(|node| node.dependents.iter().any(waits))
    }

    fn known(&self, uid: &str) -> Option<Uid> {
        self.nodes.get_key_value(uid).map(|(uid, _)| uid.clone())
    }
}
