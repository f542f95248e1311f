//! The usage of a namespace, counted anew.
//!
//! Kubernetes concept: `CalculateUsage` in `k8s.io/apiserver/pkg/quota/v1`.

use std::collections::BTreeMap;
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{ListOptions, Object, StatusError};
use registry_core::registry::{InstalledApi, Store};
use registry_core::rest::Lister as _;
use registry_core::schema::Quantity;
use resource_views::core::v1::ResourceQuota;
use serde_json::Value;

use super::devices::{self, DeviceLookup, Devices};
use super::{HARD, USED, scope, usage};
use crate::api::core::pod_spec::totals::{self, Amounts};

/// Counts what a namespace uses of what quotas limit.
pub struct QuotaUsage {
    devices: Option<DeviceLookup>,
}

/// The status that a quota should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaTotals {
    /// The limits, as the quota specifies them.
    pub hard: BTreeMap<String, String>,
    /// The usage by the same names.
    pub used: BTreeMap<String, String>,
    /// Whether the status of the quota says the same.
    pub is_said: bool,
}

// === impl QuotaUsage ===

impl QuotaUsage {
    /// Creates it over the installed resources.
    pub fn new(installed: &InstalledApi) -> Self {
        Self { devices: DeviceLookup::new(installed) }
    }

    /// Returns what a quota should say, counted in these stores. What none of them counts stays as the quota says it.
    ///
    /// # Errors
    /// Fails if objects cannot be read.
    pub async fn totals(&self, quota: &Object, stores: &[Arc<Store>]) -> Result<QuotaTotals, StatusError> {
        let hard = totals::read(ResourceQuota(quota).spec().hard().value());
        let said = totals::read(quota.get(&USED));
        let mut used = said.clone();
        used.retain(|name, _| hard.contains_key(name));
        for store in stores.iter().filter(|store| store.resource().is_namespaced()) {
            used.extend(self.count(quota, &hard, store).await?);
        }
        let is_said =
            totals::are_equal(&said, &used) && totals::are_equal(&totals::read(quota.get(&HARD)), &hard);
        let has_status = quota.get(&HARD).is_some() && quota.get(&USED).is_some();
        // The texts stay as they were written.
        let hard =
            ResourceQuota(quota).spec().hard().value().and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok(QuotaTotals {
            hard: hard.map(|(name, value)| (name.clone(), text(value))).collect(),
            used: used.into_iter().map(|(name, amount)| (name, amount.to_string())).collect(),
            is_said: is_said && has_status,
        })
    }

    /// Counts the objects of a store in the namespace of a quota, by the names in the quota that concern these objects.
    async fn count(&self, quota: &Object, hard: &Amounts, store: &Store) -> Result<Amounts, StatusError> {
        let (resource, namespace) = (store.resource().group_resource(), quota.namespace());
        let mut counted = Amounts::new();
        if usage::is_ignored(resource) {
            return Ok(counted);
        }
        let lookup = self.devices.as_ref().filter(|_| resource == devices::CLAIMS);
        let mut devices = match lookup {
            Some(lookup) => lookup.read().await?,
            None => Devices::default(),
        };
        for name in hard.keys().filter(|name| usage::counts(resource, name, &devices)) {
            counted.insert(name.clone(), Quantity::whole(0));
        }
        if counted.is_empty() {
            return Ok(counted);
        }
        let scopes = scope::scopes(quota);
        let listed = store.list(&RequestContext::system(namespace), &ListOptions::default()).await?;
        for entry in &listed.items {
            let object = store.read(entry)?;
            if !scope::matches(&scopes, resource, &object) {
                continue;
            }
            if let Some(lookup) = lookup {
                devices.of_pod = lookup.pod_usage(namespace, &object).await?;
            }
            let mut amounts = usage::object_usage(resource, &object, &devices);
            amounts.retain(|name, _| counted.contains_key(name));
            totals::add(&mut counted, &amounts);
        }
        Ok(counted)
    }
}
