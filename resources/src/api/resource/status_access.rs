//! Permissions on the parts of a claim's status: `resourceclaims/binding` for the allocation and its users, and
//! `resourceclaims/driver` for the devices of each driver.

use std::collections::{BTreeSet, HashMap};

use registry_core::RequestContext;
use registry_core::api::go_text::quote;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath, names};
use registry_core::api::{GroupResource, Object, StatusError};
use registry_core::context::ServiceAccountName;
use registry_core::rest::access::{AccessReviewer, ResourceAccess, WantedAccess};
use resource_views::resource::v1::{AllocationResult, ResourceClaim, ResourceClaimStatus};
use serde_json::Value;

use super::allocation::DeviceId;
use crate::support::semantic;

const GROUP: &str = "resource.k8s.io";
const RESOURCE: &str = "resourceclaims";
/// The attribute of a service account's user that names the node of its pod.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// Checks that the user may make a change of a claim's status.
pub(super) async fn check(
    access: &dyn AccessReviewer,
    context: &RequestContext,
    new: &Object,
    old: &Object,
) -> ErrorList {
    let mut errors = ErrorList::default();
    let (status, before) = (ResourceClaim(new).status(), ResourceClaim(old).status());
    if semantic::differ(&status.allocation(), &before.allocation())
        || semantic::differ(&status.reserved_for(), &before.reserved_for())
    {
        let wanted = wanted(context.verb, "binding", "", "");
        if let Err(why) = decide(access, context, &wanted).await {
            let detail = format!(
                "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
                 verb=\"{}\" permission: {why}",
                context.verb
            );
            errors.push(FieldError::forbidden(FieldPath::new("status").child("allocation"), detail));
        }
    }
    if status.allocation().exists() {
        check_drivers(access, context, &status, &before, &mut errors).await;
    }
    errors
}

/// Checks the permission on each driver whose devices change.
async fn check_drivers(
    access: &dyn AccessReviewer,
    context: &RequestContext,
    status: &ResourceClaimStatus<'_, '_>,
    before: &ResourceClaimStatus<'_, '_>,
    errors: &mut ErrorList,
) {
    let drivers = changed_drivers(status, before);
    if drivers.is_empty() {
        return;
    }
    let mut verbs = vec![format!("arbitrary-node:{}", context.verb)];
    if is_on_node(context, &status.allocation()) {
        verbs.insert(0, format!("associated-node:{}", context.verb));
    }
    for driver in drivers {
        let Err(why) = decide_any(access, context, &verbs, driver).await else { continue };
        let detail = format!(
            "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {why}",
            verbs.join(" ")
        );
        errors.push(FieldError::forbidden(FieldPath::new("status").child("devices"), detail));
    }
}

/// Returns the drivers of the devices that are added, changed or removed.
fn changed_drivers<'v>(
    status: &ResourceClaimStatus<'v, '_>,
    before: &ResourceClaimStatus<'v, '_>,
) -> BTreeSet<&'v str> {
    let mut drivers = BTreeSet::new();
    let (devices, devices_before) = (status.devices(), before.devices());
    let mut remaining: HashMap<DeviceId<'v>, Option<&Value>> =
        devices_before.elements().map(|device| (DeviceId::new(device), device.value())).collect();
    for device in devices.elements() {
        let known = remaining.remove(&DeviceId::new(device));
        if known.is_none_or(|known| !semantic::equal(known, device.value())) {
            drivers.insert(device.driver().text());
        }
    }
    drivers.extend(remaining.keys().map(|device| device.driver));
    drivers
}

/// Whether the user is a service account that runs on the only node that an allocation is for.
fn is_on_node(context: &RequestContext, allocation: &AllocationResult<'_, '_>) -> bool {
    let Some(node) = only_node(allocation) else { return false };
    let is_account = ServiceAccountName::from_user(&context.user.name).is_some();
    let extra = context.user.extra.iter().find(|(key, _)| key == NODE_NAME);
    let own = extra.map(|(_, values)| values.as_slice());
    is_account && names::dns_subdomain(node).is_empty() && own == Some(&[node.to_owned()][..])
}

/// Returns the node of an allocation that selects exactly one by its name.
fn only_node<'v>(allocation: &AllocationResult<'v, '_>) -> Option<&'v str> {
    let selector = allocation.node_selector();
    let terms = selector.node_selector_terms();
    let term = terms.only_element()?;
    let fields = term.match_fields();
    let field = fields.only_element().filter(|_| term.match_expressions().is_empty())?;
    let is_by_name = field.key().text() == "metadata.name" && field.operator().text() == "In";
    let node = field.values().only_element()?.optional_text();
    node.filter(|_| is_by_name)
}

fn wanted(verb: &str, subresource: &str, namespace: &str, name: &str) -> ResourceAccess {
    ResourceAccess {
        verb: verb.to_owned(),
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        resource: RESOURCE.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ResourceAccess::default()
    }
}

/// Checks that the user has one of these verbs on a driver. The error is the error of the first verb.
async fn decide_any(
    access: &dyn AccessReviewer,
    context: &RequestContext,
    verbs: &[String],
    driver: &str,
) -> Result<(), StatusError> {
    let mut refusal = None;
    for verb in verbs {
        let wanted = wanted(verb, "driver", &context.namespace, driver);
        match decide(access, context, &wanted).await {
            Ok(()) => return Ok(()),
            Err(why) => refusal = refusal.or(Some(why)),
        }
    }
    refusal.map_or(Ok(()), Err)
}

/// Asks the authorizer.
///
/// # Errors
/// The message of a forbidden request.
async fn decide(
    access: &dyn AccessReviewer,
    context: &RequestContext,
    wanted: &ResourceAccess,
) -> Result<(), StatusError> {
    let decision = access.decide(&context.user, &WantedAccess::Resource(wanted.clone())).await;
    if decision.allowed {
        return Ok(());
    }
    let scope = match wanted.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", quote(namespace)),
    };
    let mut why = format!(
        "User {} cannot {} resource \"{RESOURCE}/{}\" in API group {GROUP:?} {scope}",
        quote(&context.user.name),
        wanted.verb,
        wanted.subresource
    );
    for more in [&decision.error, &decision.reason].into_iter().filter(|text| !text.is_empty()) {
        why.push_str(": ");
        why.push_str(more);
    }
    let resource = GroupResource { group: GROUP, resource: RESOURCE };
    Err(StatusError::forbidden(resource, &wanted.name, why))
}
