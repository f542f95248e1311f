//! A write, and what the quotas of its namespace say to it.
//!
//! Kubernetes concept: `CheckRequest` in `k8s.io/apiserver/pkg/admission/plugin/resourcequota`.

use std::collections::BTreeSet;

use registry_core::admission::{Attributes, Operation};
use registry_core::api::{GroupResource, Object, StatusError};
use registry_core::schema::Quantity;
use resource_views::Typed as _;
use resource_views::core::v1::ScopedResourceSelectorRequirement;
use serde_json::Value;

use super::super::refusal::{failed, forbidden};
use super::devices::Devices;
use super::settings::LimitedResource;
use super::{Quota, pods, scope, usage};
use crate::api::core::pod_spec::totals::{self, Amounts};

/// A write and its usage.
pub(super) struct Request<'a> {
    attributes: &'a Attributes<'a>,
    resource: GroupResource,
    object: &'a Object,
    old: Option<&'a Object>,
    devices: &'a Devices,
    /// The usage of the object.
    usage: Amounts,
    /// The usage that its previous state did not have.
    added: Amounts,
}

// === impl Request ===

impl<'a> Request<'a> {
    pub(super) fn new(
        attributes: &'a Attributes<'a>,
        object: &'a Object,
        old: Option<&'a Object>,
        devices: &'a Devices,
    ) -> Self {
        let resource = attributes.resource.group_resource();
        let usage = usage::object_usage(resource, object, devices);
        let before = old.map(|old| usage::object_usage(resource, old, devices)).unwrap_or_default();
        let mut added = usage::added(&usage, &before);
        added.retain(|_, amount| !amount.is_zero());
        Self { attributes, resource, object, old, devices, usage, added }
    }

