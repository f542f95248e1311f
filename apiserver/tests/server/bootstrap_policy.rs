//! The default roles and bindings, with each feature that has a part in them.

use std::collections::BTreeSet;

use apiserver::testing::TestServer;
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

const NODE: &str = "certificates.k8s.io";
const PUBLISHER: &str = "system:controller:kube-apiserver-serving-clustertrustbundle-publisher";
const READERS: &str = "system:cluster-trust-bundle-discovery";
const CLEANER: &str = "system:controller:podcertificaterequestcleaner";
const PROTECTION: &str = "system:controller:podgroup-protection-controller";
const POOL_STATUS: &str = "system:controller:resourcepoolstatusrequest-controller";
const COLLECTOR: &str = "system:controller:storage-version-garbage-collector";
const VERSIONS: &str = "internal.apiserver.k8s.io";
const MIGRATOR: &str = "system:controller:storage-version-migrator-controller";

/// Returns all rules of the default ClusterRoles, and the subjects of their bindings, one in a line.
async fn policy(flags: &[&str]) -> BTreeSet<String> {
    let mut builder = TestServer::builder().memory();
    for flag in flags {
        builder = builder.flag(*flag);
    }
    let server = builder.start().await.unwrap();
    let mut lines = BTreeSet::new();
    for (resource, field) in [("clusterroles", "rules"), ("clusterrolebindings", "subjects")] {
        let list = server.call("GET", &format!("{RBAC}/{resource}"), &Value::Null).await.unwrap();
        for object in list["items"].as_array().unwrap() {
            // A controller computes the rules of aggregated roles.
            let is_aggregated = object.get("aggregationRule").is_some();
            let parts = object[field].as_array().filter(|_| !is_aggregated);
            let name = object["metadata"]["name"].as_str().unwrap();
            let metadata = &object["metadata"];
            assert_eq!(metadata["labels"]["kubernetes.io/bootstrapping"], "rbac-defaults", "{name}");
            assert_eq!(
                metadata["annotations"]["rbac.authorization.kubernetes.io/autoupdate"], "true",
                "{name}"
            );
            lines.extend(parts.into_iter().flatten().map(|part| format!("{name}: {}", line(part))));
        }
    }
    server.stop().await;
    lines
}

/// Returns a rule as `verbs of groups: resources`, or a subject.
fn line(part: &Value) -> String {
    let Some(verbs) = part["verbs"].as_array() else {
        let text = |field: &str| part[field].as_str().unwrap_or_default();
        return format!("{} {} {}", text("kind"), text("namespace"), text("name"));
    };
    let texts = |values: &Value| {
        let values = values.as_array().cloned().unwrap_or_default();
        values.iter().map(|value| value.as_str().unwrap().to_owned()).collect::<Vec<_>>().join(",")
    };
    let mut line =
        format!("{} of {}: {}", texts(&json!(verbs)), texts(&part["apiGroups"]), texts(&part["resources"]));
    if part.get("resourceNames").is_some() {
        line = format!("{line} {}", texts(&part["resourceNames"]));
    }
    line
}

fn account(role: &str) -> String {
    format!("{role}: ServiceAccount kube-system {}", role.rsplit(':').next().unwrap())
}

