//! Tests of objects that older servers stored in versions that are not served any more.

mod known;
mod workloads;

use registry_core::codec::protobuf;
use registry_core::resource::{Resource, Versions};
use registry_core::schema::Schema;
use registry_core::storage::{AttributesOf as _, CanonicalForm, InvalidValue};
use serde_json::{Value, json};

use super::admissionregistration::mutatingwebhookconfigurations::MutatingWebhookConfigurations;
use super::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies;
use super::admissionregistration::validatingwebhookconfigurations::ValidatingWebhookConfigurations;
use super::batch::cronjobs::CronJobs;
use super::certificates::certificatesigningrequests::CertificateSigningRequests;
use super::core::events::Events;
use super::discovery::endpointslices::EndpointSlices;
use super::events::events_v1::EventsV1;
use super::flowcontrol::flowschemas::FlowSchemas;
use super::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations;
use super::networking::ingresses::Ingresses;
use super::networking::networkpolicies::NetworkPolicies;
use super::node::runtimeclasses::RuntimeClasses;
use super::policy::poddisruptionbudgets::PodDisruptionBudgets;
use super::rbac::clusterrolebindings::ClusterRoleBindings;
use super::rbac::clusterroles::ClusterRoles;
use super::storage::csidrivers::CSIDrivers;

/// Returns the versions of a kind, given the resource that is stored.
fn versions<R: Resource>() -> Versions {
    Versions::only(R::TYPE.instantiate())
}

fn events() -> Versions {
    Versions::new(Events::TYPE.instantiate(), [EventsV1::TYPE.instantiate()])
}

/// Returns the object that a server reads in place of a stored value.
fn read(versions: &Versions, stored: &[u8]) -> Result<Value, InvalidValue> {
    match versions.canonical(stored)? {
        CanonicalForm::Other(bytes) => Ok(serde_json::from_slice(&bytes).unwrap()),
        CanonicalForm::Same | CanonicalForm::Awaited(_) => panic!("it is read as it is"),
    }
}

/// Returns an object as kube-apiserver stores it as JSON.
fn as_json(object: &Value) -> Vec<u8> {
    format!("{object}\n").into_bytes()
}

/// Returns an object as kube-apiserver stores it as protobuf, by the message of its own version.
fn as_protobuf(versions: &Versions, object: &Value) -> Vec<u8> {
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let schema = schema(versions, api_version, kind);
    let mut object = object.clone();
    let mut issues = Vec::new();
    schema.conform(&mut object, &mut issues).unwrap();
    assert_eq!(issues, [], "fields of {api_version} {kind}");
    protobuf::encode(&object, &schema, api_version, kind).unwrap().to_vec()
}

/// Returns the schema of a version: its own, or that of the version with the same messages.
fn schema(versions: &Versions, api_version: &str, kind: &str) -> Schema {
    let hub = versions.hub().schema();
    let own = hub.table().schema_of(api_version, kind);
    let spoke = || hub.table().schema_of(&api_version.replace("v1beta1", "v1"), kind);
    own.or_else(spoke).unwrap_or(hub)
}

/// Checks that a value has all that is expected of it; null stands for an absent field.
fn check(found: &Value, expected: &Value, path: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, expected) in expected {
                check(found.get(name).unwrap_or(&Value::Null), expected, &format!("{path}.{name}"));
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{path}");
            for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
                check(found, expected, &format!("{path}[{place}]"));
            }
        }
        _ => assert_eq!(found, expected, "{path}"),
    }
}

/// Reads an object of a retired version from both encodings.
fn check_read(versions: &Versions, api_version: &str, fields: &Value, expected: &Value) {
    let hub = versions.hub();
    let mut object = json!({ "kind": hub.kind.kind, "apiVersion": api_version, "metadata": { "name": "a" } });
    for (name, value) in fields.as_object().unwrap() {
        object[name] = value.clone();
    }
    let found = read(versions, &as_json(&object)).unwrap();
    let title = format!("{api_version} {}", hub.kind.kind);
    assert_eq!(found["apiVersion"], hub.group_version().api_version(), "{title}");
    check(&found, expected, &title);
    assert_eq!(read(versions, &as_protobuf(versions, &object)).unwrap(), found, "{title} as protobuf");
}

