//! The devices that resource claims request, by their classes, and by the extended resources that stand for the classes.
//!
//! Kubernetes concept: `NewResourceClaimEvaluator` in `pkg/quota/v1/evaluator/core`.

use std::collections::BTreeMap;

use registry_core::api::{GroupResource, Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::schema::Quantity;
use resource_views::alike::AnyDeviceRequest;
use resource_views::core::v1::Pod;
use resource_views::resource::v1::{DeviceClass, ResourceClaim};

use super::pods::{self, CLASS_PREFIX};
use crate::api::core::pod_spec::totals::Amounts;
use crate::api::core::pods::Pods;
use crate::api::resource::deviceclasses::DeviceClasses;
use crate::api::resource::resourceclaims::ResourceClaims;
use crate::support::lookup::Lookup;

pub(super) const CLAIMS: GroupResource =
    GroupResource { group: "resource.k8s.io", resource: "resourceclaims" };
/// Follows the name of a class in a quota.
const PER_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// Marks a claim that the scheduler made for a pod's extended resources.
const FOR_POD: &str = "resource.kubernetes.io/extended-resource-claim";
/// Maximum number of devices of a claim. A request for all devices counts as this number.
const ALL_DEVICES: u64 = 32;

/// Reads the objects that the usage of a claim depends on.
pub(super) struct DeviceLookup {
    classes: Lookup,
    pods: Lookup,
    claims: Lookup,
}

/// The data that the usage of one claim depends on.
#[derive(Default)]
pub(super) struct Devices {
    /// The extended resources of the classes that have one.
    extended: BTreeMap<String, String>,
    /// The usage of the claim's pod, which is already counted.
    pub(super) of_pod: Amounts,
}

// === impl DeviceLookup ===

impl DeviceLookup {
    /// Creates the look-up over the installed resources; `None` if claims of devices are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self {
            classes: Lookup::for_resource::<DeviceClasses>(installed)?,
            pods: Lookup::for_resource::<Pods>(installed)?,
            claims: Lookup::for_resource::<ResourceClaims>(installed)?,
        })
    }

    /// Returns the data that the usage of claims without a pod depends on.
    pub(super) async fn read(&self) -> Result<Devices, StatusError> {
        let mut extended = BTreeMap::new();
        for class in self.classes.all().await? {
            if let Some(resource) = DeviceClass(&class).spec().extended_resource_name().optional_text() {
                extended.insert(class.name().to_owned(), resource.to_owned());
            }
        }
        Ok(Devices { extended, of_pod: Amounts::new() })
    }

    /// Returns the usage of a claim's pod.
    pub(super) async fn pod_usage(&self, namespace: &str, claim: &Object) -> Result<Amounts, StatusError> {
        let pod = self.pod_of(namespace, claim).await?;
        Ok(pod.map(|pod| pods::usage(&pod)).unwrap_or_default())
    }

    /// Returns the pod for whose extended resources a claim was made. The marks of the claim are checked against the pod.
    async fn pod_of(&self, namespace: &str, claim: &Object) -> Result<Option<Object>, StatusError> {
        let Some((uid, name)) = pod_owner(claim) else { return Ok(None) };
        let Some(pod) = self.pods.get(namespace, name).await?.filter(|pod| pod.uid() == uid) else {
            return Ok(None);
        };
        let status = Pod(&pod).status();
        let known = status.extended_resource_claim_status().resource_claim_name().optional_text();
        if let Some(known) = known {
            return Ok((known == claim.name()).then_some(pod));
        }
        // Of several, only the first.
        let order = |claim: &Object| {
            let created = ResourceClaim(claim)
                .metadata()
                .creation_timestamp()
                .optional_text()
                .unwrap_or("9")
                .to_owned();
            (created, claim.name().to_owned())
        };
        let claims = self.claims.all_in(namespace).await?;
        let mut others =
            claims.iter().filter(|other| pod_owner(other).is_some_and(|(owner, _)| owner == uid));
        Ok((!others.any(|other| order(other) < order(claim))).then_some(pod))
    }
}

/// Returns the uid and the name of the pod that a marked claim belongs to.
fn pod_owner(claim: &Object) -> Option<(&str, &str)> {
    if claim.annotation(FOR_POD) != Some("true") {
        return None;
    }
    let metadata = ResourceClaim(claim).metadata();
    let owners = metadata.owner_references();
    let owner = owners.elements().find(|owner| owner.controller().is_true())?;
    let is_pod = owner.kind().text() == "Pod" && owner.api_version().text() == "v1";
    let (uid, name) = (owner.uid().optional_text()?, owner.name().optional_text()?);
    is_pod.then_some((uid, name))
}

