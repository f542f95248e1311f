//! Rules that the workload controllers share, those of `apps` and replication controllers: selectors, templates, statuses.

use registry_core::RequestContext;
use registry_core::api::FieldError;
use registry_core::api::selector::LabelSelector;
use registry_core::api::validation::ErrorList;
use registry_core::features::Feature;
use registry_core::resource::GatedField;
use resource_views::Integer;
use resource_views::core::v1::PodTemplateSpec;
use resource_views::meta::v1::LabelSelector as Selector;

use crate::api::core::pod_spec::{gated, validation};
use crate::support::field::ShownAsGo as _;
use crate::support::label_selector;

/// Names of a workload kind in messages.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    /// The name in messages about an empty selector.
    selector_of: &'static str,
    /// The message about a selector that cannot be read, beside those about its parts. Without one, the template is checked
    /// nevertheless.
    unreadable_selector: Option<&'static str>,
    /// The name in messages about a deadline of the pods.
    deadline_of: &'static str,
    /// Whether a missing selector is an error by itself, apart from that it selects no pods.
    needs_selector: bool,
}

impl Workload {
    /// Deployments.
    pub(crate) const DEPLOYMENT: Self = Self {
        selector_of: "deployment",
        unreadable_selector: Some("invalid label selector"),
        deadline_of: "ReplicaSet",
        needs_selector: true,
    };
    /// Replica sets; their messages name deployments.
    pub(crate) const REPLICA_SET: Self = Self::DEPLOYMENT;
    /// Stateful sets.
    pub(crate) const STATEFUL_SET: Self = Self {
        selector_of: "statefulset",
        unreadable_selector: Some(""),
        deadline_of: "StatefulSet",
        needs_selector: true,
    };
    /// Daemon sets.
    pub(crate) const DAEMON_SET: Self = Self {
        selector_of: "daemonset",
        unreadable_selector: None,
        deadline_of: "DaemonSet",
        needs_selector: false,
    };
    /// Replication controllers.
    pub(crate) const REPLICATION_CONTROLLER: Self = Self {
        selector_of: "replicationcontroller",
        unreadable_selector: Some("invalid label selector"),
        deadline_of: "ReplicationController",
        needs_selector: true,
    };
}

/// Returns the fields of deployments and replica sets that exist only while a feature is enabled.
pub(crate) fn gated_fields() -> Vec<GatedField> {
    let terminating =
        GatedField::new(Feature::DeploymentReplicaSetTerminatingReplicas, "status.terminatingReplicas");
    gated::spec("spec.template.spec").into_iter().chain([terminating]).collect()
}

/// The internal type of selectors.
pub(crate) const SELECTOR: &str = "*<metav1.LabelSelector>";

// === impl Workload ===

impl Workload {
    /// Checks the selector, alone and against the labels of the template; returns whether it can select.
    pub(crate) fn check_selector(
        self,
        selector: &Selector<'_, '_>,
        template: &PodTemplateSpec<'_, '_>,
        errors: &mut ErrorList,
    ) -> bool {
        if selector.exists() {
            label_selector::check(selector, errors);
            if selector.match_labels().len() + selector.match_expressions().len() == 0 {
                errors.push(selector.invalid(format!("empty selector is invalid for {}", self.selector_of)));
            }
        } else if self.needs_selector {
            errors.push(selector.required(""));
        }
        let readable = selector.value().map(LabelSelector::from_object);
        if let Some(Err(_)) = readable {
            let Some(detail) = self.unreadable_selector else { return true };
            errors.push(selector.invalid_as(SELECTOR, detail));
            return false;
        }
        let metadata = template.metadata();
        let labels = metadata.labels();
        let label = |key: &str| labels.entry(key).optional_text();
        if !readable.and_then(Result::ok).is_some_and(|selector| selector.matches(label)) {
            errors.push(labels.invalid("`selector` does not match template `labels`"));
        }
        true
    }

    /// Checks the template of pods that run indefinitely; `old` is what it was, if it changes.
    pub(crate) fn check_template(
        self,
        context: &RequestContext,
        template: &PodTemplateSpec<'_, '_>,
        old: Option<&PodTemplateSpec<'_, '_>>,
        errors: &mut ErrorList,
    ) {
        validation::check_template(context, template, old, errors);
        self.check_run_forever(template, errors);
    }

    /// Checks that the pods of a template run indefinitely.
    pub(crate) fn check_run_forever(self, template: &PodTemplateSpec<'_, '_>, errors: &mut ErrorList) {
        let spec = template.spec();
        let policy = spec.restart_policy();
        if policy.text() != "Always" {
            errors.push(policy.unsupported(&["Always"]));
        }
        let deadline = spec.active_deadline_seconds();
        let detail = format!("activeDeadlineSeconds in {} is not Supported", self.deadline_of);
        deadline.check_absent(&detail, errors);
    }
}

/// The numbers of replicas in a status.
pub(crate) struct Counts<'a> {
    /// The number of all replicas.
    pub(crate) replicas: Integer<'a, 'a>,
    /// The generation that the numbers are about.
    pub(crate) observed_generation: Integer<'a, 'a>,
    /// The number of ready replicas.
    pub(crate) ready: Integer<'a, 'a>,
    /// The number of available replicas.
    pub(crate) available: Integer<'a, 'a>,
    /// The numbers that cannot exceed the number of all replicas, in the order of the errors.
    pub(crate) shares: &'a [Integer<'a, 'a>],
    /// The other numbers.
    pub(crate) others: &'a [Integer<'a, 'a>],
}

// === impl Counts ===

impl Counts<'_> {
    /// Checks that none is negative, none of the shares exceeds all replicas, and available replicas are ready.
    ///
    /// `ready_name` is the name of the number of ready replicas in messages.
    pub(crate) fn check(&self, ready_name: &str, errors: &mut ErrorList) {
        for number in
            [&self.replicas, &self.observed_generation].into_iter().chain(self.shares).chain(self.others)
        {
            number.check_not_negative(errors);
        }
        let exceeds = |number: &Integer<'_, '_>, limit: &str| {
            FieldError::invalid(number.path(), number.number(), format!("cannot be greater than {limit}"))
        };
        for share in self.shares {
            if share.number() > self.replicas.number() {
                errors.push(exceeds(share, "status.replicas"));
            }
        }
        if self.available.number() > self.ready.number() {
            errors.push(exceeds(&self.available, ready_name));
        }
    }
}

/// Checks that the count of hash collisions does not decrease.
pub(crate) fn check_collisions(count: &Integer<'_, '_>, before: &Integer<'_, '_>, errors: &mut ErrorList) {
    count.check_not_negative(errors);
    let Some(before) = before.integer() else { return };
    if count.integer().is_none_or(|now| now < before) {
        errors.push(FieldError::invalid(count.path(), count.number(), "cannot be decremented"));
    }
}
