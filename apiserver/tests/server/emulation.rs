//! Servers that emulate an earlier release of Kubernetes.

use apiserver::testing::TestServer;
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol};
use crate::servers::{refusal, start, start_over};

const ADMISSION: &str = "/apis/admissionregistration.k8s.io";
const BETA_POLICIES: &str = "--runtime-config=admissionregistration.k8s.io/v1beta1=true";
const CLASSES: &str = "/apis/storage.k8s.io/v1beta1/volumeattributesclasses";
const DEVICES: &str = "/apis/resource.k8s.io";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";

async fn status(server: &TestServer, path: &str) -> u16 {
    Connection::open(server, Protocol::Http2).await.get(path, Some("admin-token")).await.status
}

fn pod(name: &str, spec: &Value) -> Value {
    let mut whole = json!({
        "automountServiceAccountToken": false,
        "containers": [{ "name": "c", "image": "i", "restartPolicy": "Never" }],
        "volumes": [{ "name": "e", "emptyDir": {} }],
    });
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": whole })
}

#[tokio::test]
async fn a_server_says_which_release_it_emulates() {
    for (flags, emulation, min_compatibility) in [
        (&[][..], "36", "35"),
        (&["--emulated-version=1.34", "--feature-gates=ComponentStatusz=true"], "34", "33"),
        (
            &[
                "--emulated-version=kube=1.35",
                "--min-compatibility-version=1.33",
                "--feature-gates=ComponentStatusz=true",
            ],
            "35",
            "33",
        ),
    ] {
        let server = start(flags).await;
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        let version = connection.get("/version", Some("admin-token")).await.json();
        assert_eq!(
            (&version["major"], &version["minor"], &version["gitVersion"]),
            (&json!("1"), &json!("36"), &json!(apiserver::version::GIT_VERSION))
        );
        assert_eq!(
            [&version["emulationMajor"], &version["emulationMinor"]],
            [&json!("1"), &json!(emulation)]
        );
        assert_eq!(
            [&version["minCompatibilityMajor"], &version["minCompatibilityMinor"]],
            [&json!("1"), &json!(min_compatibility)]
        );
        let page = connection.get("/statusz", Some("admin-token")).await.text();
        assert!(page.contains(&format!("\nEmulation version:  1.{emulation}\n")), "{page}");
        let metrics = connection.get("/metrics", Some("admin-token")).await.text();
        let info = format!(
            "version_info{{binary=\"1.36.2\",component=\"kube\",emulation=\"1.{emulation}\",\
             min_compat=\"1.{min_compatibility}\"}} 1"
        );
        assert!(metrics.contains(&info), "{info}");
    }
}

#[tokio::test]
async fn the_pages_for_operators_exist_only_with_their_features() {
    let server = start(&["--emulated-version=1.35", "--feature-gates=ComponentFlagz=true"]).await;
    assert_eq!((status(&server, "/statusz").await, status(&server, "/flagz").await), (404, 200));
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let metrics = connection.get("/metrics", Some("admin-token")).await.text();
    for line in [
        "kubernetes_feature_enabled{name=\"ComponentFlagz\",stage=\"ALPHA\"} 1",
        "kubernetes_feature_enabled{name=\"ComponentStatusz\",stage=\"ALPHA\"} 0",
        "kubernetes_feature_enabled{name=\"MultiCIDRServiceAllocator\",stage=\"\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    assert!(!metrics.contains("name=\"ReloadKubeletClientCAFile\""), "a gate of 1.36");
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:monitoring";
    let paths =
        connection.get(role, Some("admin-token")).await.json()["rules"][0]["nonResourceURLs"].to_string();
    assert!(paths.contains("/flagz") && !paths.contains("/statusz"), "{paths}");
}

