use crate::handlers::{ServedCollection, ServedCollections};

use super::super::super::kinds::Kinds;
use super::*;

/// The kinds `v1 ConfigMap`, and `v1 Node` of the cluster.
fn kinds() -> Kinds {
    let collection = |resource: &str, kind: &str, is_namespaced| ServedCollection {
        group: String::new(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        kind: kind.to_owned(),
        is_namespaced,
        can_watch: true,
        can_delete: true,
        can_delete_collection: true,
        store: None,
    };
    let collections = vec![collection("configmaps", "ConfigMap", true), collection("nodes", "Node", false)];
    Kinds::new(ServedCollections { collections, failing: Vec::new() })
}

fn kind(name: &str) -> Arc<Kind> {
    kinds().find("v1", name).unwrap().clone()
}

fn reference(name: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        ..OwnerReference::default()
    }
}

/// An object whose name is its uid.
fn object(name: &str, owners: &[OwnerReference]) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        uid: name.to_owned(),
        owner_references: owners.to_vec(),
        ..Metadata::default()
    }
}

fn deleted(object: Metadata, finalizer: &str) -> Metadata {
    let deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
    Metadata { deletion_timestamp, finalizers: vec![finalizer.to_owned()], ..object }
}

/// Applies a change, and returns what is to be examined.
fn examined(graph: &mut Graph, change: impl FnOnce(&mut Graph, &mut Effects)) -> Vec<String> {
    let mut effects = Effects::default();
    change(graph, &mut effects);
    assert!(effects.orphan.is_empty());
    effects.delete.iter().map(ToString::to_string).collect()
}

#[test]
fn only_objects_that_matter_have_nodes() {
    let (mut graph, kind) = (Graph::default(), kind("ConfigMap"));
    let lone = object("lone", &[]);
    assert!(examined(&mut graph, |graph, effects| graph.observe(&kind, &lone, effects)).is_empty());
    assert!(graph.nodes.is_empty());
    let owned = object("owned", &[reference("owner")]);
    assert_eq!(examined(&mut graph, |graph, effects| graph.observe(&kind, &owned, effects)), ["owner"]);
    assert_eq!(graph.nodes.len(), 2);
    let freed = object("owned", &[]);
    assert!(examined(&mut graph, |graph, effects| graph.observe(&kind, &freed, effects)).is_empty());
    assert!(graph.nodes.is_empty());
}

#[test]
fn the_dependents_of_a_removed_object_are_examined() {
    let (mut graph, kind) = (Graph::default(), kind("ConfigMap"));
    let mut ignored = Effects::default();
    for name in ["a", "b"] {
        graph.observe(&kind, &object(name, &[reference("owner")]), &mut ignored);
    }
    graph.observe(&kind, &object("owner", &[]), &mut ignored);
    assert_eq!(examined(&mut graph, |graph, effects| graph.remove("owner", effects)), ["a", "b"]);
    assert_eq!(examined(&mut graph, |graph, effects| graph.remove("owner", effects)), [""; 0]);
}

#[test]
fn an_owner_that_waits_is_examined_when_a_dependent_goes_or_blocks_it_no_more() {
    let (mut graph, kind) = (Graph::default(), kind("ConfigMap"));
    let mut ignored = Effects::default();
    let blocking = OwnerReference { block_owner_deletion: Some(true), ..reference("owner") };
    for name in ["a", "b"] {
        graph.observe(&kind, &object(name, std::slice::from_ref(&blocking)), &mut ignored);
    }
    let waiting = deleted(object("owner", &[]), FOREGROUND);
    let begun = examined(&mut graph, |graph, effects| graph.observe(&kind, &waiting, effects));
    assert_eq!(begun, ["a", "b", "owner"]);
    assert_eq!(examined(&mut graph, |graph, effects| graph.observe(&kind, &waiting, effects)), [""; 0]);
    let owner: Uid = "owner".into();
    assert_eq!(graph.blocking_dependents(&owner).len(), 2);
    let free = object("a", &[reference("owner")]);
    assert_eq!(examined(&mut graph, |graph, effects| graph.observe(&kind, &free, effects)), ["owner"]);
    assert_eq!(graph.blocking_dependents(&owner).len(), 1);
    assert_eq!(examined(&mut graph, |graph, effects| graph.remove("b", effects)), ["owner"]);
    assert_eq!(graph.blocking_dependents(&owner), [] as [Uid; 0]);
}