// === impl Devices ===

impl Devices {
    /// Whether a name in a quota is about devices.
    pub(super) fn counts(&self, name: &str) -> bool {
        if name.ends_with(PER_CLASS) {
            return true;
        }
        let Some(resource) = name.strip_prefix("requests.") else { return false };
        match resource.strip_prefix(CLASS_PREFIX) {
            Some(class) => self.extended.contains_key(class),
            None => pods::is_extended(name) && self.extended.values().any(|extended| extended == resource),
        }
    }

    /// Returns the usage of a claim beside its count.
    pub(super) fn claim_usage(&self, claim: &Object) -> Amounts {
        let mut by_class: BTreeMap<&str, u64> = BTreeMap::new();
        let spec = ResourceClaim(claim).spec();
        for request in spec.devices().requests().elements() {
            // Only one of the alternatives is allocated: the most that it may be.
            let mut most: BTreeMap<&str, u64> = BTreeMap::new();
            for alternative in request.first_available().elements() {
                if let Some((class, count)) = requested(&alternative.into()) {
                    let known = most.entry(class).or_default();
                    *known = count.max(*known);
                }
            }
            if request.first_available().is_empty() {
                most.extend(requested(&request.exactly().into()));
            }
            for (class, count) in most {
                add(&mut by_class, class, count);
            }
        }
        self.named(&by_class)
    }

    /// Returns numbers of devices under all the names that quotas may use for them.
    fn named(&self, by_class: &BTreeMap<&str, u64>) -> Amounts {
        let mut usage = Amounts::new();
        for (class, count) in by_class {
            let amount = Quantity::whole(*count);
            let extended = self.extended.get(*class).map(|resource| format!("requests.{resource}"));
            for name in [Some(format!("requests.{CLASS_PREFIX}{class}")), extended].into_iter().flatten() {
                // The requests of the pod are counted for the pod.
                let counted = self.of_pod.get(&name);
                let rest = counted.map_or_else(|| amount.clone(), |counted| amount.minus(counted));
                if rest.is_positive() {
                    usage.insert(name, rest);
                }
            }
            usage.insert(format!("{class}{PER_CLASS}"), amount);
        }
        usage
    }
}

fn add<'c>(to: &mut BTreeMap<&'c str, u64>, class: &'c str, count: u64) {
    let known = to.entry(class).or_default();
    *known = known.saturating_add(count);
}

/// Returns the class and the number of devices of a request.
fn requested<'v>(request: &AnyDeviceRequest<'v, '_>) -> Option<(&'v str, u64)> {
    let class = request.device_class_name().optional_text()?;
    let count = match request.allocation_mode().text() {
        "All" => ALL_DEVICES,
        "ExactCount" => u64::try_from(request.count().number()).unwrap_or(0),
        _ => 0,
    };
    Some((class, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn devices_are_counted_by_class() {
        let exactly = |class: &str, mode: &str, count: u64| json!({"deviceClassName": class, "allocationMode": mode, "count": count});
        let claim = Object::from_value(json!({"spec": {"devices": {"requests": [
            {"exactly": exactly("gpu", "ExactCount", 2)},
            {"exactly": exactly("gpu", "ExactCount", 1)},
            {"firstAvailable": [exactly("gpu", "ExactCount", 1), exactly("fpga", "All", 0), exactly("fpga", "ExactCount", 1)]},
        ]}}}))
        .unwrap();
        let extended = BTreeMap::from([("gpu".to_owned(), "example.com/gpu".to_owned())]);
        let of_pod = Amounts::from([("requests.example.com/gpu".to_owned(), Quantity::whole(1))]);
        let devices = Devices { extended, of_pod };
        let usage = devices.claim_usage(&claim);
        let shown: Vec<String> = usage.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        assert_eq!(
            shown,
            [
                "fpga.deviceclass.resource.k8s.io/devices=32",
                "gpu.deviceclass.resource.k8s.io/devices=4",
                "requests.deviceclass.resource.kubernetes.io/fpga=32",
                "requests.deviceclass.resource.kubernetes.io/gpu=4",
                "requests.example.com/gpu=3",
            ]
        );
        for (name, counts) in [
            ("gpu.deviceclass.resource.k8s.io/devices", true),
            ("requests.deviceclass.resource.kubernetes.io/gpu", true),
            ("requests.deviceclass.resource.kubernetes.io/fpga", false),
            ("requests.example.com/gpu", true),
            ("requests.example.com/fpga", false),
            ("requests.cpu", false),
        ] {
            assert_eq!(devices.counts(name), counts, "{name}");
        }
    }
}
