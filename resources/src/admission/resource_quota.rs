//! `ResourceQuota`: keeps the usage of a namespace within its quotas.
//!
//! A write is checked against each quota that counts it, and charged to it in one conditional update: two concurrent
//! writes cannot both take the last unit of a resource. The quota controller returns the usage of deleted objects when it
//! counts again.
//!
//! | module | contents |
//! |---|---|
//! | `total` | the usage of a namespace, counted anew for the quota controller |
//! | `history` | the usage that a count gives back |
//! | `request` | a write, and the decisions of the quotas of its namespace |
//! | `scope` | the scopes of quotas |
//! | `usage` | the usage of an object of any resource |
//! | `devices` | the usage of resource claims |
//! | `pods` | the usage of pods |
//! | `settings` | the configuration of the plug-in |

mod devices;
mod history;
mod pods;
mod request;
mod scope;
pub(super) mod settings;
mod total;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, ValidatingAdmission};
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, Reason, StatusError, UpdateOptions};
use registry_core::registry::store::UpdateRules;
use registry_core::registry::{InstalledApi, Store};
use registry_core::resource::{Resource, ResourceType};
use registry_core::rest::{AdmitAll, UpdatedObject};
use serde_json::Value;

use crate::api::core::pod_spec::totals::{self, Amounts};
use crate::api::core::resourcequotas::ResourceQuotas;
use crate::support::lookup::{Decoded, Lookup};
use devices::{DeviceLookup, Devices};
pub use history::QuotaHistory;
use request::Request;
pub(crate) use settings::LimitedResource;
pub use total::{QuotaTotals, QuotaUsage};

const HARD: [&str; 2] = ["status", "hard"];
const USED: [&str; 2] = ["status", "used"];

/// The plug-in.
pub(super) struct ResourceQuota {
    quotas: Decoded<Quota>,
    store: Arc<Store>,
    devices: Option<DeviceLookup>,
    /// The resources that nobody may use without a quota.
    limited: Vec<LimitedResource>,
}

declare! { ResourceQuota: "ResourceQuota", informed by quotas }

/// The parts of a quota that are checked.
struct Quota {
    name: String,
    /// Only objects that match all of these are counted.
    scopes: Vec<Value>,
    hard: Amounts,
    used: Amounts,
}

impl ResourceQuota {
    /// Creates the plug-in over the installed quotas; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi, limited: Vec<LimitedResource>) -> Option<Self> {
        let store = installed.store(ResourceQuotas::TYPE)?;
        let quotas = Lookup::for_resource::<ResourceQuotas>(installed)?;
        let devices = DeviceLookup::new(installed);
        Some(Self {
            quotas: Decoded::new(quotas, |quota| Quota::from_object(&quota)),
            store,
            devices,
            limited,
        })
    }

    async fn charge(&self, namespace: &str, name: &str, request: &Request<'_>) -> Result<(), StatusError> {
        let context = RequestContext::system(namespace);
        let options = UpdateOptions::default();
        let mut charge = Charge { request };
        match self
            .store
            .with_rules(&UsageRules)
            .update(&context, name, &mut charge, &AdmitAll, &options)
            .await
        {
            // The quota was deleted in between: it no longer limits the write.
            Err(failure) if failure.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

#[async_trait]
impl ValidatingAdmission for ResourceQuota {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(new) = write.object else { return Ok(()) };
        if context.namespace.is_empty() || !request::is_counted(write.attributes, new, write.old) {
            return Ok(());
        }
        let quotas = self.quotas.all_in(&context.namespace).await?;
        if quotas.is_empty() && self.limited.is_empty() {
            return Ok(());
        }
        let is_of_devices = write.attributes.resource.group_resource() == devices::CLAIMS;
        let mut devices = Devices::default();
        if let Some(lookup) = self.devices.as_ref().filter(|_| is_of_devices) {
            devices = lookup.read().await?;
            devices.of_pod = lookup.pod_usage(&context.namespace, new).await?;
        }
        let request = Request::new(write.attributes, new, write.old, &devices);
        // All quotas are checked before any is charged.
        let to_charge = request.check(quotas.iter().map(|quota| &**quota), &self.limited)?;
        if !write.attributes.dry_run.is_on() {
            for quota in to_charge {
                self.charge(&context.namespace, &quota.name, &request).await?;
            }
        }
        Ok(())
    }
}

// === impl Quota ===

impl Quota {
    fn from_object(quota: &Object) -> Self {
        Self {
            name: quota.name().to_owned(),
            scopes: scope::scopes(quota),
            hard: totals::read(quota.get(&HARD)),
            used: totals::read(quota.get(&USED)),
        }
    }
}

/// Writes the usage of a quota.
struct Charge<'a> {
    request: &'a Request<'a>,
}

#[async_trait]
impl UpdatedObject for Charge<'_> {
    async fn updated_object(
        &mut self,
        _context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let Some(quota) = current else {
            return Err(StatusError::new(Reason::NotFound, "the quota is gone"));
        };
        let mut charged = quota.clone();
        for (resource, amount) in self.request.charged(&Quota::from_object(quota))? {
            charged.set(&["status", "used", &resource], Value::String(amount.to_string()));
        }
        Ok(charged)
    }
}

/// Only the usage changes.
struct UsageRules;

impl UpdateRules for UsageRules {
    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let charged = std::mem::replace(new, old.clone());
        new.copy_field(&charged, &USED);
    }

    fn validate(&self, _: &ResourceType, _: &RequestContext, _: &Object, _: &Object) -> ErrorList {
        ErrorList::default()
    }
}

#[cfg(test)]
mod tests;