#[tokio::test]
async fn kinds_are_those_of_the_emulated_release() {
    let devices = |version: &str| format!("{DEVICES}/{version}/deviceclasses");
    let policies = format!("{ADMISSION}/v1beta1/validatingadmissionpolicies");
    let old = start(&["--emulated-version=1.33", BETA_POLICIES]).await;
    for (path, expected) in [
        ("/apis/networking.k8s.io/v1/servicecidrs", 200),
        (&devices("v1"), 404),
        (&format!("{DEVICES}/v1"), 404),
        (&policies, 200),
        (&format!("{ADMISSION}/v1beta1/mutatingadmissionpolicies"), 404),
        (&format!("{ADMISSION}/v1/mutatingadmissionpolicies"), 404),
        ("/apis/storage.k8s.io/v1/volumeattributesclasses", 404),
    ] {
        assert_eq!(status(&old, path).await, expected, "{path}");
    }
    let flags = ["--emulated-version=1.33", "--runtime-config=resource.k8s.io/v1beta1=true"];
    let server = start(&flags).await;
    assert_eq!(status(&server, &devices("v1beta1")).await, 200);
    assert_eq!(status(&server, &devices("v1beta2")).await, 404);
    let forward = start(&[&flags[..], &["--emulation-forward-compatible"]].concat()).await;
    for version in ["v1beta1", "v1beta2", "v1"] {
        assert_eq!(status(&forward, &devices(version)).await, 200, "{version}");
    }
    let group = forward.call("GET", DEVICES, &Value::Null).await.unwrap();
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let new = start(&[BETA_POLICIES]).await;
    assert_eq!((status(&new, &policies).await, status(&new, &devices("v1")).await), (404, 200));
}

#[tokio::test]
async fn newer_kinds_are_enabled_by_their_names_only() {
    let old = "--emulated-version=1.33";
    let version = "--runtime-config=resource.k8s.io/v1=true";
    let resource = "--runtime-config=resource.k8s.io/v1/deviceclasses=true";
    assert_eq!(
        refusal(&[old, version]).await,
        "--runtime-config: cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have been introduced \
         after the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true"
    );
    assert_eq!(
        refusal(&[old, resource]).await,
        "--runtime-config: cannot enable resource resource.k8s.io/v1, Resource=deviceclasses in runtime-config because it is introduced \
         at 1.34 after the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true"
    );
    let server = start(&[old, resource, "--runtime-config-emulation-forward-compatible"]).await;
    assert_eq!(status(&server, &format!("{DEVICES}/v1/deviceclasses")).await, 200);
    assert_eq!(status(&server, &format!("{DEVICES}/v1/resourceclaims")).await, 404);
}