    /// Checks the write against the quotas of its namespace; returns those that it has to be charged to.
    ///
    /// # Errors
    /// A quota would be exceeded, the write does not specify what a quota limits, or no quota covers what is limited by
    /// default.
    pub(super) fn check<'q>(
        &self,
        quotas: impl Iterator<Item = &'q Quota>,
        limited: &[LimitedResource],
    ) -> Result<Vec<&'q Quota>, StatusError> {
        let mut concerned = Vec::new();
        let mut covered = BTreeSet::new();
        let mut covered_scopes = BTreeSet::new();
        for quota in quotas {
            let scopes = quota
                .scopes
                .iter()
                .filter(|requirement| scope::is_in(self.resource, self.object, requirement));
            covered_scopes.extend(scopes.filter_map(scope_name));
            let names = self.names_in(quota);
            if names.is_empty() || !self.is_in_scope(quota, self.object) {
                continue;
            }
            self.check_said(quota, &names)?;
            covered.extend(names.into_iter().map(str::to_owned));
            concerned.push(quota);
        }
        self.check_negative()?;
        let to_charge: Vec<&Quota> =
            concerned.iter().copied().filter(|quota| !self.taken_from(quota).is_empty()).collect();
        let takes_nothing = if concerned.is_empty() { self.added.is_empty() } else { to_charge.is_empty() };
        if takes_nothing {
            return Ok(Vec::new());
        }
        self.check_covered(limited, &covered, &covered_scopes)?;
        for quota in &to_charge {
            self.charged(quota)?;
        }
        Ok(to_charge)
    }

    /// Returns the names in a quota that are about this resource.
    fn names_in<'q>(&self, quota: &'q Quota) -> Vec<&'q str> {
        let names = quota.hard.keys().map(String::as_str);
        names.filter(|name| usage::counts(self.resource, name, self.devices)).collect()
    }

    fn is_in_scope(&self, quota: &Quota, object: &Object) -> bool {
        scope::matches(&quota.scopes, self.resource, object)
    }

    /// Checks that the write specifies what a quota limits, and that the usage of the quota is known.
    fn check_said(&self, quota: &Quota, names: &[&str]) -> Result<(), StatusError> {
        let Quota { name, hard, used, .. } = quota;
        if self.resource == usage::PODS
            && let Some(missing) = pods::unspecified(self.object, hard)
        {
            return Err(self.refused(format!("failed quota: {name}: must specify {missing}")));
        }
        if names.iter().any(|resource| !used.contains_key(*resource)) {
            let why = format!("status unknown for quota: {name}, resources: {}", names.join(","));
            return Err(self.refused(why));
        }
        Ok(())
    }

    fn check_negative(&self) -> Result<(), StatusError> {
        let negative: Vec<&str> = self
            .usage
            .iter()
            .filter(|(_, amount)| amount.is_negative())
            .map(|(name, _)| name.as_str())
            .collect();
        if negative.is_empty() {
            return Ok(());
        }
        Err(self.refused(format!("quota usage is negative for resource(s): {}", negative.join(","))))
    }

    /// Checks that there is a quota for everything that is limited by default.
    fn check_covered(
        &self,
        limited: &[LimitedResource],
        covered: &BTreeSet<String>,
        covered_scopes: &BTreeSet<&str>,
    ) -> Result<(), StatusError> {
        let of_resource = limited.iter().filter(|limit| limit.is_for(self.resource));
        let names: BTreeSet<&str> = of_resource.flat_map(|limit| limit.matching(&self.usage)).collect();
        let missing: Vec<&str> = names.into_iter().filter(|name| !covered.contains(*name)).collect();
        if !missing.is_empty() {
            return Err(self.refused(format!("insufficient quota to consume: {}", missing.join(","))));
        }
        let scopes = limited.iter().flat_map(|limit| &limit.match_scopes);
        let missing: Vec<String> = scopes
            .filter(|requirement| scope::is_in(self.resource, self.object, requirement))
            .filter(|requirement| scope_name(requirement).is_none_or(|name| !covered_scopes.contains(name)))
            .map(scope::shown)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(failed(format!("insufficient quota to match these scopes: [{}]", missing.join(" "))))
    }

    /// Returns the usage to charge to a quota: all of it if the quota did not match the previous state of the object.
    fn taken_from(&self, quota: &Quota) -> Amounts {
        let was_counted = self.old.is_some_and(|old| self.is_in_scope(quota, old));
        let taken = if was_counted { &self.added } else { &self.usage };
        let counts = |name: &str, amount: &Quantity| quota.hard.contains_key(name) && !amount.is_zero();
        taken
            .iter()
            .filter(|(name, amount)| counts(name, amount))
            .map(|(name, amount)| (name.clone(), amount.clone()))
            .collect()
    }

    /// Returns the usage of a quota after this write is charged to it.
    ///
    /// # Errors
    /// The usage exceeds the quota. A change of the status is never refused: what it reports has happened.
    pub(super) fn charged(&self, quota: &Quota) -> Result<Amounts, StatusError> {
        let mut charged = quota.used.clone();
        let mut exceeded: [Vec<String>; 3] = Default::default();
        for (resource, amount) in self.taken_from(quota) {
            let zero = amount.with_nanos(0);
            let present = quota.used.get(&resource).unwrap_or(&zero);
            let sum = totals::plus(present, &amount);
            if let Some(most) = quota.hard.get(&resource).filter(|most| sum.compare(most).is_gt()) {
                let [asked, before, limits] = &mut exceeded;
                asked.push(format!("{resource}={amount}"));
                before.push(format!("{resource}={present}"));
                limits.push(format!("{resource}={most}"));
            }
            charged.insert(resource, sum);
        }
        let [asked, before, limits] = exceeded.map(|list| list.join(","));
        if asked.is_empty() || self.attributes.subresource == "status" {
            return Ok(charged);
        }
        let name = &quota.name;
        let why = format!("exceeded quota: {name}, requested: {asked}, used: {before}, limited: {limits}");
        Err(self.refused(why))
    }

    fn refused(&self, why: String) -> StatusError {
        forbidden(self.attributes, Some(self.object), why)
    }
}

fn scope_name(requirement: &Value) -> Option<&str> {
    ScopedResourceSelectorRequirement::from_value(requirement).scope_name().optional_text()
}

/// Whether a write may change the usage of its namespace.
pub(super) fn is_counted(attributes: &Attributes<'_>, new: &Object, old: Option<&Object>) -> bool {
    let resource = attributes.resource.group_resource();
    let may_change = match attributes.operation {
        Operation::Create => attributes.subresource.is_empty(),
        Operation::Update => usage::changes(resource, attributes.subresource, new, old),
        Operation::Delete | Operation::Connect => false,
    };
    may_change && !usage::is_ignored(resource)
}
