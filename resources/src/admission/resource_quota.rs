//! `ResourceQuota`: keeps the usage of a namespace within its quotas.
//!
//! A write is checked against each quota that counts it, and charged to it in one conditional update: two concurrent
//! writes
//! cannot both take the last unit of a resource. The quota controller returns the usage of deleted objects when it
//! counts
//! again.

mod scope;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, Operation, ValidatingAdmission};
use registry_core::api::validation::ErrorList;
use registry_core::api::{GroupResource, Object, Reason, StatusError, UpdateOptions};
use registry_core::registry::store::UpdateRules;
use registry_core::registry::{InformerTask, InstalledApi, Store};
use registry_core::resource::{Resource, ResourceType};
use registry_core::rest::{AdmitAll, UpdatedObject};
use serde_json::Value;

use crate::core::pod_spec::totals::{self, Amounts};
use crate::core::resourcequotas::ResourceQuotas;
use crate::support::lookup::{Decoded, Lookup};

const HARD: [&str; 2] = ["status", "hard"];
const USED: [&str; 2] = ["status", "used"];

/// The plug-in.
pub(super) struct ResourceQuota {
    quotas: Decoded<Quota>,
    store: Arc<Store>,
}

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
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let store = installed.store(ResourceQuotas::TYPE)?;
        let quotas = Lookup::of::<ResourceQuotas>(installed)?;
        Some(Self { quotas: Decoded::new(quotas, |quota| Quota::of(&quota)), store })
    }

    async fn charge(&self, namespace: &str, name: &str, request: &Request<'_>) -> Result<(), StatusError> {
        let context = RequestContext::system(namespace);
        let options = UpdateOptions::default();
        let mut charge = Charge { request };
        match self.store.update_by(&context, name, &mut charge, &AdmitAll, &options, &UsageRules).await {
            // The quota was deleted in between: it no longer limits the write.
            Err(failure) if failure.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

impl AdmissionPlugin for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn informers(&self) -> Vec<InformerTask> {
        self.quotas.informer().into_iter().collect()
    }
}

#[async_trait]
impl ValidatingAdmission for ResourceQuota {
    async fn validate(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(new) = object else { return Ok(()) };
        let resource = attributes.resource.group_resource();
        let counts = match attributes.operation {
            Operation::Create => true,
            Operation::Update => usage::changes(resource, attributes.subresource, new, old),
            Operation::Delete | Operation::Connect => false,
        };
        let is_whole = attributes.subresource.is_empty() || attributes.subresource == usage::RESIZE;
        if context.namespace.is_empty() || !is_whole || !counts || usage::is_ignored(resource) {
            return Ok(());
        }
        let quotas = self.quotas.all_in(&context.namespace).await?;
        if quotas.is_empty() {
            return Ok(());
        }
        let request = Request::new(resource, new, old);
        let concerned: Vec<&Quota> =
            quotas.iter().map(|quota| &**quota).filter(|quota| request.is_for(quota)).collect();
        // All quotas are checked before any is charged.
        for quota in &concerned {
            request.charged(quota)?;
        }
        if !attributes.dry_run.is_on() {
            for quota in concerned.iter().filter(|quota| request.takes_anything(quota)) {
                self.charge(&context.namespace, &quota.name, &request).await?;
            }
        }
        Ok(())
    }
}

// === impl Quota ===

impl Quota {
    fn of(quota: &Object) -> Self {
        Self {
            name: quota.name().to_owned(),
            scopes: scope::of(quota),
            hard: totals::read(quota.get(&HARD)),
            used: totals::read(quota.get(&USED)),
        }
    }
}

/// A write and its usage.
struct Request<'a> {
    resource: GroupResource,
    object: &'a Object,
    old: Option<&'a Object>,
    /// The usage of the object.
    usage: Amounts,
    /// The usage that its previous state did not have.
    delta: Amounts,
}

impl<'a> Request<'a> {
    fn new(resource: GroupResource, object: &'a Object, old: Option<&'a Object>) -> Self {
        let usage = usage::of(resource, object);
        let delta = usage::delta(resource, object, old);
        Self { resource, object, old, usage, delta }
    }

    /// Returns the usage to charge to a quota: all of it if the quota did not match the previous state of the object.
    fn taken_from(&self, quota: &Quota) -> &Amounts {
        let was_counted = self.old.is_some_and(|old| scope::matches(&quota.scopes, self.resource, old));
        if was_counted { &self.delta } else { &self.usage }
    }

    /// Whether a quota limits any of the resources that this write uses.
    fn is_for(&self, quota: &Quota) -> bool {
        let taken = self.taken_from(quota);
        quota.hard.keys().any(|name| taken.contains_key(name) || self.must_say(name))
            && scope::matches(&quota.scopes, self.resource, self.object)
    }

    fn must_say(&self, name: &str) -> bool {
        self.resource == usage::PODS && usage::HAS_TO_BE_SAID.contains(&name)
    }

    fn takes_anything(&self, quota: &Quota) -> bool {
        self.taken_from(quota).values().any(|amount| amount.nanos() != Some(0))
    }

    /// Returns the usage of a quota after this write is charged to it.
    ///
    /// # Errors
    /// The usage exceeds the quota, or the write does not specify a limited resource.
    fn charged(&self, quota: &Quota) -> Result<Amounts, StatusError> {
        let Quota { name, hard, used, .. } = quota;
        let mut charged = used.clone();
        if self.resource == usage::PODS
            && let Some(missing) = usage::unsaid(self.object, hard)
        {
            return Err(self.refused(format!("failed quota: {name}: must specify {missing}")));
        }
        let mut unknown = Vec::new();
        let mut asked = Vec::new();
        let mut before = Vec::new();
        let mut limited = Vec::new();
        let taken = self.taken_from(quota).iter();
        for (resource, amount) in taken.filter(|(resource, _)| hard.contains_key(*resource)) {
            let (Some(most), Some(present)) = (hard.get(resource), used.get(resource)) else {
                unknown.push(resource.as_str());
                continue;
            };
            let sum = totals::plus(present, amount);
            if sum.compare(most).is_gt() && amount.nanos() > Some(0) {
                asked.push(format!("{resource}={amount}"));
                before.push(format!("{resource}={present}"));
                limited.push(format!("{resource}={most}"));
            }
            charged.insert(resource.clone(), sum);
        }
        if !unknown.is_empty() {
            let why = format!("status unknown for quota: {name}, resources: {}", unknown.join(","));
            return Err(self.refused(why));
        }
        if !asked.is_empty() {
            return Err(self.refused(format!(
                "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
                asked.join(","),
                before.join(","),
                limited.join(",")
            )));
        }
        Ok(charged)
    }

    fn refused(&self, why: String) -> StatusError {
        StatusError::forbidden(self.resource, self.object.name(), why)
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
        for (resource, amount) in self.request.charged(&Quota::of(quota))? {
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