#[tokio::test]
async fn objects_are_stored_in_a_version_that_the_oldest_compatible_release_knows() {
    let etcd = Etcd::start().await.unwrap();
    let engine = etcd.connect().await;
    let stored = async |name: &str| {
        let key = format!("/registry/volumeattributesclasses/{name}");
        let value = engine.get(&key).await.unwrap().key_value.expect("a stored object").value;
        serde_json::from_slice::<Value>(&value).unwrap()["apiVersion"].clone()
    };
    let class = |name: &str, driver: &str| {
        json!({ "apiVersion": "storage.k8s.io/v1beta1", "kind": "VolumeAttributesClass",
                "metadata": { "name": name }, "driverName": driver, "parameters": { "a": "b" } })
    };
    let enabled = "--runtime-config=storage.k8s.io/v1beta1=true";
    let old = start_over(&etcd, &["--emulated-version=1.34", enabled]).await;
    let created = old.call("POST", CLASSES, &class("a", "d")).await.unwrap();
    assert_eq!(stored("a").await, "storage.k8s.io/v1beta1", "1.33 does not know v1");
    let path = format!("{CLASSES}/a");
    let same = old.call("PUT", &path, &created).await.unwrap();
    assert_eq!(
        same["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"],
        "nothing changed"
    );
    old.stop().await;

    let new = start_over(&etcd, &[enabled]).await;
    let read =
        new.call("GET", "/apis/storage.k8s.io/v1/volumeattributesclasses/a", &Value::Null).await.unwrap();
    assert_eq!((&read["apiVersion"], &read["driverName"]), (&json!("storage.k8s.io/v1"), &json!("d")));
    new.call("POST", CLASSES, &class("b", "d")).await.unwrap();
    assert_eq!(stored("b").await, "storage.k8s.io/v1");
    let mut labelled = read.clone();
    labelled["metadata"]["labels"] = json!({ "a": "b" });
    new.call("PUT", "/apis/storage.k8s.io/v1/volumeattributesclasses/a", &labelled).await.unwrap();
    assert_eq!(stored("a").await, "storage.k8s.io/v1", "the next write stores it as all others");
    new.stop().await;

    let compatible = ["--emulated-version=1.34", "--min-compatibility-version=1.34", enabled];
    let server = start_over(&etcd, &compatible).await;
    server.call("POST", CLASSES, &class("c", "d")).await.unwrap();
    assert_eq!(stored("c").await, "storage.k8s.io/v1");
    let all = server.call("GET", CLASSES, &Value::Null).await.unwrap();
    assert_eq!(all["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn alpha_versions_are_not_stored_for_older_releases() {
    let etcd = Etcd::start().await.unwrap();
    let enabled = "--runtime-config=admissionregistration.k8s.io/v1beta1=true";
    let server = start_over(&etcd, &["--emulated-version=1.34", enabled]).await;
    let binding = json!({ "metadata": { "name": "a" }, "spec": { "policyName": "p" } });
    let bindings = "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicybindings";
    server.call("POST", bindings, &binding).await.unwrap();
    let engine = etcd.connect().await;
    let stored = engine.get("/registry/mutatingadmissionpolicybindings/a").await.unwrap().key_value.unwrap();
    let stored: Value = serde_json::from_slice(&stored.value).unwrap();
    assert_eq!(
        stored["apiVersion"], "admissionregistration.k8s.io/v1beta1",
        "1.33 knows v1alpha1, and is not expected to read it"
    );
    server.stop().await;
}

#[tokio::test]
async fn fields_of_later_features_are_dropped_unless_they_are_stored() {
    let etcd = Etcd::start().await.unwrap();
    let newer = json!({
        "hostnameOverride": "other",
        "resources": { "limits": { "cpu": "1" } },
    });
    let new = start_over(&etcd, &["--disable-admission-plugins=ServiceAccount"]).await;
    let created = new.call("POST", PODS, &pod("kept", &newer)).await.unwrap();
    assert_eq!(created["spec"]["hostnameOverride"], "other");
    assert_eq!(created["spec"]["containers"][0]["restartPolicy"], "Never");
    new.stop().await;

    let flags = ["--disable-admission-plugins=ServiceAccount", "--emulated-version=1.33"];
    let old = start_over(&etcd, &flags).await;
    let dropped = old.call("POST", PODS, &pod("dropped", &newer)).await.unwrap();
    for field in ["/spec/hostnameOverride", "/spec/resources", "/spec/containers/0/restartPolicy"] {
        assert_eq!(dropped.pointer(field), None, "{field}");
    }
    let path = format!("{PODS}/kept");
    let mut kept = old.call("GET", &path, &Value::Null).await.unwrap();
    kept["metadata"]["labels"] = json!({ "a": "b" });
    let updated = old.call("PUT", &path, &kept).await.unwrap();
    assert_eq!((&updated["spec"], &updated["metadata"]["labels"]["a"]), (&kept["spec"], &json!("b")));
    old.stop().await;

    let gates = "--feature-gates=HostnameOverride=false";
    let without = start_over(&etcd, &["--disable-admission-plugins=ServiceAccount", gates]).await;
    let dropped = without.call("POST", PODS, &pod("gate", &newer)).await.unwrap();
    assert_eq!(dropped["spec"].get("hostnameOverride"), None);
    assert_eq!(dropped["spec"]["resources"]["limits"], newer["resources"]["limits"]);
}

#[tokio::test]
async fn rules_of_services_are_those_of_the_emulated_release() {
    let service = |name: &str, distribution: Option<&str>| {
        let mut service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
                                  "spec": { "ports": [{ "port": 80 }], "selector": { "a": "b" } } });
        if let Some(distribution) = distribution {
            service["spec"]["trafficDistribution"] = distribution.into();
        }
        service
    };
    let etcd = Etcd::start().await.unwrap();
    let new = start_over(&etcd, &[]).await;
    new.call("POST", SERVICES, &service("9-first", Some("PreferSameNode"))).await.unwrap();
    new.stop().await;

    let old = start_over(&etcd, &["--emulated-version=1.33"]).await;
    let error = old
        .call("POST", SERVICES, &service("9-second", None))
        .await
        .unwrap_err()
        .to_string()
        .replace('\\', "");
    assert!(
        error.contains("metadata.name: Invalid value: \"9-second\": a DNS-1035 label must consist of"),
        "{error}"
    );
    let error = old
        .call("POST", SERVICES, &service("a", Some("PreferSameNode")))
        .await
        .unwrap_err()
        .to_string()
        .replace('\\', "");
    assert!(
        error.contains("spec.trafficDistribution: Unsupported value: \"PreferSameNode\": supported values: \"PreferClose\""),
        "{error}"
    );
    old.call("POST", SERVICES, &service("a", Some("PreferClose"))).await.unwrap();
    let mut first = old.call("GET", &format!("{SERVICES}/9-first"), &Value::Null).await.unwrap();
    first["spec"]["selector"] = json!({ "foo": "baz" });
    first["spec"]["trafficDistribution"] = "PreferClose".into();
    old.call("PUT", &format!("{SERVICES}/9-first"), &first).await.expect("its name is not checked again");

    let relaxed =
        start(&["--emulated-version=1.34", "--feature-gates=RelaxedServiceNameValidation=true"]).await;
    relaxed.call("POST", SERVICES, &service("9-second", Some("PreferSameNode"))).await.unwrap();
}