#[test]
fn an_absent_owner_is_looked_for_wherever_a_dependent_says() {
    let (mut graph, kind) = (Graph::default(), kind("ConfigMap"));
    let mut ignored = Effects::default();
    let elsewhere = OwnerReference { kind: "Node".to_owned(), ..reference("owner") };
    graph.observe(&kind, &object("a", &[reference("owner")]), &mut ignored);
    let second =
        examined(&mut graph, |graph, effects| graph.observe(&kind, &object("b", &[elsewhere]), effects));
    assert_eq!(second, ["b"], "it disagrees with the first one");
    let owner: Uid = "owner".into();
    let first = graph.state(&owner).unwrap().coordinates;
    let next = examined(&mut graph, |graph, effects| graph.confirm_absence(&owner, &first, effects));
    assert_eq!(next, ["a", "owner"], "the dependent that said it, and the owner at another place");
    let other = graph.state(&owner).unwrap().coordinates;
    assert_eq!(other.kind, "Node");
    // The object is there after all: those that mean another one are examined.
    let nodes = super::tests::kind("Node");
    let found = Metadata { namespace: String::new(), ..object("owner", &[]) };
    let mistaken = examined(&mut graph, |graph, effects| graph.observe(&nodes, &found, effects));
    assert_eq!(mistaken, ["a"]);
}

#[test]
fn after_a_gap_what_is_missing_counts_as_removed() {
    let (mut graph, kind) = (Graph::default(), kind("ConfigMap"));
    let mut ignored = Effects::default();
    graph.observe(&kind, &object("owner", &[]), &mut ignored);
    graph.observe(&kind, &object("a", &[reference("owner")]), &mut ignored);
    graph.observe(&kind, &object("owner", &[]), &mut ignored);
    let present = [object("a", &[reference("owner")])];
    let missed = examined(&mut graph, |graph, effects| graph.replace(&kind, &present, effects));
    assert!(missed.contains(&"a".to_owned()), "{missed:?}");
}

#[test]
fn a_kind_that_is_not_served_any_more_leaves_what_it_owns() {
    let (mut graph, kind, nodes) = (Graph::default(), kind("ConfigMap"), kind("Node"));
    let mut ignored = Effects::default();
    let node = OwnerReference { kind: "Node".to_owned(), ..reference("owner") };
    graph.observe(&kind, &object("a", &[node]), &mut ignored);
    let owner = Metadata { namespace: String::new(), ..object("owner", &[]) };
    graph.observe(&nodes, &owner, &mut ignored);
    graph.forget(&nodes);
    let uid: Uid = "owner".into();
    assert!(graph.state(&uid).unwrap().is_virtual);
    // It is served again, and the object is not there.
    assert_eq!(examined(&mut graph, |graph, effects| graph.replace(&nodes, &[], effects)), ["owner"]);
    graph.forget(&kind);
    assert!(graph.nodes.is_empty());
}

#[test]
fn an_object_may_own_itself() {
    let (mut graph, kind) = (Graph::default(), kind("ConfigMap"));
    let mut ignored = Effects::default();
    graph.observe(&kind, &object("own", &[reference("own")]), &mut ignored);
    let own: Uid = "own".into();
    assert_eq!(graph.dependents(&own), [own]);
    graph.remove("own", &mut ignored);
    assert!(graph.nodes.is_empty());
}

#[test]
fn a_reference_into_another_namespace_is_found() {
    let kind = kind("ConfigMap");
    let elsewhere = |name: &str, owners: &[&str]| {
        let owners: Vec<OwnerReference> = owners.iter().map(|owner| reference(owner)).collect();
        Metadata { namespace: "other".to_owned(), ..object(name, &owners) }
    };
    let misplaced = |objects: &[&Metadata]| -> Vec<(String, String)> {
        let (mut graph, mut effects) = (Graph::default(), Effects::default());
        for object in objects {
            graph.observe(&kind, object, &mut effects);
        }
        let names = effects.misplaced.iter().map(|found| (found.uid.to_string(), found.owner.uid.clone()));
        names.collect()
    };
    let (owner, neighbor) =
        (object("owner", &[reference("root")]), object("neighbor", &[reference("owner")]));
    let stray = elsewhere("stray", &["owner"]);
    let expected = [("stray".to_owned(), "owner".to_owned())];
    assert_eq!(misplaced(&[&owner, &neighbor, &stray]), expected);
    assert_eq!(misplaced(&[&stray, &owner, &neighbor]), expected);
    assert_eq!(misplaced(&[&neighbor, &stray]), [], "the owner may be in either namespace");
    assert_eq!(
        misplaced(&[&neighbor, &stray, &owner]),
        [],
        "as in Kubernetes, as it is where the first one says"
    );
    assert_eq!(misplaced(&[&owner, &stray, &stray]), expected, "once");
    // Only the first owner that is not where it should be.
    let second = object("second", &[reference("root")]);
    let astray = elsewhere("astray", &["owner", "second"]);
    assert_eq!(misplaced(&[&owner, &second, &astray]), [("astray".to_owned(), "owner".to_owned())]);
    let renamed = OwnerReference { name: "another".to_owned(), ..reference("owner") };
    let renamed = object("renamed", &[renamed]);
    assert_eq!(misplaced(&[&owner, &renamed]), [], "another name is no other namespace");
}