#[test]
fn versions_with_the_same_fields_are_read_as_they_are() {
    let rules =
        json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"] }]);
    for (versions, api_version, fields, expected) in [
        (
            versions::<FlowSchemas>(),
            "flowcontrol.apiserver.k8s.io/v1beta3",
            json!({ "spec": { "priorityLevelConfiguration": { "name": "p" }, "matchingPrecedence": 0 } }),
            json!({ "spec": { "priorityLevelConfiguration": { "name": "p" }, "matchingPrecedence": 1000 } }),
        ),
        (
            versions::<CronJobs>(),
            "batch/v1beta1",
            json!({ "spec": { "schedule": "@daily", "jobTemplate": { "spec": { "template": {
                "spec": { "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Never" },
            }}}}}),
            json!({ "spec": { "schedule": "@daily", "suspend": false, "failedJobsHistoryLimit": 1,
                "jobTemplate": { "spec": { "template": { "spec": { "containers": [{ "image": "i" }] } } } },
            }}),
        ),
        (
            versions::<ClusterRoles>(),
            "rbac.authorization.k8s.io/v1alpha1",
            json!({ "rules": rules }),
            json!({ "rules": rules }),
        ),
        (
            versions::<CSIDrivers>(),
            "storage.k8s.io/v1beta1",
            json!({ "spec": { "podInfoOnMount": true } }),
            json!({ "spec": { "podInfoOnMount": true, "attachRequired": true, "volumeLifecycleModes": ["Persistent"] } }),
        ),
        (
            versions::<ValidatingAdmissionPolicies>(),
            "admissionregistration.k8s.io/v1alpha1",
            json!({ "spec": { "validations": [{ "expression": "true" }] } }),
            json!({ "spec": { "validations": [{ "expression": "true" }], "failurePolicy": "Fail" } }),
        ),
        (
            versions::<NetworkPolicies>(),
            "extensions/v1beta1",
            json!({ "spec": { "podSelector": {}, "ingress": [{ "ports": [{ "port": 80 }] }] } }),
            json!({ "spec": { "podSelector": {}, "policyTypes": ["Ingress"],
                "ingress": [{ "ports": [{ "port": 80, "protocol": "TCP" }], "from": null }], "egress": null,
            }}),
        ),
        (
            events(),
            "events.k8s.io/v1beta1",
            json!({ "note": "n", "regarding": { "name": "p" }, "reportingController": "c", "deprecatedCount": 2 }),
            json!({ "message": "n", "involvedObject": { "name": "p" }, "reportingComponent": "c", "count": 2, "note": null }),
        ),
    ] {
        check_read(&versions, api_version, &fields, &expected);
    }
}