#[tokio::test]
async fn pods_take_over_the_zone_of_their_node_only_with_the_feature() {
    let zone = json!({ "topology.kubernetes.io/zone": "a" });
    for (flags, expected) in [
        (&["--emulated-version=1.33"][..], None),
        (&["--emulated-version=1.33", "--feature-gates=PodTopologyLabelsAdmission=true"], Some(&zone)),
        (&["--feature-gates=PodTopologyLabelsAdmission=false"], None),
        (&[], Some(&zone)),
    ] {
        let server = start(&[&["--disable-admission-plugins=ServiceAccount"], flags].concat()).await;
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "labels": zone } });
        server.call("POST", "/api/v1/nodes", &node).await.unwrap();
        let created = server.call("POST", PODS, &pod("p", &json!({ "nodeName": "n" }))).await.unwrap();
        assert_eq!(created["metadata"].get("labels"), expected, "{flags:?}");
    }
}

#[tokio::test]
async fn addresses_come_from_the_flag_without_service_cidrs() {
    let service = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
                "spec": { "ports": [{ "port": 80 }] } })
    };
    let cidrs = "/apis/networking.k8s.io/v1/servicecidrs";
    let range = "--service-cluster-ip-range=10.0.0.0/29";
    for gates in [
        "--feature-gates=MultiCIDRServiceAllocator=false,DisableAllocatorDualWrite=false",
        "--feature-gates=MultiCIDRServiceAllocator=true,DisableAllocatorDualWrite=false",
    ] {
        let server = start(&[range, "--emulated-version=1.33", gates]).await;
        let has_ranges = gates.contains("Allocator=true");
        let listed = server.call("GET", cidrs, &Value::Null).await.unwrap();
        assert_eq!(listed["items"].as_array().unwrap().len(), usize::from(has_ranges), "{gates}");
        for number in 0..5 {
            server.call("POST", SERVICES, &service(&format!("s{number}"))).await.unwrap();
        }
        let error = server
            .call("POST", SERVICES, &service("one-too-many"))
            .await
            .unwrap_err()
            .to_string()
            .replace('\\', "");
        assert!(error.contains("range is full"), "{error}");
        let second = json!({ "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
                             "metadata": { "name": "second" }, "spec": { "cidrs": ["10.1.0.0/24"] } });
        server.call("POST", cidrs, &second).await.unwrap();
        let more = server.call("POST", SERVICES, &service("more")).await;
        assert_eq!(more.is_ok(), has_ranges, "{gates}: {more:?}");
    }
}

#[tokio::test]
async fn gates_of_later_releases_are_refused() {
    for (flags, reason) in [
        (
            ["--emulated-version=1.33", "--feature-gates=RelaxedServiceNameValidation=true"],
            "cannot set feature gate RelaxedServiceNameValidation to true, feature is PreAlpha at emulated version 1.33, \
             min compatibility version 1.33",
        ),
        (
            ["--emulated-version=1.34", "--feature-gates=MultiCIDRServiceAllocator=false"],
            "cannot set feature gate MultiCIDRServiceAllocator to false, feature is locked to true",
        ),
    ] {
        let error = refusal(&flags).await;
        assert!(error.contains(reason), "{error}");
    }
}
