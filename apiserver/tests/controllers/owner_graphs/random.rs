//! Graphs and deletions from a seed.

use super::NAMESPACES;
use super::model::{Graph, Object, Owner, Propagation, Target};

/// A generator of numbers.
pub(super) struct Random {
    state: u64,
    /// Whether objects of the graph may be deleted in the foreground.
    may_wait: bool,
}

/// The peculiarities of a graph. Those that are not together would leave the collector a choice.
struct Traits {
    /// Whether references name no object, another uid, or an object in another namespace.
    has_mistakes: bool,
    has_cycles: bool,
    has_finalizers: bool,
    has_orphans: bool,
}

// === impl Random ===

impl Random {
    pub(super) fn new(seed: usize) -> Self {
        let mut random = Self { state: seed as u64, may_wait: true };
        // The first numbers of neighboring seeds are alike.
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap_or_default() % limit
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// Returns a graph of two to six objects.
    pub(super) fn graph(&mut self) -> Graph {
        let has_mistakes = self.percent(40);
        let has_cycles = !has_mistakes && self.percent(40);
        let traits = Traits {
            has_mistakes,
            has_cycles,
            has_finalizers: self.percent(30),
            has_orphans: !has_mistakes && !has_cycles && self.percent(50),
        };
        self.may_wait = !traits.has_finalizers;
        let home = self.below(NAMESPACES.len());
        let mut graph = Graph { objects: Vec::new(), namespaces: Vec::new() };
        for index in 0..2 + self.below(5) {
            let namespace = if self.percent(20) { None } else { Some(home) };
            let is_abroad = traits.has_mistakes && namespace.is_some() && self.percent(15);
            let namespace = if is_abroad { Some(1 - home) } else { namespace };
            graph.namespaces.push(namespace);
            let object = Object {
                namespace,
                owners: self.owners(&graph, index, &traits),
                has_finalizer: traits.has_finalizers && self.percent(30),
                orphans: false,
                is_ending: false,
                waits: false,
            };
            graph.objects.push(Some(object));
        }
        if traits.has_cycles {
            self.close_cycle(&mut graph);
        }
        if traits.has_orphans {
            self.let_orphan(&mut graph);
        }
        graph
    }

    /// Returns up to three owners of a new object, among the earlier ones.
    fn owners(&mut self, graph: &Graph, index: usize, traits: &Traits) -> Vec<Owner> {
        let mut owners: Vec<Owner> = Vec::new();
        for _ in 0..self.below(4) {
            let target = if traits.has_mistakes && self.percent(25) {
                if index > 0 && self.percent(50) {
                    Target::Mistaken(self.below(index))
                } else {
                    Target::Absent
                }
            } else if index > 0 {
                Target::Object(self.below(index))
            } else {
                continue;
            };
            if owners.iter().any(|owner| owner.target == target && target != Target::Absent) {
                continue;
            }
            owners.push(Owner { target, blocks: self.percent(60) });
        }
        Self::simplify(graph, index, owners)
    }

    /// Lets a cluster-scoped object have an owner in a namespace only as its single one, which does not wait for it for ever.
    fn simplify(graph: &Graph, index: usize, owners: Vec<Owner>) -> Vec<Owner> {
        let is_in_namespace = |owner: &Owner| match owner.target {
            Target::Object(target) | Target::Mistaken(target) => graph.namespaces[target].is_some(),
            Target::Absent => true,
        };
        match owners.iter().find(|owner| is_in_namespace(owner)) {
            Some(owner) if graph.namespaces[index].is_none() => {
                vec![Owner { target: owner.target, blocks: false }]
            }
            _ => owners,
        }
    }

    /// Lets an object be owned by a later one, or by itself.
    fn close_cycle(&mut self, graph: &mut Graph) {
        let first = self.below(graph.objects.len());
        let last = first + self.below(graph.objects.len() - first);
        let is_reachable =
            graph.namespaces[last].is_none() || graph.namespaces[last] == graph.namespaces[first];
        let blocks = self.percent(60);
        if let Some(object) = graph.objects[first].as_mut().filter(|_| is_reachable) {
            let owners = std::mem::take(&mut object.owners);
            let closing = Owner { target: Target::Object(last), blocks };
            let owners = owners.into_iter().chain([closing]).collect();
            let owners = Self::simplify(graph, first, owners);
            if let Some(object) = &mut graph.objects[first] {
                object.owners = owners;
            }
        }
    }

    /// Gives the finalizer that orphans dependents to objects whose dependents have no other owners.
    fn let_orphan(&mut self, graph: &mut Graph) {
        for index in 0..graph.objects.len() {
            let is_owner =
                |object: &&Object| object.owners.iter().any(|owner| owner.target == Target::Object(index));
            let mut dependents = graph.objects.iter().flatten().filter(is_owner);
            if dependents.all(|dependent| dependent.owners.len() == 1)
                && self.percent(50)
                && let Some(object) = &mut graph.objects[index]
            {
                object.orphans = true;
            }
        }
    }

    /// Returns an object to delete.
    pub(super) fn deletion(&mut self, graph: &Graph) -> Option<(usize, Propagation)> {
        let objects = graph.objects.iter().enumerate();
        let deletable = objects.filter(|(_, object)| object.as_ref().is_some_and(|object| !object.is_ending));
        let deletable: Vec<usize> = deletable.map(|(index, _)| index).collect();
        if deletable.is_empty() {
            return None;
        }
        let index = deletable[self.below(deletable.len())];
        let propagation = match self.below(if self.may_wait { 3 } else { 2 }) {
            0 => Propagation::Background,
            1 => Propagation::Orphan,
            _ => Propagation::Foreground,
        };
        Some((index, propagation))
    }
}