#[test]
fn fields_with_other_names_are_moved() {
    let level = |limited: &Value| json!({ "spec": { "type": "Limited", "limited": limited } });
    let zero = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
    let mut kept = level(&json!({ "nominalConcurrencyShares": 0 }));
    kept["metadata"] = json!({ "name": "a", "annotations": { zero: "" } });
    let endpoint = json!({ "addresses": ["10.0.0.1"], "nodeName": "n", "topology": {
        "topology.kubernetes.io/zone": "z", "kubernetes.io/hostname": "n", "rack": "r",
    }});
    let other_host = json!({ "addresses": ["10.0.0.2"], "topology": { "kubernetes.io/hostname": "m" }, "hints": { "forZones": [{ "name": "z" }] } });
    for (versions, api_version, fields, expected) in [
        (
            versions::<PriorityLevelConfigurations>(),
            "flowcontrol.apiserver.k8s.io/v1beta1",
            level(&json!({ "assuredConcurrencyShares": 7 })),
            level(
                &json!({ "assuredConcurrencyShares": null, "nominalConcurrencyShares": 7, "lendablePercent": 0 }),
            ),
        ),
        (
            versions::<PriorityLevelConfigurations>(),
            "flowcontrol.apiserver.k8s.io/v1beta2",
            level(&json!({ "assuredConcurrencyShares": 0 })),
            level(&json!({ "nominalConcurrencyShares": 30 })),
        ),
        (
            versions::<PriorityLevelConfigurations>(),
            "flowcontrol.apiserver.k8s.io/v1beta3",
            level(&json!({ "nominalConcurrencyShares": 0 })),
            level(&json!({ "nominalConcurrencyShares": 30 })),
        ),
        (
            versions::<PriorityLevelConfigurations>(),
            "flowcontrol.apiserver.k8s.io/v1beta3",
            kept,
            json!({ "metadata": { "annotations": null }, "spec": { "limited": { "nominalConcurrencyShares": 0 } } }),
        ),
        (
            versions::<EndpointSlices>(),
            "discovery.k8s.io/v1beta1",
            json!({ "addressType": "IPv4", "endpoints": [endpoint, other_host], "ports": [{ "port": 80 }] }),
            json!({ "ports": [{ "name": "", "protocol": "TCP" }], "endpoints": [
                { "nodeName": "n", "zone": "z", "topology": null, "deprecatedTopology": { "rack": "r", "kubernetes.io/hostname": null } },
                { "zone": null, "deprecatedTopology": { "kubernetes.io/hostname": "m" }, "hints": { "forZones": [{ "name": "z" }] } },
            ]}),
        ),
        (
            versions::<RuntimeClasses>(),
            "node.k8s.io/v1alpha1",
            json!({ "spec": { "runtimeHandler": "h", "overhead": { "podFixed": { "cpu": "1" } } } }),
            json!({ "handler": "h", "overhead": { "podFixed": { "cpu": "1" } }, "scheduling": null, "spec": null }),
        ),
        (
            versions::<ClusterRoleBindings>(),
            "rbac.authorization.k8s.io/v1alpha1",
            json!({ "roleRef": { "kind": "ClusterRole", "name": "r" }, "subjects": [
                { "kind": "User", "name": "*" }, { "kind": "User", "name": "u", "apiVersion": "old/v1" },
                { "kind": "ServiceAccount", "name": "s", "namespace": "n", "apiVersion": "v1" },
                { "kind": "Robot", "name": "r", "apiVersion": "example.com/v1" },
            ]}),
            json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io" }, "subjects": [
                { "kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io", "apiVersion": null },
                { "kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io" },
                { "kind": "ServiceAccount", "apiGroup": null, "apiVersion": null },
                { "kind": "Robot", "apiGroup": "example.com" },
            ]}),
        ),
    ] {
        check_read(&versions, api_version, &fields, &expected);
    }
}

#[test]
fn backends_of_ingresses_name_services() {
    let fields = json!({ "spec": {
        "backend": { "serviceName": "d", "servicePort": 80 },
        "rules": [{ "host": "h", "http": { "paths": [
            { "path": "/a", "backend": { "serviceName": "s", "servicePort": "web" } },
            { "pathType": "Exact", "backend": { "servicePort": 0, "resource": { "kind": "K", "name": "n" } } },
        ]}}, { "host": "none" }],
    }});
    let expected = json!({ "spec": {
        "backend": null, "defaultBackend": { "service": { "name": "d", "port": { "number": 80 } } },
        "rules": [{ "http": { "paths": [
            { "path": "/a", "pathType": "ImplementationSpecific",
              "backend": { "service": { "name": "s", "port": { "name": "web" } }, "serviceName": null, "servicePort": null } },
            { "pathType": "Exact", "backend": { "service": null, "resource": { "kind": "K" }, "servicePort": null } },
        ]}}, { "host": "none" }],
    }});
    for api_version in ["extensions/v1beta1", "networking.k8s.io/v1beta1"] {
        check_read(&versions::<Ingresses>(), api_version, &fields, &expected);
    }
}

#[test]
fn an_empty_selector_of_a_budget_selects_no_pods() {
    let label = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    let requirement = |operator: &str| json!({ "key": label, "operator": operator });
    let own = json!({ "key": "k", "operator": "Exists" });
    for (selector, expected) in [
        (json!({}), json!({ "matchExpressions": [requirement("Exists")] })),
        (json!({ "matchExpressions": [requirement("DoesNotExist")] }), json!({ "matchExpressions": null })),
        (json!({ "matchExpressions": [requirement("Exists"), own] }), json!({ "matchExpressions": [own] })),
        (
            json!({ "matchLabels": { "a": "b" } }),
            json!({ "matchLabels": { "a": "b" }, "matchExpressions": null }),
        ),
        (Value::Null, Value::Null),
    ] {
        let [fields, expected] =
            [selector, expected].map(|selector| json!({ "spec": { "selector": selector } }));
        check_read(&versions::<PodDisruptionBudgets>(), "policy/v1beta1", &fields, &expected);
    }
}

