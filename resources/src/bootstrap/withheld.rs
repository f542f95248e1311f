//! The default roles and rules that belong to features which are enabled in the newest release: servers without such a
//! feature, because they emulate an earlier release, do not have them.
//!
//! Kubernetes concept: the conditions on feature gates in `bootstrappolicy`.

use registry_core::api::Object;
use registry_core::features::Feature;
use resource_views::rbac::v1::PolicyRule;
use resource_views::{List, Text, Typed as _};
use serde_json::Value;

const CLAIM_CONTROLLER: &str = "system:controller:resource-claim-controller";
const DEVICES: &str = "resource.k8s.io";
const SCHEDULER: &str = "system:kube-scheduler";

/// The roles that do not exist without a feature.
const ROLES: [(Feature, &str); 4] = [
    (Feature::DRADeviceTaints, "system:controller:device-taint-eviction-controller"),
    (Feature::DynamicResourceAllocation, CLAIM_CONTROLLER),
    (Feature::MultiCIDRServiceAllocator, "system:controller:service-cidrs-controller"),
    (Feature::VolumeAttributesClass, "system:controller:volumeattributesclass-protection-controller"),
];

/// The rules about a resource of a group that a role does not have without a feature.
struct WithheldRule {
    feature: Feature,
    role: &'static str,
    group: &'static str,
    /// Empty: any.
    resource: &'static str,
    verb: &'static str,
}

const RULES: [WithheldRule; 10] = [
    rule(Feature::DynamicResourceAllocation, "system:aggregate-to-edit", DEVICES, "", "create"),
    rule(Feature::DynamicResourceAllocation, "system:aggregate-to-view", DEVICES, "", "get"),
    rule(Feature::DynamicResourceAllocation, "system:node", DEVICES, "resourceclaims", "get"),
    rule(Feature::DynamicResourceAllocation, "system:node", DEVICES, "resourceslices", "deletecollection"),
    rule(Feature::DynamicResourceAllocation, SCHEDULER, DEVICES, "", "watch"),
    rule(Feature::DRAExtendedResource, SCHEDULER, DEVICES, "resourceclaims", "create"),
    rule(
        Feature::DRAResourceClaimGranularStatusAuthorization,
        SCHEDULER,
        DEVICES,
        "resourceclaims/binding",
        "patch",
    ),
    rule(
        Feature::DRAResourceClaimGranularStatusAuthorization,
        CLAIM_CONTROLLER,
        DEVICES,
        "resourceclaims/binding",
        "patch",
    ),
    rule(
        Feature::KubeletServiceAccountTokenForCredentialProviders,
        "system:node",
        "",
        "serviceaccounts",
        "get",
    ),
    rule(
        Feature::MultiCIDRServiceAllocator,
        "system:node-proxier",
        "networking.k8s.io",
        "servicecidrs",
        "list",
    ),
];

/// The paths that the role `system:monitoring` does not have without a feature.
const MONITORED: [(Feature, &str); 2] =
    [(Feature::ComponentFlagz, "/flagz"), (Feature::ComponentStatusz, "/statusz")];

const fn rule(
    feature: Feature,
    role: &'static str,
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
) -> WithheldRule {
    WithheldRule { feature, role, group, resource, verb }
}

/// Returns whether a role, or the binding of its name, exists on a server with these features.
pub(super) fn exists(name: &str, features: &[Feature]) -> bool {
    ROLES.iter().all(|(feature, role)| *role != name || features.contains(feature))
}

/// Removes the rules that a role does not have on a server with these features.
pub(super) fn withhold(role: &mut Object, features: &[Feature]) {
    let name = role.name().to_owned();
    let withheld = |rule: &WithheldRule| rule.role == name && !features.contains(&rule.feature);
    let withheld: Vec<&WithheldRule> = RULES.iter().filter(|rule| withheld(rule)).collect();
    let is_monitoring = name == "system:monitoring";
    if withheld.is_empty() && !is_monitoring {
        return;
    }
    let Some(mut rules) = role.get(&["rules"]).and_then(Value::as_array).cloned() else { return };
    rules.retain(|present| !withheld.iter().any(|rule| rule.covers(present)));
    for paths in rules.iter_mut().filter_map(|rule| rule.get_mut("nonResourceURLs")?.as_array_mut()) {
        let is_hidden = |path: &Value| {
            MONITORED.iter().any(|(feature, hidden)| *path == **hidden && !features.contains(feature))
        };
        paths.retain(|path| !is_monitoring || !is_hidden(path));
    }
    role.set(&["rules"], rules.into());
}

// === impl WithheldRule ===

impl WithheldRule {
    fn covers(&self, rule: &Value) -> bool {
        let rule = PolicyRule::from_value(rule);
        let has = |words: List<Text<'_, '_>>, word: &str| words.texts().any(|found| found == word);
        has(rule.api_groups(), self.group)
            && (self.resource.is_empty() || has(rule.resources(), self.resource))
            && has(rule.verbs(), self.verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::rbac::clusterroles::ClusterRoles;
    use crate::support::bootstrap_objects::bootstrap_objects;

    #[test]
    fn everything_that_is_withheld_is_there_with_the_feature() {
        let all = bootstrap_objects::<ClusterRoles>();
        let named = |name: &str| all.iter().find(|role| role.name() == name).expect("a role");
        for (_, role) in ROLES {
            assert_eq!(named(role).name(), role);
        }
        for rule in RULES {
            let mut role = named(rule.role).clone();
            let rules = role.get(&["rules"]).and_then(Value::as_array).expect("rules");
            assert!(rules.iter().any(|present| rule.covers(present)), "{}", rule.role);
            withhold(&mut role, &[]);
            let rules = role.get(&["rules"]).and_then(Value::as_array).expect("rules");
            assert!(!rules.iter().any(|present| rule.covers(present)), "{}", rule.role);
        }
        let mut monitoring = named("system:monitoring").clone();
        withhold(&mut monitoring, &[Feature::ComponentStatusz]);
        let text = monitoring.get(&["rules"]).expect("rules").to_string();
        assert!(text.contains("/statusz") && !text.contains("/flagz") && text.contains("/metrics"), "{text}");
        let mut whole = named("system:monitoring").clone();
        withhold(&mut whole, Feature::ALL);
        assert_eq!(&whole, named("system:monitoring"));
    }
}