/// Returns what each feature adds in Kubernetes.
fn additions() -> Vec<(&'static str, Vec<String>)> {
    let read = "get,list,watch";
    vec![
        (
            "ClusterTrustBundle",
            vec![
                format!("system:node: {read} of {NODE}: clustertrustbundles"),
                format!("{READERS}: {read} of {NODE}: clustertrustbundles"),
                format!("{READERS}: Group  system:serviceaccounts"),
                format!("{PUBLISHER}: attest of {NODE}: signers kubernetes.io/kube-apiserver-serving"),
                format!("{PUBLISHER}: create,delete,list,update,watch of {NODE}: clustertrustbundles"),
                format!("{PUBLISHER}: create,patch,update of ,events.k8s.io: events"),
                account(PUBLISHER),
            ],
        ),
        (
            "DRAResourcePoolStatus",
            vec![
                format!("{POOL_STATUS}: delete,get,list,watch of resource.k8s.io: resourcepoolstatusrequests"),
                format!("{POOL_STATUS}: patch,update of resource.k8s.io: resourcepoolstatusrequests/status"),
                format!("{POOL_STATUS}: {read} of resource.k8s.io: resourceslices"),
                format!("{POOL_STATUS}: {read} of resource.k8s.io: resourceclaims"),
                format!("{POOL_STATUS}: create,patch,update of ,events.k8s.io: events"),
                account(POOL_STATUS),
            ],
        ),
        (
            "GenericWorkload",
            vec![
                format!("system:aggregate-to-view: {read} of scheduling.k8s.io: podgroups,podgroups/status,workloads"),
                "system:aggregate-to-edit: create,delete,deletecollection,patch,update of scheduling.k8s.io: podgroups,workloads".to_owned(),
                format!("system:kube-scheduler: {read} of scheduling.k8s.io: podgroups"),
                "system:kube-scheduler: patch,update of scheduling.k8s.io: podgroups/status".to_owned(),
                format!("{PROTECTION}: get,list,update,watch of scheduling.k8s.io: podgroups"),
                format!("{PROTECTION}: {read} of : pods"),
                account(PROTECTION),
            ],
        ),
        (
            "PodCertificateRequest",
            vec![
                format!("system:node: create,get,list,watch of {NODE}: podcertificaterequests"),
                format!("{CLEANER}: delete,get,list,watch of {NODE}: podcertificaterequests"),
                account(CLEANER),
            ],
        ),
        (
            "StorageVersionAPI",
            vec![
                format!("{COLLECTOR}: {read} of coordination.k8s.io: leases"),
                format!("{COLLECTOR}: delete,get,list,patch,update,watch of {VERSIONS}: storageversions"),
                format!("{COLLECTOR}: get,patch,update of {VERSIONS}: storageversions/status"),
                account(COLLECTOR),
            ],
        ),
        (
            "StorageVersionMigrator",
            vec![
                format!("{MIGRATOR}: create,list,patch of *: *"),
                format!("{MIGRATOR}: get of apiextensions.k8s.io: customresourcedefinitions"),
                format!("{MIGRATOR}: patch of apiextensions.k8s.io: customresourcedefinitions/status"),
                format!("{MIGRATOR}: update of storagemigration.k8s.io: storageversionmigrations/status"),
                account(MIGRATOR),
            ],
        ),
        ("CBORServingAndStorage", Vec::new()),
    ]
}

#[tokio::test]
async fn each_feature_adds_its_roles_rules_and_bindings() {
    let without = policy(&[]).await;
    for (feature, added) in additions() {
        let with = policy(&[&format!("--feature-gates={feature}=true")]).await;
        let difference: BTreeSet<String> = with.difference(&without).cloned().collect();
        assert_eq!(difference, added.into_iter().collect(), "{feature}");
        assert!(with.is_superset(&without), "{feature}");
    }
}

#[tokio::test]
async fn a_new_binding_takes_over_what_an_operator_closed_in_the_old_one() {
    let server = TestServer::builder().start().await.unwrap();
    let binding = |name: &str| format!("{RBAC}/clusterrolebindings/{name}");
    // The state before the upgrade: one binding, which the operator has restricted.
    let mut closed = server.call("GET", &binding("system:discovery"), &Value::Null).await.unwrap();
    closed["subjects"] =
        json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }]);
    closed["metadata"]["annotations"] =
        json!({ "rbac.authorization.kubernetes.io/autoupdate": "false", "mine": "x" });
    closed["metadata"]["labels"]["team"] = "a".into();
    server.call("PUT", &binding("system:discovery"), &closed).await.unwrap();
    server.call("DELETE", &binding("system:public-info-viewer"), &Value::Null).await.unwrap();
    let directory = server.directory().clone();
    server.stop().await;

    let server = TestServer::builder().directory(&directory).start().await.unwrap();
    let taken = server.call("GET", &binding("system:public-info-viewer"), &Value::Null).await.unwrap();
    assert_eq!(taken["subjects"], closed["subjects"]);
    for field in ["annotations", "labels"] {
        assert_eq!(taken["metadata"][field], closed["metadata"][field], "{field}");
    }
    assert_eq!(taken["roleRef"]["name"], "system:public-info-viewer");
    server.stop().await;
}
