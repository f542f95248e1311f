//! The rules of garbage collection, applied to a graph until nothing changes.

/// A graph of objects.
pub(super) struct Graph {
    /// The objects that exist.
    pub(super) objects: Vec<Option<Object>>,
    /// The namespaces of all objects, also of those that do not exist any more. `None` is cluster-scoped.
    pub(super) namespaces: Vec<Option<usize>>,
}

/// An object.
#[derive(Clone)]
pub(super) struct Object {
    /// `None` is cluster-scoped.
    pub(super) namespace: Option<usize>,
    pub(super) owners: Vec<Owner>,
    /// Whether it stays when it has been deleted.
    pub(super) has_finalizer: bool,
    /// Whether it has the finalizer that orphans its dependents when the collector deletes it.
    pub(super) orphans: bool,
    /// Whether it has been deleted, and stays.
    pub(super) is_ending: bool,
    /// Whether it has been deleted, and goes when its dependents have gone.
    pub(super) waits: bool,
}

/// A reference to an owner.
#[derive(Clone)]
pub(super) struct Owner {
    pub(super) target: Target,
    pub(super) blocks: bool,
}

/// The object that a reference names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// An object, which may not exist any more, or be in another namespace.
    Object(usize),
    /// The name of an object, and another uid.
    Mistaken(usize),
    /// None.
    Absent,
}

/// The fate of the dependents of an object that is deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The state of an owner, as its dependent sees it.
#[derive(PartialEq, Eq)]
enum OwnerState {
    Exists,
    Waits,
    Absent,
}

// === impl Propagation ===

impl Propagation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

// === impl Graph ===

impl Graph {
    /// Deletes an object, and what follows from that.
    pub(super) fn delete(&mut self, index: usize, propagation: Propagation) {
        self.remove(index, propagation);
        self.settle();
    }

    /// Collects objects until none is left to collect.
    pub(super) fn settle(&mut self) {
        loop {
            while (0..self.objects.len()).any(|index| self.collect(index)) {}
            // All that can go below the objects that wait has gone, or waits itself.
            let waiting =
                self.objects.iter_mut().filter(|object| object.as_ref().is_some_and(|object| object.waits));
            if waiting.map(Option::take).count() == 0 {
                return;
            }
        }
    }

    /// Examines an object. Returns whether that changed the graph.
    fn collect(&mut self, index: usize) -> bool {
        let Some(object) = &self.objects[index] else { return false };
        if object.is_ending || object.waits || object.owners.is_empty() || self.is_left_alone(object) {
            return false;
        }
        let states: Vec<OwnerState> = object.owners.iter().map(|owner| self.state(object, owner)).collect();
        if states.contains(&OwnerState::Exists) {
            let is_kept = states.iter().map(|state| *state == OwnerState::Exists);
            let owners = object.owners.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
            let owners: Vec<Owner> = owners.map(|(owner, _)| owner.clone()).collect();
            let has_changed = owners.len() < states.len();
            if let Some(object) = &mut self.objects[index] {
                object.owners = owners;
            }
            return has_changed;
        }
        let propagation = if states.contains(&OwnerState::Waits) && self.has_dependents(index) {
            Propagation::Foreground
        } else if object.orphans {
            Propagation::Orphan
        } else {
            Propagation::Background
        };
        self.remove(index, propagation);
        true
    }

    fn remove(&mut self, index: usize, propagation: Propagation) {
        if propagation == Propagation::Orphan {
            for object in self.objects.iter_mut().flatten() {
                object.owners.retain(|owner| owner.target != Target::Object(index));
            }
        }
        let Some(object) = &mut self.objects[index] else { return };
        if propagation == Propagation::Foreground {
            object.waits = true;
        } else if object.has_finalizer {
            object.is_ending = true;
        } else {
            self.objects[index] = None;
        }
    }

    /// Whether a cluster-scoped object has an owner in a namespace, which it cannot name.
    fn is_left_alone(&self, object: &Object) -> bool {
        object.namespace.is_none()
            && object.owners.iter().any(|owner| match owner.target {
                Target::Object(index) | Target::Mistaken(index) => self.namespaces[index].is_some(),
                // References to nothing name a ConfigMap.
                Target::Absent => true,
            })
    }

    fn state(&self, object: &Object, owner: &Owner) -> OwnerState {
        let Target::Object(index) = owner.target else { return OwnerState::Absent };
        let is_reachable = self.namespaces[index].is_none() || self.namespaces[index] == object.namespace;
        match &self.objects[index] {
            Some(owner) if is_reachable && owner.waits => OwnerState::Waits,
            Some(_) if is_reachable => OwnerState::Exists,
            _ => OwnerState::Absent,
        }
    }

    fn has_dependents(&self, index: usize) -> bool {
        let objects = self.objects.iter().flatten();
        objects.flat_map(|object| &object.owners).any(|owner| owner.target == Target::Object(index))
    }
}
