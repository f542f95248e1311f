//! Random graphs of owners: the collector leaves what a model of its rules leaves.
//!
//! | module | contents |
//! |---|---|
//! | `random` | graphs and deletions from a seed |
//! | `model` | the rules, applied to a graph until nothing changes |
//!
//! The outcome of a deletion may depend on the order in which the collector examines objects: an object of two owners stays if one
//! of them is orphaned after the other has gone. The generator leaves out graphs with such choices, and the next deletion waits for
//! the end of the one before.

mod model;
mod random;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Value, json};

use crate::world::World;
use model::{Graph, Object, Target};
use random::Random;

/// Number of graphs in the server at the same time.
const BATCH: usize = 125;
/// Number of deletions in a graph.
const ROUNDS: usize = 3;

/// The namespaces of objects; a graph may use both.
const NAMESPACES: [&str; 2] = ["alpha", "beta"];
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/// The state of the objects of all graphs, by name: whether each is being deleted, and the names of its owners if it is not.
type Present = BTreeMap<String, Option<Vec<String>>>;

/// A graph in the server.
struct Placed {
    seed: usize,
    graph: Graph,
    random: Random,
    /// The uids of the objects.
    uids: Vec<String>,
}

// A thousand graphs, in tests that run at the same time.

#[tokio::test(flavor = "multi_thread")]
async fn random_graphs_end_as_the_model_says() {
    check(0..250).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_random_graphs_end_as_the_model_says() {
    check(250..500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn still_more_random_graphs_end_as_the_model_says() {
    check(500..750).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn further_random_graphs_end_as_the_model_says() {
    check(750..1000).await;
}

/// Creates the graphs with these seeds, a batch at a time, and deletes objects of each.
async fn check(seeds: Range<usize>) {
    let world = World::start().await;
    for namespace in NAMESPACES {
        world.create_namespace(namespace).await;
    }
    for first in seeds.step_by(BATCH) {
        let mut batch = Vec::new();
        for seed in first..first + BATCH {
            batch.push(Placed::create(&world, seed).await);
        }
        agree(&world, &batch).await;
        for _ in 0..ROUNDS {
            for placed in &mut batch {
                placed.delete(&world).await;
            }
            agree(&world, &batch).await;
        }
    }
}

/// Waits until the server has what the model says, and looks again when the collector has no work left.
async fn agree(world: &World, batch: &[Placed]) {
    let expected: Present = batch.iter().flat_map(Placed::expected).collect();
    world.until("the final state", async || present(world, batch).await == expected).await;
    world.settle().await;
    assert_eq!(present(world, batch).await, expected);
}

/// Returns the state of the objects of these graphs.
async fn present(world: &World, batch: &[Placed]) -> Present {
    let names: BTreeMap<&str, String> = batch.iter().flat_map(Placed::names).collect();
    let mut present = Present::new();
    for collection in ["/api/v1/configmaps", ROLES] {
        let list =
            world.get(&format!("{collection}?labelSelector=batch%3D{}", batch[0].label())).await.unwrap();
        for object in list["items"].as_array().unwrap() {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap().trim_start_matches("graph-");
            let owners = metadata["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
            let owner = |owner: &Value| {
                let uid = owner["uid"].as_str().unwrap();
                names.get(uid).cloned().unwrap_or_else(|| "absent".to_owned())
            };
            let is_ending = metadata["deletionTimestamp"].is_string();
            present.insert(name.to_owned(), (!is_ending).then(|| owners.iter().map(owner).collect()));
        }
    }
    present
}

// === impl Placed ===

impl Placed {
    /// Creates the objects of a graph.
    async fn create(world: &World, seed: usize) -> Self {
        let mut random = Random::new(seed);
        let mut placed = Self { seed, graph: random.graph(), random, uids: Vec::new() };
        for index in 0..placed.graph.objects.len() {
            let object = placed.graph.objects[index].as_ref().unwrap();
            let owners = placed.references(object, |target| target < index);
            let created = world.create(&collection(object), &placed.manifest(index, object, &owners)).await;
            placed.uids.push(created["metadata"]["uid"].as_str().unwrap().to_owned());
        }
        // The references that close a cycle.
        for index in 0..placed.graph.objects.len() {
            let object = placed.graph.objects[index].as_ref().unwrap();
            if object
                .owners
                .iter()
                .any(|owner| matches!(owner.target, Target::Object(target) if target >= index))
            {
                let owners = placed.references(object, |_| true);
                let patch = json!({"metadata": {"ownerReferences": owners}});
                world.merge(&placed.path(index, object), &patch).await;
            }
        }
        placed.graph.settle();
        placed
    }

    /// Deletes an object, in the server and in the model.
    async fn delete(&mut self, world: &World) {
        let Some((index, propagation)) = self.random.deletion(&self.graph) else { return };
        let path = self.path(index, self.graph.objects[index].as_ref().unwrap());
        world.delete_by(&path, propagation.name()).await;
        self.graph.delete(index, propagation);
    }

    fn expected(&self) -> Vec<(String, Option<Vec<String>>)> {
        let owner = |target: &Target| match target {
            Target::Object(index) => self.name(*index),
            Target::Absent | Target::Mistaken(_) => "absent".to_owned(),
        };
        let state = |object: &Object| {
            (!object.is_ending)
                .then(|| object.owners.iter().map(|reference| owner(&reference.target)).collect())
        };
        let objects = self.graph.objects.iter().enumerate();
        objects.filter_map(|(index, object)| Some((self.name(index), state(object.as_ref()?)))).collect()
    }

    /// Returns the names of the objects by their uids.
    fn names(&self) -> impl Iterator<Item = (&str, String)> {
        self.uids.iter().enumerate().map(|(index, uid)| (uid.as_str(), self.name(index)))
    }

    /// Returns the label of the objects of a batch.
    fn label(&self) -> String {
        format!("from-{}", self.seed - self.seed % BATCH)
    }

    fn name(&self, index: usize) -> String {
        format!("{}-{index}", self.seed)
    }

    fn path(&self, index: usize, object: &Object) -> String {
        format!("{}/graph-{}", collection(object), self.name(index))
    }

    /// Returns the references of an object whose targets exist already, or are none.
    fn references(&self, object: &Object, exists: impl Fn(usize) -> bool) -> Vec<Value> {
        let mut references = Vec::new();
        for owner in &object.owners {
            let (index, uid) = match owner.target {
                Target::Object(index) if !exists(index) => continue,
                Target::Object(index) => (Some(index), self.uids[index].clone()),
                Target::Mistaken(index) => (Some(index), uuid::Uuid::new_v4().to_string()),
                Target::Absent => (None, uuid::Uuid::new_v4().to_string()),
            };
            let is_cluster_scoped = index.is_some_and(|index| self.graph.namespaces[index].is_none());
            let (api_version, kind) = type_of(is_cluster_scoped);
            let name = index.map_or("graph-none".to_owned(), |index| format!("graph-{}", self.name(index)));
            references.push(json!({
                "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": owner.blocks,
            }));
        }
        references
    }

    fn manifest(&self, index: usize, object: &Object, owners: &[Value]) -> Value {
        let (api_version, kind) = type_of(object.namespace.is_none());
        let mut finalizers = Vec::new();
        if object.has_finalizer {
            finalizers.push("example.com/wait");
        }
        if object.orphans {
            finalizers.push("orphan");
        }
        let name = format!("graph-{}", self.name(index));
        let labels = json!({"batch": self.label()});
        let metadata =
            json!({"name": name, "labels": labels, "ownerReferences": owners, "finalizers": finalizers});
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
    }
}

fn collection(object: &Object) -> String {
    match object.namespace {
        Some(namespace) => format!("/api/v1/namespaces/{}/configmaps", NAMESPACES[namespace]),
        None => ROLES.to_owned(),
    }
}

fn type_of(is_cluster_scoped: bool) -> (&'static str, &'static str) {
    if is_cluster_scoped { ("rbac.authorization.k8s.io/v1", "ClusterRole") } else { ("v1", "ConfigMap") }
}
