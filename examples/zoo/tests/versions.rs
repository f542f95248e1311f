//! Two versions of one kind, through the running server: objects written in either version are readable in the other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use apiserver::testing::{Kubectl, TestServer};

const STABLE: &str = "enclosures.v1.zoo.example.dev";
const BETA: &str = "enclosures.v1beta1.zoo.example.dev";

const NORTH: &str = "
apiVersion: zoo.example.dev/v1
kind: Enclosure
metadata: {name: north}
spec: {species: penguin, animals: 2, keeper: ada}
";
const NORTH_BETA: &str = "
apiVersion: zoo.example.dev/v1beta1
kind: Enclosure
metadata: {name: north}
spec: {inhabitant: penguin, headcount: 2}
";

async fn spec(kubectl: &Kubectl, resource: &str) -> String {
    kubectl.run(&format!("get {resource} north -o jsonpath={{.apiVersion}}{{.spec}}")).await
}

#[tokio::test]
async fn each_version_reads_objects_that_the_other_wrote() {
    let server = TestServer::builder().storage_map(&zoo::STORAGE_MAP).start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl
        .run_with_input("create -f -", &NORTH_BETA.replace("headcount: 2", "headcount: 2, caretaker: ada"))
        .await;
    assert_eq!(
        spec(&kubectl, STABLE).await,
        r#"zoo.example.dev/v1{"animals":2,"keeper":"ada","species":"penguin"}"#
    );
    assert_eq!(
        spec(&kubectl, BETA).await,
        r#"zoo.example.dev/v1beta1{"caretaker":"ada","headcount":2,"inhabitant":"penguin"}"#
    );
    // Selectors, tables, watches, patches, scale and status use the field names of the requested version.
    let selected = kubectl.run(&format!("get {BETA} --field-selector spec.caretaker=ada --no-headers")).await;
    assert!(selected.starts_with("north   penguin"), "{selected}");
    kubectl.fail(&format!("get {BETA} --field-selector spec.keeper=ada")).await;
    let mut watch = kubectl.watch(&format!("get {BETA} --watch --no-headers"));
    watch.line_with("penguin").await;
    kubectl
        .run(&format!(
            "patch {STABLE} north --subresource=status --type=merge -p {{\"status\":{{\"phase\":\"Open\"}}}}"
        ))
        .await;
    watch.line_with("Open").await;
    kubectl.run(&format!("patch {BETA} north --type=merge -p {{\"spec\":{{\"headcount\":3}}}}")).await;
    kubectl.run(&format!("scale {BETA} north --replicas=4")).await;
    assert_eq!(
        spec(&kubectl, STABLE).await,
        r#"zoo.example.dev/v1{"animals":4,"keeper":"ada","species":"penguin"}"#
    );
    // The hub's validation applies to writes in both versions.
    let moved = kubectl
        .fail(&format!("patch {BETA} north --type=merge -p {{\"spec\":{{\"inhabitant\":\"lion\"}}}}"))
        .await;
    assert!(moved.contains("spec.species: Invalid value: \"lion\": field is immutable"), "{moved}");
    assert!(kubectl.run(&format!("delete {BETA} north")).await.contains("\"north\" deleted"));
    assert!(kubectl.fail(&format!("get {STABLE} north")).await.contains("not found"));
    server.stop().await;
}

#[tokio::test]
async fn a_field_has_one_manager_in_all_versions() {
    let server = TestServer::builder().storage_map(&zoo::STORAGE_MAP).start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run_with_input("apply --server-side --field-manager=ada -f -", NORTH).await;
    let managers = "--show-managed-fields -o \
                    jsonpath={.metadata.managedFields[*].manager}@{.metadata.managedFields[*].apiVersion}";
    assert_eq!(
        kubectl.run(&format!("get {BETA} north {managers}")).await,
        "ada@zoo.example.dev/v1",
        "an entry stays in the version it was written in"
    );
    // Another client changes a managed field through the other version: the conflict uses the manager's field names.
    let more = NORTH_BETA.replace("headcount: 2", "headcount: 9");
    let conflict = kubectl.fail_with_input("apply --server-side --field-manager=bob -f -", &more).await;
    assert!(conflict.contains("conflict with \"ada\": .spec.animals"), "{conflict}");
    // The same manager no longer applies the keeper, through the other version: the field is removed.
    kubectl.run_with_input("apply --server-side --field-manager=ada -f -", NORTH_BETA).await;
    assert_eq!(spec(&kubectl, STABLE).await, r#"zoo.example.dev/v1{"animals":2,"species":"penguin"}"#);
    assert_eq!(kubectl.run(&format!("get {STABLE} north {managers}")).await, "ada@zoo.example.dev/v1beta1");
    server.stop().await;
}
