//! `DenyServiceExternalIPs`: refuses services that take over traffic to addresses outside of the cluster. Addresses that a
//! service has already may stay, or be removed.

use std::collections::HashSet;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::StatusError;
use resource_views::core::v1::Service;

use crate::admission::refusal::forbidden;
use crate::api::core::services::Services;

/// The plug-in.
pub(super) struct ExternalAddresses;

#[async_trait]
impl ValidatingAdmission for ExternalAddresses {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(new) = write.object_of::<Services>(Operation::WRITES) else { return Ok(()) };
        let addresses = |service| Service(service).spec().external_ips().texts();
        let present: HashSet<&str> = write.old.into_iter().flat_map(addresses).collect();
        if addresses(new).all(|address| present.contains(address)) {
            return Ok(());
        }
        Err(forbidden(write.attributes, write.object, "Use of external IPs is denied by admission control"))
    }
}
