//! `DenyServiceExternalIPs`: refuses services that take over traffic to addresses outside of the cluster. Addresses that a
//! service has already may stay, or be removed.

use std::collections::HashSet;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use resource_views::core::v1::Service;

use crate::admission::concerns;
use crate::admission::refusal::forbidden;
use crate::api::core::services::Services;

/// The plug-in.
pub(super) struct ExternalAddresses;

#[async_trait]
impl ValidatingAdmission for ExternalAddresses {
    async fn validate(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(new) = object else { return Ok(()) };
        if !concerns::<Services>(attributes, &[Operation::Create, Operation::Update]) {
            return Ok(());
        }
        let addresses = |service| Service(service).spec().external_ips().texts();
        let present: HashSet<&str> = old.into_iter().flat_map(addresses).collect();
        if addresses(new).all(|address| present.contains(address)) {
            return Ok(());
        }
        Err(forbidden(attributes, object, "Use of external IPs is denied by admission control"))
    }
}
