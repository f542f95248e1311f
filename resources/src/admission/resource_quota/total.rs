//! The usage of a namespace, counted anew.
//!
//! Kubernetes concept: `CalculateUsage` in `k8s.io/apiserver/pkg/quota/v1`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use registry_core::RequestContext;
use registry_core::api::{ListOptions, Object, StatusError};
use registry_core::registry::{InstalledApi, Store};
use registry_core::rest::Lister as _;
use registry_core::schema::Quantity;
use resource_views::core::v1::ResourceQuota;
use serde_json::Value;
use tokio::time::Instant;

use super::devices::{self, DeviceLookup, Devices};
use super::history::{Counted, QuotaHistory, Settled};
use super::{HARD, USED, scope, usage};
use crate::api::core::pod_spec::totals::{self, Amounts};

/// Counts what a namespace uses of what quotas limit.
pub struct QuotaUsage {
    devices: Option<DeviceLookup>,
}

/// The status that a quota should have.
#[derive(Clone, Debug)]
pub struct QuotaTotals {
    /// The limits, as the quota specifies them.
    pub hard: BTreeMap<String, String>,
    /// The usage by the same names.
    pub used: BTreeMap<String, String>,
    /// Whether the status of the quota has these already.
    pub is_stored: bool,
    /// The history for the next count, if the status of the quota says this.
    pub history: QuotaHistory,
    /// The time after which a further count can give back usage that no object has.
    pub again_after: Option<Duration>,
}

/// A count that is under way.
struct Counting<'a> {
    quota: &'a Object,
    hard: &'a Amounts,
    history: &'a QuotaHistory,
    counted: Counted,
}

// === impl QuotaUsage ===

impl QuotaUsage {
    /// Creates it over the installed resources.
    pub fn new(installed: &InstalledApi) -> Self {
        Self { devices: DeviceLookup::new(installed) }
    }

    /// Returns what a quota should say, counted in these stores, after the counts in `history`. What none of the stores
    /// counts stays as the quota says it.
    ///
    /// # Errors
    /// Fails if objects cannot be read.
    pub async fn totals(
        &self,
        quota: &Object,
        stores: &[Arc<Store>],
        history: &QuotaHistory,
    ) -> Result<QuotaTotals, StatusError> {
        let now = Instant::now();
        let hard = totals::read(ResourceQuota(quota).spec().hard().value());
        let stored = totals::read(quota.get(&USED));
        let mut counting = Counting { quota, hard: &hard, history, counted: Counted::default() };
        for store in stores.iter().filter(|store| store.resource().is_namespaced()) {
            self.count(&mut counting, store).await?;
        }
        let Settled { used: settled, history, again_after } = history.settle(&stored, counting.counted, now);
        let mut used = stored.clone();
        used.retain(|name, _| hard.contains_key(name));
        used.extend(settled);
        let is_stored =
            totals::are_equal(&stored, &used) && totals::are_equal(&totals::read(quota.get(&HARD)), &hard);
        let has_status = quota.get(&HARD).is_some() && quota.get(&USED).is_some();
        // The texts stay as they were written.
        let hard =
            ResourceQuota(quota).spec().hard().value().and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok(QuotaTotals {
            hard: hard.map(|(name, value)| (name.clone(), text(value))).collect(),
            used: used.into_iter().map(|(name, amount)| (name, amount.to_string())).collect(),
            is_stored: is_stored && has_status,
            history,
            again_after,
        })
    }

    /// Counts the objects of a store in the namespace of a quota, by the names in the quota that concern these objects.
    async fn count(&self, counting: &mut Counting<'_>, store: &Store) -> Result<(), StatusError> {
        let (resource, namespace) = (store.resource().group_resource(), counting.quota.namespace());
        if usage::is_ignored(resource) {
            return Ok(());
        }
        let lookup = self.devices.as_ref().filter(|_| resource == devices::CLAIMS);
        let mut devices = match lookup {
            Some(lookup) => lookup.read().await?,
            None => Devices::default(),
        };
        let hard = counting.hard.keys();
        let names: BTreeSet<&String> = hard.filter(|name| usage::counts(resource, name, &devices)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let zero = Quantity::whole(0);
        counting.counted.sum.extend(names.iter().map(|name| ((*name).clone(), zero.clone())));
        let scopes = scope::scopes(counting.quota);
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
            amounts.retain(|name, _| names.contains(name));
            counting.add(object.uid(), amounts);
        }
        Ok(())
    }
}

// === impl Counting ===

impl Counting<'_> {
    fn add(&mut self, uid: &str, usage: Amounts) {
        totals::add(&mut self.counted.sum, &usage);
        let usage = self.history.share(uid, usage);
        self.counted.objects.insert(uid.to_owned(), usage);
    }
}
