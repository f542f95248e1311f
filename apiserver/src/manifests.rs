//! The objects that an extension server needs in a cluster: where it runs, what it may do, and which group versions it
//! serves.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use registry_core::registry::StorageMap;
use serde_json::{Value, json};

/// The port that the server listens on in its pod, where it is not a privileged user.
const PORT: u16 = 8443;
/// `groupPriorityMinimum` of the group: behind all of Kubernetes' own.
const GROUP_PRIORITY: u16 = 1_000;

/// The values that the manifests are made of.
pub(crate) struct Manifests<'m> {
    /// The name of all objects.
    pub(crate) name: &'m str,
    /// The namespace of the server.
    pub(crate) namespace: &'m str,
    /// The server's image.
    pub(crate) image: &'m str,
    /// The certificate authority (PEM) of its serving certificate.
    pub(crate) ca_pem: &'m str,
    /// The serving certificate.
    pub(crate) serving: Serving<'m>,
    /// The resources that it serves.
    pub(crate) maps: &'m [&'static StorageMap],
}

/// Where the serving certificate comes from.
pub(crate) enum Serving<'m> {
    /// A Secret that exists.
    Secret(&'m str),
    /// This certificate with its chain, and its key (PEM).
    Made {
        /// The certificate.
        certificate_pem: &'m str,
        /// The key.
        key_pem: &'m str,
    },
}

// === impl Manifests ===

impl Manifests<'_> {
    /// Returns the objects, in an order in which they can be created.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        let is_made_by_kubernetes = self.namespace == "default" || self.namespace.starts_with("kube-");
        if !is_made_by_kubernetes {
            objects.push(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.namespace },
            }));
        }
        objects.extend(self.permissions());
        objects.extend(self.roles_of_users());
        objects.extend(self.workload());
        objects.extend(self.api_services());
        objects
    }

    /// Returns what the server itself may do: ask the main server who its clients are and what they may do, and follow what
    /// admission depends on.
    pub(crate) fn permissions(&self) -> Vec<Value> {
        let Self { name, namespace, .. } = self;
        let subjects = json!([{ "kind": "ServiceAccount", "name": name, "namespace": namespace }]);
        let role = |kind: &str, name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
        let binding = |name: String, role: Value| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": { "name": name }, "roleRef": role, "subjects": subjects,
            })
        };
        let follow = |groups: &[&str], resources: &[&str]| json!({ "apiGroups": groups, "resources": resources, "verbs": ["get", "list", "watch"] });
        let own = format!("{name}:server");
        vec![
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": { "name": name, "namespace": namespace },
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": own },
                "rules": [
                    follow(&[""], &["namespaces", "services"]),
                    follow(&["admissionregistration.k8s.io"], &["*"]),
                    follow(
                        &["flowcontrol.apiserver.k8s.io"],
                        &["flowschemas", "prioritylevelconfigurations"],
                    ),
                ],
            }),
            binding(own.clone(), role("ClusterRole", &own)),
            // For `apiserver::api_client::leadership`.
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": { "name": own, "namespace": namespace },
                "rules": [{
                    "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                    "verbs": ["get", "create", "update"],
                }],
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": { "name": own, "namespace": namespace },
                "roleRef": role("Role", &own), "subjects": subjects,
            }),
            binding(format!("{name}:auth-delegator"), role("ClusterRole", "system:auth-delegator")),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": { "name": format!("{name}:auth-reader"), "namespace": "kube-system" },
                "roleRef": role("Role", "extension-apiserver-authentication-reader"), "subjects": subjects,
            }),
        ]
    }

    /// Returns roles of the server's users, which become a part of `view`, `edit` and `admin`.
    fn roles_of_users(&self) -> Vec<Value> {
        let groups: Vec<&str> = self.versions().into_keys().collect();
        let role = |word: &str, into: &[&str], verbs: &[&str]| {
            let label = |to: &&str| (format!("rbac.authorization.k8s.io/aggregate-to-{to}"), json!("true"));
            let labels: serde_json::Map<String, Value> = into.iter().map(label).collect();
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": { "name": format!("{}:{word}", self.name), "labels": labels },
                "rules": [{ "apiGroups": groups, "resources": ["*"], "verbs": verbs }],
            })
        };
        let writes = ["create", "update", "patch", "delete", "deletecollection"];
        vec![
            role("view", &["view", "edit", "admin"], &["get", "list", "watch"]),
            role("edit", &["edit", "admin"], &writes),
        ]
    }

    /// Returns the server itself.
    fn workload(&self) -> Vec<Value> {
        let Self { name, namespace, .. } = self;
        let metadata = json!({ "name": name, "namespace": namespace, "labels": { "app": name } });
        let mut objects = Vec::new();
        let secret = match self.serving {
            Serving::Secret(secret) => secret.to_owned(),
            Serving::Made { certificate_pem, key_pem } => {
                let secret = format!("{name}-tls");
                objects.push(json!({
                    "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
                    "metadata": { "name": secret, "namespace": namespace },
                    "data": {
                        "tls.crt": BASE64_STANDARD.encode(certificate_pem),
                        "tls.key": BASE64_STANDARD.encode(key_pem),
                    },
                }));
                secret
            }
        };
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        }));
        objects.push(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {
                "selector": { "app": name },
                "ports": [{ "name": "https", "port": 443, "targetPort": "https" }],
            },
        }));
        objects.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                // The embedded store is used by one server at a time.
                "replicas": 1,
                "strategy": { "type": "Recreate" },
                "selector": { "matchLabels": { "app": name } },
                "template": { "metadata": { "labels": { "app": name } }, "spec": self.pod(&secret) },
            },
        }));
        objects
    }

    fn pod(&self, secret: &str) -> Value {
        let probe = |path: &str| json!({ "httpGet": { "path": path, "port": "https", "scheme": "HTTPS" } });
        json!({
            "serviceAccountName": self.name,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [{
                "name": "server",
                "image": self.image,
                "args": [
                    "--bind-address=0.0.0.0",
                    format!("--secure-port={PORT}"),
                    "--tls-cert-file=/tls/tls.crt",
                    "--tls-private-key-file=/tls/tls.key",
                    "--data-dir=/data",
                ],
                "ports": [{ "name": "https", "containerPort": PORT }],
                "readinessProbe": probe("/readyz"),
                "livenessProbe": probe("/livez"),
                "resources": { "requests": { "cpu": "20m", "memory": "32Mi" } },
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                    "capabilities": { "drop": ["ALL"] },
                },
                "volumeMounts": [
                    { "name": "tls", "mountPath": "/tls", "readOnly": true },
                    { "name": "data", "mountPath": "/data" },
                ],
            }],
            "volumes": [
                { "name": "tls", "secret": { "secretName": secret } },
                { "name": "data", "persistentVolumeClaim": { "claimName": self.name } },
            ],
        })
    }

    /// Returns an `APIService` for each group version.
    pub(crate) fn api_services(&self) -> Vec<Value> {
        let service = json!({ "name": self.name, "namespace": self.namespace, "port": 443 });
        let of_group = |(group, versions): (&str, Vec<&str>)| {
            let count = versions.len();
            let of_version = |(position, version): (usize, &str)| {
                json!({
                    "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                    "metadata": { "name": format!("{version}.{group}") },
                    "spec": {
                        "group": group, "version": version, "service": service,
                        "groupPriorityMinimum": GROUP_PRIORITY,
                        // The first version is preferred.
                        "versionPriority": 10 + count - position,
                        "caBundle": BASE64_STANDARD.encode(self.ca_pem),
                    },
                })
            };
            versions.into_iter().enumerate().map(of_version).collect::<Vec<_>>()
        };
        self.versions().into_iter().flat_map(of_group).collect()
    }

    /// Returns the versions of each group, the most stable first.
    fn versions(&self) -> BTreeMap<&'static str, Vec<&'static str>> {
        let mut groups: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
        for version in self.maps.iter().flat_map(|map| map.versions) {
            groups.entry(version.group).or_default().push(version.version);
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(stability(version)));
        }
        groups
    }
}

