//! Versions and kinds that are off by default.

use std::collections::BTreeSet;

use apiserver::testing::{TestServer, TestServerBuilder};
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::client::{ADMIN, Answer, Connection, Protocol, post, request};

/// The operations of kube-apiserver v1.36 with everything enabled: a path and its methods on each line.
const OPERATIONS: &str = include_str!("operations.txt");

/// Files of the machine are not served; the others are served, but not described.
const NOT_DESCRIBED: [&str; 4] =
    ["get /.well-known/openid-configuration/", "get /logs/", "get /logs/{logpath}", "get /openid/v1/jwks/"];

const GATES: &str = "--feature-gates=ClusterTrustBundle=true,GenericWorkload=true,PodCertificateRequest=true,StorageVersionMigrator=true";

fn with_everything() -> TestServerBuilder {
    TestServer::builder().memory().flag("--runtime-config=api/all=true").flag(GATES)
}

async fn get(connection: &mut Connection, path: &str) -> Value {
    let answer = connection.get(path, Some("admin-token")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

async fn send(
    connection: &mut Connection,
    method: &str,
    path: &str,
    media_type: &str,
    body: &Value,
) -> Answer {
    connection.send(request(method, path, &[ADMIN, ("content-type", media_type)], body)).await
}

/// Returns a request for the table of a collection.
fn table_of(path: &str) -> Request<Full<Bytes>> {
    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    request("GET", path, &[ADMIN, accept], &Value::Null)
}

/// Returns the operations of a document, as `get /api/`.
fn operations(document: &Value) -> BTreeSet<String> {
    let methods = ["get", "post", "put", "patch", "delete", "options", "head"];
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, item): (&String, &Value)| -> Vec<String> {
        methods
            .iter()
            .filter(|method| item.get(**method).is_some())
            .map(|method| format!("{method} {path}"))
            .collect()
    };
    paths.iter().flat_map(of).collect()
}

fn expected_operations() -> BTreeSet<String> {
    let mut expected = BTreeSet::new();
    for line in OPERATIONS.lines() {
        let (path, methods) = line.split_once(' ').unwrap();
        expected.extend(methods.split(' ').map(|method| format!("{method} {path}")));
    }
    assert_eq!(expected.len(), 1_123);
    expected
}

#[tokio::test]
async fn with_everything_enabled_every_operation_of_kubernetes_is_served() {
    let server = with_everything().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let expected = expected_operations();
    let document = get(&mut connection, "/openapi/v2").await;
    let served = operations(&document);
    let missing: Vec<&String> = expected.difference(&served).collect();
    let additional: Vec<&String> = served.difference(&expected).collect();
    assert_eq!(missing, NOT_DESCRIBED, "{} of {} are served", served.len(), expected.len());
    assert_eq!(additional, [""; 0]);

    // The documents of the versions have the same operations.
    let index = get(&mut connection, "/openapi/v3").await;
    let mut of_versions = BTreeSet::new();
    for entry in index["paths"].as_object().unwrap().values() {
        let document = get(&mut connection, entry["serverRelativeURL"].as_str().unwrap()).await;
        of_versions.extend(operations(&document));
    }
    let is_of_version = |operation: &&String| {
        let (_, path) = operation.split_once(' ').unwrap();
        let mut parts = path.trim_matches('/').split('/');
        let depth = if parts.next() == Some("api") { 1 } else { 2 };
        path.starts_with("/api") && parts.count() >= depth
    };
    let missing: Vec<&String> = expected.difference(&of_versions).filter(is_of_version).collect();
    assert_eq!(missing, [""; 0]);

    // Discovery lists the versions of a group in their order.
    let group = get(&mut connection, "/apis/resource.k8s.io").await;
    let versions: Vec<&str> = group["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["v1", "v1beta2", "v1beta1", "v1alpha3"]);
    let service = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.resource.k8s.io";
    let service = get(&mut connection, service).await;
    assert_eq!(
        (&service["spec"]["groupPriorityMinimum"], &service["spec"]["versionPriority"]),
        (&json!(16200), &json!(15))
    );
    server.stop().await;
}

#[tokio::test]
async fn optional_resources_are_enabled_piece_by_piece() {
    let resources = async |flags: &[&str], path: &str| -> Option<Vec<String>> {
        let mut builder = TestServer::builder().memory();
        for flag in flags {
            builder = builder.flag(*flag);
        }
        let server = builder.start().await.unwrap();
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        let answer = connection.get(path, Some("admin-token")).await;
        let names = (answer.status == 200).then(|| {
            let list = answer.json();
            let names = list["resources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|resource| resource["name"].as_str().unwrap().to_owned());
            names.collect()
        });
        server.stop().await;
        names
    };
    let path = "/apis/resource.k8s.io/v1alpha3";
    assert_eq!(resources(&[], path).await, None);
    let only = ["--runtime-config=resource.k8s.io/v1alpha3/devicetaintrules=true"];
    assert_eq!(resources(&only, path).await.unwrap(), ["devicetaintrules", "devicetaintrules/status"]);
    let but = ["--runtime-config=api/alpha=true,resource.k8s.io/v1alpha3/devicetaintrules=false"];
    let others = ["resourcepoolstatusrequests", "resourcepoolstatusrequests/status"];
    assert_eq!(resources(&but, path).await.unwrap(), others);
    // A spoke is served without its hub.
    let spoke = ["--runtime-config=resource.k8s.io/v1beta2/devicetaintrules=true"];
    let rules = ["devicetaintrules", "devicetaintrules/status"];
    assert_eq!(resources(&spoke, "/apis/resource.k8s.io/v1beta2").await.unwrap(), rules);
    // Features have gates of their own.
    let without_gate = ["--runtime-config=scheduling.k8s.io/v1alpha2=true"];
    assert_eq!(resources(&without_gate, "/apis/scheduling.k8s.io/v1alpha2").await, None);
    let with_gate =
        ["--runtime-config=scheduling.k8s.io/v1alpha2=true", "--feature-gates=GenericWorkload=true"];
    let kinds = ["podgroups", "podgroups/status", "workloads"];
    assert_eq!(resources(&with_gate, "/apis/scheduling.k8s.io/v1alpha2").await.unwrap(), kinds);
}

/// Returns an object of each kind that is off by default, after its version and the path of its collection.
fn samples() -> Vec<(&'static str, &'static str, Value)> {
    let condition = json!([{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }]);
    let mutation = json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": "[JSONPatch{op: \"remove\", path: \"/a\"}]" } });
    let policy = json!({
        "kind": "MutatingAdmissionPolicy", "metadata": { "name": "p" },
        "spec": {
            "matchConstraints": { "resourceRules": condition }, "mutations": [mutation], "reinvocationPolicy": "Never",
        },
    });
    let binding = json!({
        "kind": "MutatingAdmissionPolicyBinding", "metadata": { "name": "b" }, "spec": { "policyName": "p" },
    });
    let candidate = json!({
        "kind": "LeaseCandidate", "metadata": { "name": "c" },
        "spec": {
            "leaseName": "l", "binaryVersion": "1.36.2", "emulationVersion": "1.36.0", "strategy": "OldestEmulationVersion",
        },
    });
    let address = json!({
        "kind": "IPAddress", "metadata": { "name": "10.9.8.7" },
        "spec": { "parentRef": { "resource": "services", "namespace": "n", "name": "s" } },
    });
    let range =
        json!({ "kind": "ServiceCIDR", "metadata": { "name": "r" }, "spec": { "cidrs": ["10.7.0.0/24"] } });
    let rule = json!({
        "kind": "DeviceTaintRule", "metadata": { "name": "d" },
        "spec": { "deviceSelector": { "driver": "d.example.com" }, "taint": { "key": "k", "effect": "NoSchedule" } },
    });
    let pools = json!({
        "kind": "ResourcePoolStatusRequest", "metadata": { "name": "q" }, "spec": { "driver": "d.example.com" },
    });
    let class = json!({
        "kind": "DeviceClass", "metadata": { "name": "k" },
        "spec": { "selectors": [{ "cel": { "expression": "device.driver == 'd'" } }] },
    });
    let exact = json!({ "name": "r", "exactly": { "deviceClassName": "k" } });
    let flat = json!({ "name": "r", "deviceClassName": "k", "allocationMode": "ExactCount", "count": 2 });
    let claim = |request: &Value| {
        json!({
            "kind": "ResourceClaim", "metadata": { "name": "c" }, "spec": { "devices": { "requests": [request] } },
        })
    };
    let template = |request: &Value| {
        json!({
            "kind": "ResourceClaimTemplate", "metadata": { "name": "t" },
            "spec": { "spec": { "devices": { "requests": [request] } } },
        })
    };
    let slice = |device: Value| {
        json!({
            "kind": "ResourceSlice", "metadata": { "name": "s" },
            "spec": {
                "driver": "d.example.com", "nodeName": "n", "devices": [device],
                "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 },
            },
        })
    };
    let attributes = json!({ "a": { "string": "b" } });
    let workload = json!({
        "kind": "Workload", "metadata": { "name": "w" },
        "spec": { "podGroupTemplates": [{ "name": "g", "schedulingPolicy": { "gang": { "minCount": 2 } } }] },
    });
    let group = json!({
        "kind": "PodGroup", "metadata": { "name": "g" }, "spec": { "schedulingPolicy": { "basic": {} } },
    });
    let attributes_class = json!({
        "kind": "VolumeAttributesClass", "metadata": { "name": "v" }, "driverName": "d.example.com",
        "parameters": { "iops": "5" },
    });
    let version = json!({ "kind": "StorageVersion", "metadata": { "name": "apps.deployments" }, "spec": {} });
    let migration = json!({
        "kind": "StorageVersionMigration", "metadata": { "name": "m" },
        "spec": { "resource": { "group": "apps", "resource": "deployments" } },
    });
    vec![
        ("admissionregistration.k8s.io/v1alpha1", "mutatingadmissionpolicies", policy.clone()),
        ("admissionregistration.k8s.io/v1beta1", "mutatingadmissionpolicies", policy),
        ("admissionregistration.k8s.io/v1alpha1", "mutatingadmissionpolicybindings", binding.clone()),
        ("admissionregistration.k8s.io/v1beta1", "mutatingadmissionpolicybindings", binding),
        ("coordination.k8s.io/v1alpha2", "namespaces/default/leasecandidates", candidate.clone()),
        ("coordination.k8s.io/v1beta1", "namespaces/default/leasecandidates", candidate),
        ("internal.apiserver.k8s.io/v1alpha1", "storageversions", version),
        ("networking.k8s.io/v1beta1", "ipaddresses", address),
        ("networking.k8s.io/v1beta1", "servicecidrs", range),
        ("resource.k8s.io/v1alpha3", "devicetaintrules", rule.clone()),
        ("resource.k8s.io/v1beta2", "devicetaintrules", rule),
        ("resource.k8s.io/v1alpha3", "resourcepoolstatusrequests", pools),
        ("resource.k8s.io/v1beta1", "deviceclasses", class.clone()),
        ("resource.k8s.io/v1beta2", "deviceclasses", class),
        ("resource.k8s.io/v1beta1", "namespaces/default/resourceclaims", claim(&flat)),
        ("resource.k8s.io/v1beta2", "namespaces/default/resourceclaims", claim(&exact)),
        ("resource.k8s.io/v1beta1", "namespaces/default/resourceclaimtemplates", template(&flat)),
        ("resource.k8s.io/v1beta2", "namespaces/default/resourceclaimtemplates", template(&exact)),
        (
            "resource.k8s.io/v1beta1",
            "resourceslices",
            slice(json!({ "name": "d", "basic": { "attributes": attributes } })),
        ),
        (
            "resource.k8s.io/v1beta2",
            "resourceslices",
            slice(json!({ "name": "d", "attributes": attributes })),
        ),
        ("scheduling.k8s.io/v1alpha2", "namespaces/default/workloads", workload),
        ("scheduling.k8s.io/v1alpha2", "namespaces/default/podgroups", group),
        ("storage.k8s.io/v1beta1", "volumeattributesclasses", attributes_class),
        ("storagemigration.k8s.io/v1beta1", "storageversionmigrations", migration),
    ]
}

/// Returns whether everything in `part` is in `whole`.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|other| contains(other, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}

#[tokio::test]
async fn every_optional_kind_is_created_read_changed_and_deleted() {
    let server = with_everything().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for (version, collection, mut object) in samples() {
        let path = format!("/apis/{version}/{collection}");
        object["apiVersion"] = version.into();
        let created = connection.send(post(&path, object.to_string().into())).await;
        assert_eq!(created.status, 201, "{path}: {}", created.text());
        assert!(contains(&created.json(), &object), "{path}: {} of {object}", created.text());

        let object_url = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
        let merge = "application/merge-patch+json";
        let labels = json!({ "metadata": { "labels": { "a": "b" } } });
        let changed = send(&mut connection, "PATCH", &object_url, merge, &labels).await;
        assert_eq!(changed.status, 200, "{object_url}: {}", changed.text());
        let list = get(&mut connection, &path).await;
        let items = list["items"].as_array().unwrap();
        assert!(items.iter().any(|item| item["metadata"]["labels"]["a"] == "b"), "{path}: {list}");
        let applied = send(
            &mut connection,
            "PATCH",
            &format!("{object_url}?fieldManager=m&force=true"),
            "application/apply-patch+yaml",
            &object,
        )
        .await;
        assert_eq!(applied.status, 200, "{object_url}: {}", applied.text());
        let table = connection.send(table_of(&path)).await;
        assert_eq!(table.status, 200, "{path}: {}", table.text());
        let table = table.json();
        // The age of an IPAddress is a cell without a column, as in Kubernetes.
        let unnamed = usize::from(object["kind"] == "IPAddress");
        assert_eq!(
            table["columnDefinitions"].as_array().unwrap().len() + unnamed,
            table["rows"][0]["cells"].as_array().unwrap().len(),
            "{path}",
        );
        let deleted = send(&mut connection, "DELETE", &object_url, "application/json", &json!({})).await;
        assert_eq!(deleted.status, 200, "{object_url}: {}", deleted.text());
        // These have finalizers that controllers remove.
        if !["ServiceCIDR", "VolumeAttributesClass"].contains(&object["kind"].as_str().unwrap()) {
            assert_eq!(connection.get(&object_url, Some("admin-token")).await.status, 404, "{object_url}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn versions_of_one_kind_are_the_same_objects() {
    let server = with_everything().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let claims = |version: &str| format!("/apis/resource.k8s.io/{version}/namespaces/default/resourceclaims");
    let request = json!({ "name": "r", "deviceClassName": "k", "count": 2 });
    let claim = json!({ "metadata": { "name": "c" }, "spec": { "devices": { "requests": [request] } } });
    let created = connection.send(post(&claims("v1beta1"), claim.to_string().into())).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let warning = created.headers["warning"].to_str().unwrap().to_owned();
    assert!(
        warning
            .contains("resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+"),
        "{warning}"
    );
    let stored = get(&mut connection, &format!("{}/c", claims("v1"))).await;
    assert_eq!(
        stored["spec"]["devices"]["requests"][0],
        json!({ "name": "r", "exactly": { "deviceClassName": "k", "allocationMode": "ExactCount", "count": 2 } })
    );
    let newer = get(&mut connection, &format!("{}/c", claims("v1beta2"))).await;
    assert_eq!(newer["metadata"]["uid"], created.json()["metadata"]["uid"]);
    let refused =
        json!({ "metadata": { "name": "d" }, "spec": { "devices": { "requests": [{ "name": "r" }] } } });
    let refused = connection.send(post(&claims("v1beta1"), refused.to_string().into())).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    server.stop().await;
}