#[test]
fn webhooks_have_the_defaults_of_their_version() {
    let fields = json!({ "webhooks": [{ "name": "a.b.c", "clientConfig": { "url": "https://x" } }] });
    let expected = json!({ "webhooks": [{
        "failurePolicy": "Ignore", "matchPolicy": "Exact", "sideEffects": "Unknown", "timeoutSeconds": 30,
        "admissionReviewVersions": ["v1beta1"],
    }]});
    for versions in
        [versions::<ValidatingWebhookConfigurations>(), versions::<MutatingWebhookConfigurations>()]
    {
        check_read(&versions, "admissionregistration.k8s.io/v1beta1", &fields, &expected);
    }
}

/// Returns a PEM request in base64, for a certificate of a node with these names.
fn request(node: &str, names: &[&str]) -> String {
    use base64::Engine as _;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, node);
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    let text = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn signers_of_requests_are_found_by_what_is_requested() {
    let client = json!(["digital signature", "key encipherment", "client auth"]);
    let serving = json!(["server auth", "digital signature"]);
    let node = "system:node:a";
    for (request, usages, signer) in [
        (request(node, &[]), &client, "kubernetes.io/kube-apiserver-client-kubelet"),
        (request(node, &["a.example.com"]), &serving, "kubernetes.io/kubelet-serving"),
        (request(node, &[]), &serving, "kubernetes.io/legacy-unknown"),
        (request(node, &["a.example.com"]), &client, "kubernetes.io/legacy-unknown"),
        (request("ada", &[]), &client, "kubernetes.io/legacy-unknown"),
        (request(node, &[]), &Value::Null, "kubernetes.io/legacy-unknown"),
        ("YQ==".to_owned(), &client, "kubernetes.io/legacy-unknown"),
    ] {
        let fields = json!({
            "spec": { "request": request, "usages": usages }, "status": { "conditions": [{ "type": "Approved" }] },
        });
        let usages =
            if usages.is_null() { &json!(["digital signature", "key encipherment"]) } else { usages };
        let expected = json!({
            "spec": { "signerName": signer, "usages": usages },
            "status": { "conditions": [{ "type": "Approved", "status": "True" }] },
        });
        check_read(
            &versions::<CertificateSigningRequests>(),
            "certificates.k8s.io/v1beta1",
            &fields,
            &expected,
        );
    }
}

#[test]
fn malformed_objects_and_unknown_versions_are_errors_of_the_object() {
    let ingresses = versions::<Ingresses>();
    let of_kind = |kind: &str, api_version: &str, spec: Value| json!({ "kind": kind, "apiVersion": api_version, "metadata": { "name": "a" }, "spec": spec });
    let object = |api_version: &str, spec: Value| of_kind("Ingress", api_version, spec);
    for (kind, api_version, named) in [
        ("Ingress", "networking.k8s.io/v1alpha1", "Ingress"),
        ("DaemonSet", "extensions/v1", "DaemonSet"),
        ("", "v1", "Ingress"),
    ] {
        let reason = format!("no kind \"{named}\" is registered for version \"{api_version}\"");
        let object = of_kind(kind, api_version, json!({}));
        assert_eq!(read(&ingresses, &as_json(&object)).unwrap_err().to_string(), reason);
        // Without the line feed of kube-apiserver, and with its fields in another order.
        assert_eq!(read(&ingresses, object.to_string().as_bytes()).unwrap_err().to_string(), reason);
        let message = protobuf::envelope(api_version, kind, &[]);
        assert_eq!(read(&ingresses, &message).unwrap_err().to_string(), reason);
    }
    let other = protobuf::envelope("extensions/v1beta1", "DaemonSets", &[]);
    assert!(
        read(&ingresses, &other).unwrap_err().to_string().contains("no kind \"DaemonSets\" is registered")
    );
    for spec in [
        json!(7),
        json!({ "backend": [] }),
        json!({ "rules": [{ "http": { "paths": [{ "backend": 1 }] } }] }),
    ] {
        let error = read(&ingresses, &as_json(&object("extensions/v1beta1", spec))).unwrap_err().to_string();
        assert!(error.contains("cannot unmarshal"), "{error}");
    }
    read(&ingresses, &as_json(&object("extensions/v1beta1", Value::Null))).unwrap();
}