/// Returns the order of a version as Kubernetes sorts them: `v2`, `v1`, `v2beta1`, `v1alpha1`, then other names.
fn stability(version: &str) -> (u8, u64, u64) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let major_end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(major_end);
    let Ok(major) = major.parse() else { return (0, 0, 0) };
    let (level, minor) = match rest {
        "" => return (3, major, 0),
        rest => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return (0, 0, 0),
        },
    };
    minor.parse().map_or((0, 0, 0), |minor| (level, major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions = ["v1alpha1", "v1", "v2beta1", "zork", "v10", "v2", "v1beta2"];
        versions.sort_by_key(|version| std::cmp::Reverse(stability(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "zork"]);
    }

    #[test]
    fn every_group_version_has_an_api_service_that_trusts_the_authority() {
        let manifests = Manifests {
            name: "zoo",
            namespace: "animals",
            image: "zoo:1",
            ca_pem: "abc",
            serving: Serving::Secret("certificate"),
            maps: &[crate::builtin_storage_map()],
        };
        let objects = manifests.objects();
        let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
        let services = of_kind("APIService");
        let apps = services.iter().find(|service| service["metadata"]["name"] == "v1.apps").unwrap();
        assert_eq!(apps["spec"]["caBundle"], "YWJj");
        assert_eq!(apps["spec"]["service"]["namespace"], "animals");
        assert!(of_kind("Secret").is_empty(), "it exists already");
        let pod = &of_kind("Deployment")[0]["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"][0]["secret"]["secretName"], "certificate");
        assert_eq!(objects[0]["kind"], "Namespace");
    }
}
