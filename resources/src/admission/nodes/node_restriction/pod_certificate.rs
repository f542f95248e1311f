//! Requests of certificates for pods: for pods that run on the node, with their accounts.

use registry_core::admission::Operation;
use registry_core::api::{Object, Reason, StatusError};
use resource_views::certificates::v1beta1::PodCertificateRequest;
use resource_views::core::v1::Pod;

use super::pod::node_of;
use super::{NodeRestriction, Write};
use crate::api::core::pod_spec::validation::annotations::is_mirror;
use crate::support::lookup::Lookup;

impl NodeRestriction {
    /// Checks the request of a certificate for a pod. What can be due to a state that is not known here yet is an error that
    /// can be retried, and no refusal.
    pub(super) async fn check_pod_certificate(&self, write: &Write<'_>) -> Result<(), StatusError> {
        let Some(accounts) = &self.accounts_of_pod_certificates else {
            return Err(write.refused("PodCertificateRequest feature gate is disabled"));
        };
        let request = match (write.attributes.operation, write.attributes.subresource, write.object) {
            (Operation::Create, "", Some(request)) => request,
            (Operation::Create, subresource, _) => {
                return Err(write.refused(format!("unexpected subresource {subresource}")));
            }
            (operation, ..) => {
                return Err(write.refused(format!("unexpected operation {}", operation.as_str())));
            }
        };
        let spec = PodCertificateRequest(request).spec();
        let node_name = spec.node_name().text();
        if node_name != write.node {
            return Err(write.refused(format!(
                "PodCertificateRequest.Spec.NodeName={node_name:?}, which is not the requesting node {:?}",
                write.node
            )));
        }
        let node = present(&self.nodes, "", "node", node_name).await?;
        let pod_name = format!("{}/{}", write.context.namespace, spec.pod_name().text());
        let node_uid = spec.node_uid().text();
        if node.uid() != node_uid {
            return Err(retryable(format!(
                "PodCertificateRequest for pod {pod_name:?} names node UID {node_uid:?}, inconsistent with the running node \
                 ({:?})",
                node.uid()
            )));
        }
        self.check_certified_pod(write, request, &pod_name).await?;
        check_account(accounts, write, request, &pod_name).await
    }

    /// Checks the pod that a request names.
    async fn check_certified_pod(
        &self,
        write: &Write<'_>,
        request: &Object,
        pod_name: &str,
    ) -> Result<(), StatusError> {
        let spec = PodCertificateRequest(request).spec();
        let pod = present(&self.pods, &write.context.namespace, "pod", spec.pod_name().text()).await?;
        let pod_uid = spec.pod_uid().text();
        if pod.uid() != pod_uid {
            return Err(retryable(format!(
                "PodCertificateRequest for pod {pod_name:?} contains pod UID ({pod_uid:?}) which differs from running pod \
                 {:?}",
                pod.uid()
            )));
        }
        if node_of(&pod) != write.node {
            return Err(write.refused(format!(
                "pod {pod_name:?} is not running on node {:?} named in the PodCertificateRequest",
                write.node
            )));
        }
        if is_mirror(&pod) {
            return Err(write.refused(format!("pod {pod_name:?} is a mirror pod")));
        }
        let account = spec.service_account_name().text();
        let own = Pod(&pod).spec().service_account_name().text();
        if account == own {
            return Ok(());
        }
        Err(write.refused(format!(
            "PodCertificateRequest for pod {pod_name:?} contains serviceAccountName ({account:?}) that differs from running \
             pod ({own:?})"
        )))
    }
}

/// Checks the service account that a request names.
async fn check_account(
    accounts: &Lookup,
    write: &Write<'_>,
    request: &Object,
    pod_name: &str,
) -> Result<(), StatusError> {
    let spec = PodCertificateRequest(request).spec();
    let namespace = &write.context.namespace;
    let account = present(accounts, namespace, "service account", spec.service_account_name().text()).await?;
    let uid = spec.service_account_uid().text();
    if account.uid() == uid {
        return Ok(());
    }
    Err(retryable(format!(
        "PodCertificateRequest for pod {pod_name:?} names service account UID {uid:?}, which differs from the running service \
         account ({:?})",
        account.uid()
    )))
}

/// Returns an object that a request names, which has to exist.
async fn present(lookup: &Lookup, namespace: &str, what: &str, name: &str) -> Result<Object, StatusError> {
    let found = lookup.get(namespace, name).await?;
    found.ok_or_else(|| {
        let shown = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let resource = what.replace(' ', "");
        retryable(format!(
            "while retrieving {what} {shown:?} named in the PodCertificateRequest: {resource} {name:?} not found"
        ))
    })
}

/// Returns a 500 without a reason, as for an error that is not a status.
fn retryable(message: String) -> StatusError {
    StatusError::new(Reason::Unknown, message)
}
