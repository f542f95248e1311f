//! Directories that change while a server runs.

use std::time::Duration;

use serde_json::json;

use super::refused::{Wrong, wrong};
use super::{
    CONFIG_MAPS, MUTATING_POLICIES, MUTATING_WEBHOOKS, Manifests, VALIDATING_POLICIES, VALIDATING_WEBHOOKS,
    denying, expect_map, labelled,
};
use crate::world::World;

/// The time in which a directory is looked at more than once.
const LOOKS: Duration = Duration::from_millis(2500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_cannot_be_enforced_changes_nothing_until_it_is_mended() {
    let manifests = Manifests::new(&[VALIDATING_POLICIES]);
    let denying = |name: &str| denying(name, CONFIG_MAPS, "object.metadata.name != 'tried'");
    manifests.write(VALIDATING_POLICIES, "a.yaml", &denying("first.static.k8s.io"));
    let mut world = World::over(manifests.builder()).await;
    let started = VALIDATING_POLICIES.reloads(&mut world).await;
    let denied_by = async |world: &mut World, name: &str| {
        let refused = expect_map(world, 422, labelled(json!({}))).await;
        assert!(refused["message"].as_str().unwrap().ends_with(name), "{refused}");
    };
    denied_by(&mut world, "first.static.k8s.io").await;

    manifests.write_text(VALIDATING_POLICIES, "a.yaml", "a: [");
    let failed = VALIDATING_POLICIES.until(&mut world, |reloads| reloads.failures == 1).await;
    assert_eq!((failed.successes, &failed.hash), (started.successes, &started.hash));
    denied_by(&mut world, "first.static.k8s.io").await;
    tokio::time::sleep(LOOKS).await;
    assert_eq!(VALIDATING_POLICIES.reloads(&mut world).await, failed, "one content fails once");

    // The content of before is nothing new.
    manifests.write(VALIDATING_POLICIES, "a.yaml", &denying("first.static.k8s.io"));
    tokio::time::sleep(LOOKS).await;
    assert_eq!(VALIDATING_POLICIES.reloads(&mut world).await, failed);
    manifests.write(VALIDATING_POLICIES, "a.yaml", &denying("second.static.k8s.io"));
    let mended = VALIDATING_POLICIES.reloaded(&mut world, &failed).await;
    assert_eq!(mended.failures, 1);
    denied_by(&mut world, "second.static.k8s.io").await;

    // A directory that is gone changes nothing either.
    let directory = manifests.directory(VALIDATING_POLICIES);
    std::fs::rename(&directory, directory.with_extension("gone")).unwrap();
    let gone = VALIDATING_POLICIES.until(&mut world, |reloads| reloads.failures == 2).await;
    assert_eq!(gone.hash, mended.hash);
    denied_by(&mut world, "second.static.k8s.io").await;
    std::fs::create_dir(&directory).unwrap();
    VALIDATING_POLICIES.reloaded(&mut world, &gone).await;
    expect_map(&mut world, 201, labelled(json!({}))).await;
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_refuses_the_files_that_a_start_refuses() {
    let plugins = [VALIDATING_POLICIES, MUTATING_POLICIES, VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS];
    let manifests = Manifests::new(&plugins);
    let mut world = World::over(manifests.builder()).await;
    let started = VALIDATING_POLICIES.reloads(&mut world).await;
    assert_eq!(started.hash.as_deref(), Some(""));
    // Some of them: a start reads the same way.
    let mut rows: Vec<Wrong> = wrong().into_iter().step_by(3).collect();
    while !rows.is_empty() {
        // One row of each plug-in at a time.
        let mut waiting = Vec::new();
        for plugin in plugins {
            let Some(place) = rows.iter().position(|row| row.plugin.name == plugin.name) else { continue };
            let Wrong { documents, reason, .. } = rows.remove(place);
            let before = plugin.reloads(&mut world).await.failures;
            manifests.write(plugin, "b.yaml", &documents);
            waiting.push((plugin, before, reason));
        }
        for (plugin, before, reason) in waiting {
            plugin.until(&mut world, |reloads| reloads.failures == before + 1).await;
            let reloads = plugin.reloads(&mut world).await;
            assert_eq!((reloads.successes, reloads.hash.as_deref()), (1, Some("")), "{reason}");
        }
    }
    expect_map(&mut world, 201, labelled(json!({}))).await;
    world.server.stop().await;
}
