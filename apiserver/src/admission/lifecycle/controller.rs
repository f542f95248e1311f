//! Detects whether a namespace controller is running.
//!
//! A namespace stays `Terminating` until a namespace controller has removed its contents: one that runs in this server, or in
//! kube-controller-manager. Without it `kubectl delete namespace` waits for ever, so kubectl gets a
//! warning that says what is missing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use registry_core::RequestContext;
use registry_core::api::{GetOptions, GroupResource, time};
use registry_core::registry::InstalledApi;
use registry_core::rest::{Answer, Getter};
use serde_json::Value;

const LEASES: GroupResource = GroupResource { group: "coordination.k8s.io", resource: "leases" };
const LEASE_NAMESPACE: &str = "kube-system";
const LEASE_NAME: &str = "kube-controller-manager";

/// The warning that kubectl prints.
const MISSING: &str = "no namespace controller is running (the lease kube-system/kube-controller-manager is not held): the \
                       namespace stays Terminating until one removes its content; start kube-controller-manager, run one in \
                       the server (--controllers=namespace-controller), or do not wait (--wait=false)";

/// Detects kube-controller-manager by its leader election lease.
pub(super) struct NamespaceController {
    leases: Arc<dyn Getter>,
    context: RequestContext,
}

// === impl NamespaceController ===

impl NamespaceController {
    /// Returns the check over the installed `leases`, or `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let is_leases = |group_resource: GroupResource| group_resource == LEASES;
        let path = installed
            .paths
            .iter()
            .find(|path| path.subresource.is_none() && is_leases(path.resource.group_resource()))?;
        Some(Self {
            leases: path.capabilities.getter.clone()?,
            context: RequestContext::system(LEASE_NAMESPACE),
        })
    }

    /// Warns the client if it is kubectl, whose user waits, and no controller is found. Other clients are not
    /// warned.
    pub(super) async fn warn_if_missing(&self, client: &RequestContext) {
        if client.user_agent.starts_with("kubectl") && !self.is_running().await {
            client.warn(MISSING);
        }
    }

    async fn is_running(&self) -> bool {
        let cached = GetOptions { resource_version: Some(0) };
        match self.leases.get(&self.context, LEASE_NAME, &cached).await {
            Ok(Answer::Stored(entry)) => {
                serde_json::from_slice::<Value>(entry.json()).is_ok_and(|lease| is_held(&lease))
            }
            Ok(Answer::Object(lease)) => is_held(&lease.into_value()),
            Ok(Answer::Success(_)) => false,
            // Only a lease that is known to be missing is evidence.
            Err(failure) => !failure.is_not_found(),
        }
    }
}

/// Whether the lease has a holder who renewed it within its duration.
fn is_held(lease: &Value) -> bool {
    held_until(lease).is_some_and(|until| Timestamp::now() <= until)
}

/// Returns the time until which a lease is held unless it is renewed; `None` if it has no holder.
pub(crate) fn held_until(lease: &Value) -> Option<Timestamp> {
    let spec = lease.get("spec")?;
    let text = |field: &str| spec.get(field).and_then(Value::as_str);
    text("holderIdentity").filter(|holder| !holder.is_empty())?;
    let renewed = text("renewTime").and_then(time::parse)?;
    let duration_seconds = spec.get("leaseDurationSeconds").and_then(Value::as_i64)?;
    renewed.checked_add(SignedDuration::from_secs(duration_seconds)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease(spec: &Value) -> Value {
        json!({"spec": spec})
    }

    #[test]
    fn a_lease_is_held_while_its_holder_renews_it() {
        let now = time::format_microseconds(Timestamp::now());
        let long_ago = "2020-01-01T00:00:00.000000Z";
        let with = |holder: &str, renewed: &str| {
            lease(&json!({"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}))
        };
        assert!(is_held(&with("manager-1", &now)));
        assert!(!is_held(&with("manager-1", long_ago)), "its holder is gone");
        assert!(!is_held(&with("", &now)), "its holder gave it up");
        assert!(!is_held(&lease(&json!({}))));
    }
}
