//! Disruption budgets of pods that are evicted.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::selector::LabelSelector;
use registry_core::api::status::StatusCause;
use registry_core::api::{DryRun, GroupResource, Object, Reason, StatusError, UpdateOptions, time};
use registry_core::codec::json::Parts;
use registry_core::registry::{StatusRules, Stores};
use registry_core::rest::{AdmitAll, UpdatedObject};
use resource_views::Typed as _;
use resource_views::meta::v1::Condition;
use resource_views::policy::v1::PodDisruptionBudget;
use serde_json::json;

use crate::api::policy::poddisruptionbudgets::PodDisruptionBudgets;
use crate::support::conditions;
use crate::support::lookup::Lookup;

/// The part of a budget that says which pods it is about.
const SELECTOR: Parts = Parts::Only(&[&["spec", "selector"]]);
const BUDGET: GroupResource = GroupResource { group: "policy", resource: "poddisruptionbudget" };
const VIOLATION: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const RETRY_SECONDS: u32 = 10;
/// Maximum number of evictions that the budget's controller has not processed yet; further ones are refused.
const MAX_DISRUPTED_PODS: usize = 2000;

/// The disruption budgets of a server.
pub(super) struct Budgets(Lookup);

/// The decision of a budget.
pub(super) enum Verdict {
    /// The pod may be evicted; its disruption has been counted.
    Granted,
    /// The pod may be evicted in its present state, because it does not count as healthy.
    CostsNothing {
        /// The name of the budget.
        budget: String,
    },
}

// === impl Budgets ===

impl Budgets {
    pub(super) fn within(stores: &Stores) -> Result<Self, StatusError> {
        Lookup::within::<PodDisruptionBudgets>(stores).map(Self)
    }

    /// Checks the pod's budget, and subtracts the disruption.
    ///
    /// # Errors
    /// 429: the budget does not allow a disruption now.
    pub(super) async fn spend(
        &self,
        namespace: &str,
        pod: &Object,
        dry_run: DryRun,
    ) -> Result<Verdict, StatusError> {
        let Some(budget) = self.guarding(namespace, pod).await? else { return Ok(Verdict::Granted) };
        if !conditions::is_true(pod, "Ready") && spares_unhealthy(&budget) {
            return Ok(Verdict::CostsNothing { budget: budget.name().to_owned() });
        }
        let mut withdrawal = Withdrawal { pod: pod.name() };
        let context = RequestContext::system(namespace);
        let options = UpdateOptions { dry_run, ..UpdateOptions::default() };
        let budgets = self.0.store();
        budgets
            .with_rules(&StatusRules)
            .update(&context, budget.name(), &mut withdrawal, &AdmitAll, &options)
            .await?;
        Ok(Verdict::Granted)
    }

    /// Returns the budget that selects a pod. Of the others of the namespace only the selectors are decoded.
    ///
    /// # Errors
    /// 500: there are several.
    async fn guarding(&self, namespace: &str, pod: &Object) -> Result<Option<Object>, StatusError> {
        let budgets = self.0.store();
        let mut guarding = None;
        for entry in self.0.newest_entries_in(namespace).await? {
            if !guards(&budgets.read_parts(&entry, SELECTOR)?, pod) {
                continue;
            }
            if guarding.replace(entry).is_some() {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(StatusError::new(Reason::Unknown, message));
            }
        }
        guarding.map(|entry| budgets.read(&entry)).transpose()
    }
}

/// Whether a budget selects the pod. A budget without a selector selects none, one with an empty selector all.
fn guards(budget: &Object, pod: &Object) -> bool {
    let selector =
        PodDisruptionBudget(budget).spec().selector().value().filter(|selector| !selector.is_null());
    let selector = selector.map(LabelSelector::from_object);
    matches!(selector, Some(Ok(selector)) if selector.matches(|key| pod.label(key)))
}

/// Whether a pod that is not ready may be evicted without being counted.
fn spares_unhealthy(budget: &Object) -> bool {
    let status = PodDisruptionBudget(budget).status();
    let (healthy, wanted) = (status.current_healthy().number(), status.desired_healthy().number());
    PodDisruptionBudget(budget).spec().unhealthy_pod_eviction_policy().text() == "AlwaysAllow"
        || (healthy >= wanted && wanted > 0)
}

/// Returns 429: the budget's controller has not processed earlier disruptions.
pub(super) fn violates(budget: &str) -> StatusError {
    let why = format!("The disruption budget {budget} is still being processed by the server.");
    refused(why).retry_after_seconds(RETRY_SECONDS)
}

fn refused(why: String) -> StatusError {
    let cause = StatusCause { reason: "DisruptionBudget".to_owned(), message: why, ..StatusCause::default() };
    StatusError::new(Reason::TooManyRequests, VIOLATION).with_causes(vec![cause])
}

/// Subtracts one disruption from a budget, for a pod.
struct Withdrawal<'a> {
    pod: &'a str,
}

#[async_trait]
impl UpdatedObject for Withdrawal<'_> {
    async fn updated_object(
        &mut self,
        _context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let Some(budget) = current else {
            return Err(StatusError::internal("a disruption budget ended while it was asked"));
        };
        check(budget)?;
        let allowed = PodDisruptionBudget(budget).status().disruptions_allowed().number() - 1;
        let mut spent = budget.clone();
        spent.set(&["status", "disruptionsAllowed"], allowed.into());
        if allowed == 0 {
            note_exhaustion(&mut spent);
        }
        spent.set(&["status", "disruptedPods", self.pod], time::now().into());
        Ok(spent)
    }
}

fn check(budget: &Object) -> Result<(), StatusError> {
    let name = budget.name();
    let forbidden = |why: &str| Err(StatusError::forbidden(BUDGET, name, why));
    let status = PodDisruptionBudget(budget).status();
    if status.observed_generation().number() < budget.generation() {
        return Err(violates(name));
    }
    let allowed = status.disruptions_allowed().number();
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    if status.disrupted_pods().len() > MAX_DISRUPTED_PODS {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    if allowed == 0 {
        let (wanted, healthy) = (status.desired_healthy().number(), status.current_healthy().number());
        return Err(refused(format!(
            "The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        )));
    }
    Ok(())
}

/// Sets the condition that no disruptions are left.
fn note_exhaustion(budget: &mut Object) {
    const KIND: &str = "DisruptionAllowed";
    let status = PodDisruptionBudget(budget).status();
    let mut conditions = status.conditions().values().to_vec();
    let present =
        conditions.iter().position(|present| Condition::from_value(present).r#type().text() == KIND);
    let present = present.map(|index| conditions.remove(index));
    let present = present.as_ref().map(Condition::from_value);
    let was_false = present.filter(|present| present.status().text() == "False");
    let since = was_false.and_then(|present| present.last_transition_time().value().cloned());
    conditions.push(json!({
        "type": KIND, "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": status.observed_generation().number(),
        "lastTransitionTime": since.unwrap_or_else(|| time::now().into()),
    }));
    budget.set(&["status", "conditions"], conditions.into());
}
