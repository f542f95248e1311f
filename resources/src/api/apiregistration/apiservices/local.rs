//! APIServices of the group versions that this server serves itself.

use std::collections::HashMap;
use std::sync::OnceLock;

use registry_core::api::Object;
use resource_views::apiregistration::v1::APIService;
use serde_json::json;

use super::APIServices;
use crate::support::bootstrap_objects::bootstrap_objects;

/// The label of the APIServices that the server manages.
pub(crate) const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// The priority of groups that Kubernetes does not have: after its own.
const CUSTOM_GROUP_PRIORITY: i64 = 1000;
/// The priority of their versions: all the same, so that they are ordered by name.
const CUSTOM_VERSION_PRIORITY: i64 = 100;

/// The group of APIServices, which has none itself and comes first.
const OWN_GROUP: &str = "apiregistration.k8s.io";
const OWN_GROUP_PRIORITY: i64 = 20000;

/// The priorities of the versions that are off by default: of the group, and of the version.
const OFF_BY_DEFAULT: &[(&str, &str, i64, i64)] = &[
    ("certificates.k8s.io", "v1beta1", 17300, 9),
    ("certificates.k8s.io", "v1alpha1", 17300, 1),
    ("networking.k8s.io", "v1beta1", 17200, 9),
    ("storage.k8s.io", "v1beta1", 16800, 9),
    ("admissionregistration.k8s.io", "v1beta1", 16700, 12),
    ("admissionregistration.k8s.io", "v1alpha1", 16700, 9),
    ("scheduling.k8s.io", "v1alpha2", 16600, 2),
    ("coordination.k8s.io", "v1beta1", 16500, 13),
    ("coordination.k8s.io", "v1alpha2", 16500, 12),
    ("resource.k8s.io", "v1beta2", 16200, 15),
    ("resource.k8s.io", "v1beta1", 16200, 9),
    ("resource.k8s.io", "v1alpha3", 16200, 1),
    ("internal.apiserver.k8s.io", "v1alpha1", 16000, 9),
    ("storagemigration.k8s.io", "v1beta1", 15800, 9),
];

/// The management of an APIService by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Automanaged {
    /// The server writes the APIService when it starts. An APIService that is deleted later is restored at the next start.
    OnStart,
    /// The server keeps the APIService as long as it runs.
    Always,
}

/// The priorities of a group version. The greater priority comes first in discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// The priority of the group among groups.
    pub group: i64,
    /// The priority of the version in its group.
    pub version: i64,
}

/// The specification of a local APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalSpec {
    group: String,
    version: String,
    priorities: Priorities,
}

/// Returns the priorities of a group version that this server serves itself.
///
/// Kubernetes concept: `DefaultGenericAPIServicePriorities`, and the priorities of custom resources.
pub fn priorities(group: &str, version: &str) -> Priorities {
    static KNOWN: OnceLock<HashMap<(String, String), Priorities>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let specs = bootstrap_objects::<APIServices>().into_iter();
        let specs = specs.filter_map(|object| LocalSpec::read(&object));
        let others = OFF_BY_DEFAULT.iter().map(|&(group, version, of_group, of_version)| {
            let priorities = Priorities { group: of_group, version: of_version };
            ((group.to_owned(), version.to_owned()), priorities)
        });
        specs.map(|spec| ((spec.group, spec.version), spec.priorities)).chain(others).collect()
    });
    if group == OWN_GROUP {
        return Priorities { group: OWN_GROUP_PRIORITY, version: 0 };
    }
    let custom = Priorities { group: CUSTOM_GROUP_PRIORITY, version: CUSTOM_VERSION_PRIORITY };
    known.get(&(group.to_owned(), version.to_owned())).copied().unwrap_or(custom)
}

/// Returns how the server manages an APIService; `None` if it does not.
pub(crate) fn automanaged(object: &Object) -> Option<Automanaged> {
    match APIService(object).metadata().labels().entry(AUTOMANAGED).text() {
        "onstart" => Some(Automanaged::OnStart),
        "true" => Some(Automanaged::Always),
        _ => None,
    }
}

// === impl Automanaged ===

impl Automanaged {
    /// Returns the value of the label.
    fn label(self) -> &'static str {
        match self {
            Self::OnStart => "onstart",
            Self::Always => "true",
        }
    }
}

// === impl LocalSpec ===

impl LocalSpec {
    /// Returns the specification for a group version that Kubernetes does not have.
    pub(crate) fn for_custom_resources(group: &str, version: &str) -> Self {
        let priorities = Priorities { group: CUSTOM_GROUP_PRIORITY, version: CUSTOM_VERSION_PRIORITY };
        Self { group: group.to_owned(), version: version.to_owned(), priorities }
    }

    /// Returns the specification for a group version that this server serves by a storage map.
    pub(crate) fn for_storage_map(group: &str, version: &str) -> Self {
        // The group of APIServices comes before all others whatever its own APIService says.
        if group == OWN_GROUP {
            return Self::for_custom_resources(group, version);
        }
        Self { group: group.to_owned(), version: version.to_owned(), priorities: priorities(group, version) }
    }

    /// Reads the specification of an APIService; `None` if another server serves its group version, or if it has more than
    /// a local one can have.
    pub(crate) fn read(object: &Object) -> Option<Self> {
        let spec = APIService(object).spec();
        let is_insecure = spec.insecure_skip_tls_verify().is_true();
        if !spec.exists() || spec.service().exists() || is_insecure || !spec.ca_bundle().text().is_empty() {
            return None;
        }
        let priorities = Priorities {
            group: spec.group_priority_minimum().number(),
            version: spec.version_priority().number(),
        };
        Some(Self {
            group: spec.group().text().to_owned(),
            version: spec.version().text().to_owned(),
            priorities,
        })
    }

    /// Returns the APIService.
    pub(crate) fn object(&self, automanaged: Automanaged) -> Object {
        let Self { group, version, priorities } = self;
        let object = json!({
            "metadata": { "name": format!("{version}.{group}"), "labels": { AUTOMANAGED: automanaged.label() } },
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": priorities.group,
                "versionPriority": priorities.version,
            },
        });
        Object::from_value(object).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_versions_have_the_priorities_of_kubernetes() {
        assert_eq!(priorities("", "v1"), Priorities { group: 18000, version: 1 });
        assert_eq!(priorities("apps", "v1"), Priorities { group: 17800, version: 15 });
        assert_eq!(priorities("resource.k8s.io", "v1beta2"), Priorities { group: 16200, version: 15 });
        let custom = Priorities { group: 1000, version: 100 };
        assert_eq!(priorities("zoo.example.com", "v1"), custom);
        let object = LocalSpec::for_custom_resources("zoo.example.com", "v1").object(Automanaged::Always);
        assert_eq!(object.name(), "v1.zoo.example.com");
        assert_eq!(automanaged(&object), Some(Automanaged::Always));
        assert_eq!(LocalSpec::read(&object), Some(LocalSpec::for_custom_resources("zoo.example.com", "v1")));
    }
}
