//! Owners and namespaces that are wrong on purpose, and many of them.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::world::{World, blocked_owner, map, owner};

/// Makes two config maps own each other, and waits for each other's end.
async fn cycle(world: &World) {
    let first = world.own("first", &[]).await;
    let second = world.own("second", &[blocked_owner(&first)]).await;
    world.merge(&map("first"), &json!({"metadata": {"ownerReferences": [blocked_owner(&second)]}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_in_a_cycle_end_when_either_is_deleted() {
    let world = World::start().await;
    for propagation in ["Background", "Foreground"] {
        cycle(&world).await;
        world.settle().await;
        assert!(world.get(&map("first")).await.is_some(), "each has an owner that exists");
        world.delete_by(&map("first"), propagation).await;
        world.gone(&map("first")).await;
        world.gone(&map("second")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_owns_itself_can_be_deleted() {
    let world = World::start().await;
    for propagation in ["Background", "Foreground", "Orphan"] {
        let own = world.own("own", &[]).await;
        world.merge(&map("own"), &json!({"metadata": {"ownerReferences": [blocked_owner(&own)]}})).await;
        world.settle().await;
        assert!(world.get(&map("own")).await.is_some());
        world.delete_by(&map("own"), propagation).await;
        world.gone(&map("own")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_dependents_follow_their_owner() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    let (world_ref, root_ref) = (&world, &root);
    for hundred in 0..10 {
        let dependents = (0..100).map(|index| async move {
            world_ref.own(&format!("owned-{hundred}-{index}"), &[blocked_owner(root_ref)]).await;
        });
        join_all(dependents).await;
    }
    world.delete_by(&map("root"), "Foreground").await;
    world.gone(&map("root")).await;
    let maps = world.get("/api/v1/namespaces/default/configmaps").await.unwrap();
    assert_eq!(maps["items"].as_array().unwrap().len(), 1, "the authority is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn references_that_disagree_about_an_owner_are_each_judged() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    let mut elsewhere = owner(&root);
    elsewhere["kind"] = "Secret".into();
    // The wrong one is seen first, then the right one, and the reverse.
    let root_again = world.own("root-again", &[]).await;
    world.own("wrong", &[elsewhere]).await;
    world.own("right", &[owner(&root)]).await;
    world.own("right-again", &[owner(&root_again)]).await;
    let mut elsewhere = owner(&root_again);
    elsewhere["name"] = "another".into();
    world.own("wrong-again", &[elsewhere]).await;
    world.gone(&map("wrong")).await;
    world.gone(&map("wrong-again")).await;
    world.settle().await;
    assert!(world.get(&map("right")).await.is_some());
    assert!(world.get(&map("right-again")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_recreated_at_once_keeps_what_is_in_the_new_one() {
    let world = World::start().await;
    for round in 0..10 {
        world.create_namespace("own").await;
        world.own_in("own", &format!("a-{round}"), &[], &[]).await;
        world.delete("/api/v1/namespaces/own").await;
        world.gone("/api/v1/namespaces/own").await;
    }
    world.create_namespace("own").await;
    world.own_in("own", "kept", &[], &[]).await;
    world.settle().await;
    assert!(world.get("/api/v1/namespaces/own/configmaps/kept").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_namespaces_end_at_once() {
    let world = World::start().await;
    let world_ref = &world;
    let each = (0..50).map(|index| async move {
        let name = format!("own-{index}");
        world_ref.create_namespace(&name).await;
        world_ref.own_in(&name, "a", &[], &[]).await;
        world_ref.delete(&format!("/api/v1/namespaces/{name}")).await;
    });
    join_all(each).await;
    for index in 0..50 {
        world.gone(&format!("/api/v1/namespaces/own-{index}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_while_nothing_happens() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    world.own_in("default", "stuck", &[owner(&root)], &["example.com/never"]).await;
    world.delete(&map("root")).await;
    world.becomes(&map("stuck"), |now| now["metadata"]["deletionTimestamp"].is_string()).await;
    world.settle().await;
    let revision = async || {
        let maps = world.get("/api/v1/configmaps?limit=1").await.unwrap();
        maps["metadata"]["resourceVersion"].clone()
    };
    let before: Value = revision().await;
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    assert_eq!(revision().await, before);
}
