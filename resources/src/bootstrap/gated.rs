//! The default roles and bindings that exist only while a feature is enabled, and the rules that others have then.
//!
//! Kubernetes concept: the conditions on feature gates in `bootstrappolicy`.

use registry_core::api::Object;
use registry_core::features::Feature;
use registry_core::resource::Resource;
use resource_views::rbac::v1::ClusterRole;
use serde_json::{Value, json};

use super::withheld;
use crate::api::rbac::clusterrolebindings::ClusterRoleBindings;
use crate::api::rbac::clusterroles::ClusterRoles;
use crate::support::bootstrap_objects::{bootstrap_object, bootstrap_objects};

const RBAC: &str = "rbac.authorization.k8s.io";
const CERTIFICATES: &[&str] = &["certificates.k8s.io"];
const SCHEDULING: &[&str] = &["scheduling.k8s.io"];
const DEVICES: &[&str] = &["resource.k8s.io"];
const INTERNAL: &[&str] = &["internal.apiserver.k8s.io"];
const LEASES: &[&str] = &["coordination.k8s.io"];
const EVENTS: &[&str] = &["", "events.k8s.io"];
const CORE: &[&str] = &[""];
const ALL: &[&str] = &["*"];
const RECORD: &[&str] = &["create", "patch", "update"];
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];

const TRUST_BUNDLE_READERS: &str = "system:cluster-trust-bundle-discovery";
const TRUST_BUNDLE_PUBLISHER: &str = "system:controller:kube-apiserver-serving-clustertrustbundle-publisher";
const POD_CERTIFICATE_CLEANER: &str = "system:controller:podcertificaterequestcleaner";
const POD_GROUP_PROTECTION: &str = "system:controller:podgroup-protection-controller";
const POOL_STATUS: &str = "system:controller:resourcepoolstatusrequest-controller";
const STORAGE_VERSION_COLLECTOR: &str = "system:controller:storage-version-garbage-collector";
const MIGRATOR: &str = "system:controller:storage-version-migrator-controller";

/// A rule of a ClusterRole.
struct GatedRule {
    feature: Feature,
    role: &'static str,
    verbs: &'static [&'static str],
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    /// Empty: all.
    names: &'static [&'static str],
}

/// A ClusterRole that does not exist without the feature, and its binding.
struct GatedRole {
    feature: Feature,
    name: &'static str,
    holder: Holder,
}

/// The subject of a binding.
#[derive(Clone, Copy)]
enum Holder {
    /// The account of a controller, whose name is the end of the role's.
    Controller,
    /// All service accounts.
    ServiceAccounts,
}

const ROLES: [GatedRole; 7] = [
    GatedRole {
        feature: Feature::ClusterTrustBundle,
        name: TRUST_BUNDLE_READERS,
        holder: Holder::ServiceAccounts,
    },
    GatedRole {
        feature: Feature::ClusterTrustBundle,
        name: TRUST_BUNDLE_PUBLISHER,
        holder: Holder::Controller,
    },
    GatedRole { feature: Feature::DRAResourcePoolStatus, name: POOL_STATUS, holder: Holder::Controller },
    GatedRole { feature: Feature::GenericWorkload, name: POD_GROUP_PROTECTION, holder: Holder::Controller },
    GatedRole {
        feature: Feature::PodCertificateRequest,
        name: POD_CERTIFICATE_CLEANER,
        holder: Holder::Controller,
    },
    GatedRole {
        feature: Feature::StorageVersionAPI,
        name: STORAGE_VERSION_COLLECTOR,
        holder: Holder::Controller,
    },
    GatedRole { feature: Feature::StorageVersionMigrator, name: MIGRATOR, holder: Holder::Controller },
];

/// Returns a rule about all objects.
const fn rule(
    feature: Feature,
    role: &'static str,
    verbs: &'static [&'static str],
    groups: &'static [&'static str],
    resources: &'static [&'static str],
) -> GatedRule {
    GatedRule { feature, role, verbs, groups, resources, names: &[] }
}

/// The rules of all roles, of those above and of others.
fn rules() -> Vec<GatedRule> {
    let mut all = rules_of_kinds();
    all.extend(rules_of_controllers());
    all
}

