//! Policies in files.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    CONFIG_MAPS, MUTATING_POLICIES, Manifests, TIMEOUT, VALIDATING_POLICIES, denying, expect_map, labelled,
    labelling, list, try_create,
};
use crate::world::{GROUP, MAPS, World};

const NO_LABEL: &str = "!has(object.metadata.labels) || !('deny-me' in object.metadata.labels)";

/// Tries the creation of an object until it has this status.
async fn until(world: &mut World, path: &str, object: &Value, status: u16) {
    let begun = Instant::now();
    loop {
        let answer = try_create(world, path, object).await;
        if answer.status == status {
            return;
        }
        assert!(begun.elapsed() < TIMEOUT, "it is still {}", answer.text());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_of_files_are_enforced_from_the_first_write_until_their_file_is_gone() {
    let manifests = Manifests::new(&[VALIDATING_POLICIES, MUTATING_POLICIES]);
    manifests.write(
        VALIDATING_POLICIES,
        "labels.yaml",
        &denying("labels.static.k8s.io", CONFIG_MAPS, NO_LABEL),
    );
    let mut world = World::over(manifests.builder()).await;
    let marked = labelled(json!({"deny-me": "true"}));

    let refused = expect_map(&mut world, 422, marked.clone()).await;
    let message = "configmaps \"tried\" is forbidden: ValidatingAdmissionPolicy 'labels.static.k8s.io' with binding \
                   'labels.static.k8s.io' denied request: denied by labels.static.k8s.io";
    assert_eq!(refused["message"], message);
    let started = VALIDATING_POLICIES.reloads(&mut world).await;
    assert_eq!(started.successes, 1);

    let empty = MUTATING_POLICIES.reloads(&mut world).await;
    manifests.write(MUTATING_POLICIES, "add.yaml", &labelling("add.static.k8s.io", "static-mutated"));
    MUTATING_POLICIES.reloaded(&mut world, &empty).await;
    let created = expect_map(&mut world, 201, labelled(json!({"app": "a"}))).await;
    assert_eq!(created["metadata"]["labels"], json!({"app": "a", "static-mutated": "true"}));
    expect_map(&mut world, 422, marked.clone()).await;

    // A list with a policy and its binding.
    let blocked = "!has(object.metadata.annotations) || !('blocked' in object.metadata.annotations)";
    manifests.write(
        VALIDATING_POLICIES,
        "list.yaml",
        &[list(&denying("blocked.static.k8s.io", CONFIG_MAPS, blocked))],
    );
    let listed = VALIDATING_POLICIES.reloaded(&mut world, &started).await;
    let mut annotated = labelled(json!({}));
    annotated["metadata"]["annotations"] = json!({"blocked": "true"});
    expect_map(&mut world, 422, annotated.clone()).await;

    // Policies of files judge policies too, and no reviews.
    let policies = ("admissionregistration.k8s.io", "validatingadmissionpolicies");
    manifests.write(
        VALIDATING_POLICIES,
        "protect.yaml",
        &denying("protect.static.k8s.io", policies, "false"),
    );
    let protected = VALIDATING_POLICIES.reloaded(&mut world, &listed).await;
    let [policy, binding] = denying("of-api", CONFIG_MAPS, "object.metadata.name != 'of-api'");
    let path = format!("{GROUP}/validatingadmissionpolicies");
    let refused = world.expect(422, "POST", &path, policy.clone()).await;
    assert!(refused["message"].as_str().unwrap().ends_with("denied by protect.static.k8s.io"), "{refused}");
    manifests.write(
        VALIDATING_POLICIES,
        "protect.yaml",
        &denying("protect.static.k8s.io", ("*", "*"), "false"),
    );
    let everything = VALIDATING_POLICIES.reloaded(&mut world, &protected).await;
    let review = json!({"spec": {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods"}}});
    world.expect(201, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).await;

    // Those of the API are enforced beside those of files, and behind them.
    manifests.remove(VALIDATING_POLICIES, "protect.yaml");
    let unprotected = VALIDATING_POLICIES.reloaded(&mut world, &everything).await;
    world.expect(201, "POST", &path, policy).await;
    world.expect(201, "POST", &format!("{GROUP}/validatingadmissionpolicybindings"), binding).await;
    let mut both = labelled(json!({}));
    both["metadata"]["name"] = json!("of-api");
    until(&mut world, MAPS, &both, 422).await;
    both["metadata"]["labels"] = json!({"deny-me": "true"});
    let refused = expect_map(&mut world, 422, both.clone()).await;
    assert!(refused["message"].as_str().unwrap().ends_with("denied by labels.static.k8s.io"), "{refused}");

    manifests.remove(VALIDATING_POLICIES, "labels.yaml");
    VALIDATING_POLICIES.reloaded(&mut world, &unprotected).await;
    expect_map(&mut world, 201, marked).await;
    expect_map(&mut world, 422, annotated).await;
    let refused = expect_map(&mut world, 422, both).await;
    assert!(refused["message"].as_str().unwrap().ends_with("denied by of-api"), "{refused}");
    world.server.stop().await;
}