/// The rules of roles whose controllers read kinds that are served without the feature too.
fn rules_of_controllers() -> Vec<GatedRule> {
    const POOLS: Feature = Feature::DRAResourcePoolStatus;
    const VERSIONS: Feature = Feature::StorageVersionAPI;
    let collected: &[&str] = &["delete", "get", "list", "patch", "update", "watch"];
    let requests: &[&str] = &["resourcepoolstatusrequests"];
    vec![
        rule(POOLS, POOL_STATUS, &["delete", "get", "list", "watch"], DEVICES, requests),
        rule(POOLS, POOL_STATUS, &["patch", "update"], DEVICES, &["resourcepoolstatusrequests/status"]),
        rule(POOLS, POOL_STATUS, READ, DEVICES, &["resourceslices"]),
        rule(POOLS, POOL_STATUS, READ, DEVICES, &["resourceclaims"]),
        rule(POOLS, POOL_STATUS, RECORD, EVENTS, &["events"]),
        rule(VERSIONS, STORAGE_VERSION_COLLECTOR, READ, LEASES, &["leases"]),
        rule(VERSIONS, STORAGE_VERSION_COLLECTOR, collected, INTERNAL, &["storageversions"]),
        rule(
            VERSIONS,
            STORAGE_VERSION_COLLECTOR,
            &["get", "patch", "update"],
            INTERNAL,
            &["storageversions/status"],
        ),
    ]
}

/// The rules about kinds that belong to a feature.
fn rules_of_kinds() -> Vec<GatedRule> {
    const TRUST: Feature = Feature::ClusterTrustBundle;
    const WORKLOAD: Feature = Feature::GenericWorkload;
    const CERTIFICATE: Feature = Feature::PodCertificateRequest;
    const MIGRATION: Feature = Feature::StorageVersionMigrator;
    let workloads: &[&str] = &["podgroups", "workloads"];
    let viewed: &[&str] = &["podgroups", "podgroups/status", "workloads"];
    let created: &[&str] = &["create", "get", "list", "watch"];
    let published: &[&str] = &["create", "delete", "list", "update", "watch"];
    let definitions: &[&str] = &["apiextensions.k8s.io"];
    vec![
        rule(TRUST, "system:node", READ, CERTIFICATES, &["clustertrustbundles"]),
        rule(TRUST, TRUST_BUNDLE_READERS, READ, CERTIFICATES, &["clustertrustbundles"]),
        GatedRule {
            names: &["kubernetes.io/kube-apiserver-serving"],
            ..rule(TRUST, TRUST_BUNDLE_PUBLISHER, &["attest"], CERTIFICATES, &["signers"])
        },
        rule(TRUST, TRUST_BUNDLE_PUBLISHER, published, CERTIFICATES, &["clustertrustbundles"]),
        rule(TRUST, TRUST_BUNDLE_PUBLISHER, RECORD, EVENTS, &["events"]),
        rule(WORKLOAD, "system:aggregate-to-view", READ, SCHEDULING, viewed),
        rule(WORKLOAD, "system:aggregate-to-edit", WRITE, SCHEDULING, workloads),
        rule(WORKLOAD, "system:kube-scheduler", READ, SCHEDULING, &["podgroups"]),
        rule(WORKLOAD, "system:kube-scheduler", &["patch", "update"], SCHEDULING, &["podgroups/status"]),
        rule(WORKLOAD, POD_GROUP_PROTECTION, &["get", "list", "update", "watch"], SCHEDULING, &["podgroups"]),
        rule(WORKLOAD, POD_GROUP_PROTECTION, READ, CORE, &["pods"]),
        rule(CERTIFICATE, "system:node", created, CERTIFICATES, &["podcertificaterequests"]),
        rule(
            CERTIFICATE,
            POD_CERTIFICATE_CLEANER,
            &["delete", "get", "list", "watch"],
            CERTIFICATES,
            &["podcertificaterequests"],
        ),
        rule(MIGRATION, MIGRATOR, &["create", "list", "patch"], ALL, ALL),
        rule(MIGRATION, MIGRATOR, &["get"], definitions, &["customresourcedefinitions"]),
        rule(MIGRATION, MIGRATOR, &["patch"], definitions, &["customresourcedefinitions/status"]),
        rule(
            MIGRATION,
            MIGRATOR,
            &["update"],
            &["storagemigration.k8s.io"],
            &["storageversionmigrations/status"],
        ),
    ]
}

/// Returns the default ClusterRoles of a server with these features.
pub(super) fn cluster_roles(features: &[Feature]) -> Vec<Object> {
    with_features(bootstrap_objects::<ClusterRoles>(), features)
}

/// Returns the default ClusterRole of this name on a server with these features.
pub(super) fn cluster_role(name: &str, features: &[Feature]) -> Option<Object> {
    let role = bootstrap_object::<ClusterRoles>(name);
    with_features(role.into_iter().collect(), features).into_iter().find(|role| role.name() == name)
}

/// Adds to default ClusterRoles, and removes from them, what depends on features.
fn with_features(mut roles: Vec<Object>, features: &[Feature]) -> Vec<Object> {
    roles.retain(|role| withheld::exists(role.name(), features));
    for role in &mut roles {
        withheld::withhold(role, features);
    }
    roles.extend(enabled(features).map(|role| named::<ClusterRoles>(role.name)));
    for rule in rules().into_iter().filter(|rule| features.contains(&rule.feature)) {
        let Some(role) = roles.iter_mut().find(|role| role.name() == rule.role) else { continue };
        let mut all = ClusterRole(role).rules().values().to_vec();
        all.push(rule.value());
        role.set(&["rules"], all.into());
    }
    roles
}

/// Returns the default ClusterRoleBindings of a server with these features.
pub(super) fn cluster_role_bindings(features: &[Feature]) -> Vec<Object> {
    let mut bindings = bootstrap_objects::<ClusterRoleBindings>();
    bindings.retain(|binding| withheld::exists(binding.name(), features));
    bindings.extend(enabled(features).map(|role| {
        let mut binding = named::<ClusterRoleBindings>(role.name);
        binding.set(&["roleRef"], json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": role.name }));
        binding.set(&["subjects"], json!([role.subject()]));
        binding
    }));
    bindings
}

fn enabled(features: &[Feature]) -> impl Iterator<Item = &'static GatedRole> {
    ROLES.iter().filter(|role| features.contains(&role.feature))
}

/// Returns an object with the metadata of all default roles and bindings.
fn named<R: Resource>(name: &str) -> Object {
    let mut object = Object::default();
    object.set_type(&R::TYPE.kind.group_version().api_version(), R::TYPE.kind.kind);
    let metadata = json!({
        "name": name,
        "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
        "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
    });
    object.set(&["metadata"], metadata);
    object
}

// === impl GatedRule ===

impl GatedRule {
    fn value(&self) -> Value {
        let Self { verbs, groups, resources, names, .. } = self;
        if names.is_empty() {
            return json!({ "verbs": verbs, "apiGroups": groups, "resources": resources });
        }
        json!({ "verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names })
    }
}

// === impl GatedRole ===

impl GatedRole {
    fn subject(&self) -> Value {
        let account = self.name.rsplit(':').next().unwrap_or_default();
        match self.holder {
            Holder::Controller => {
                json!({ "kind": "ServiceAccount", "name": account, "namespace": "kube-system" })
            }
            Holder::ServiceAccounts => {
                json!({ "apiGroup": RBAC, "kind": "Group", "name": "system:serviceaccounts" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_role() {
        let all = cluster_roles(Feature::ALL);
        for rule in rules() {
            let role = all.iter().find(|role| role.name() == rule.role);
            let rules = role.and_then(|role| role.get(&["rules"])).and_then(Value::as_array);
            assert!(rules.is_some_and(|rules| rules.contains(&rule.value())), "{}", rule.role);
        }
        let default: Vec<Feature> =
            Feature::ALL.iter().copied().filter(|feature| feature.is_enabled_by_default()).collect();
        assert_eq!(cluster_roles(&default), bootstrap_objects::<ClusterRoles>());
        assert_eq!(cluster_role_bindings(&default), bootstrap_objects::<ClusterRoleBindings>());
    }
}
