//! Metrics of authentication and authorization.

use prometheus::{IntCounter, IntCounterVec};
use registry_core::metrics::{Families, MetricsError};

use crate::access::Decision;

use super::names;

/// Users that have a label of their own; all others share one, because their number is unbounded.
const KNOWN_USERS: [&str; 5] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"];

/// The metrics of authentication and authorization.
pub struct AccessMetrics {
    authenticated: IntCounter,
    failed: IntCounter,
    erroneous: IntCounter,
    known_users: [IntCounter; KNOWN_USERS.len()],
    mail_users: IntCounter,
    other_users: IntCounter,
    allowed: IntCounter,
    denied: IntCounter,
    no_opinion: IntCounter,
}

// === impl AccessMetrics ===

impl AccessMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let attempts = families.counter(&names::AUTHENTICATION_ATTEMPTS)?;
        let users = families.counter(&names::AUTHENTICATED_REQUESTS)?;
        let authorizations = families.counter(&names::AUTHORIZATION_ATTEMPTS)?;
        let counter = |family: &IntCounterVec, label| family.with_label_values(&[label]);
        Ok(Self {
            authenticated: counter(&attempts, "success"),
            failed: counter(&attempts, "failure"),
            erroneous: counter(&attempts, "error"),
            known_users: KNOWN_USERS.map(|name| counter(&users, name)),
            mail_users: counter(&users, "email_id"),
            other_users: counter(&users, "other"),
            allowed: counter(&authorizations, "allowed"),
            denied: counter(&authorizations, "denied"),
            no_opinion: counter(&authorizations, "no-opinion"),
        })
    }

    /// Counts a successful authentication.
    pub fn authenticated(&self, user: &str) {
        self.authenticated.inc();
        let mut known = KNOWN_USERS.iter().zip(&self.known_users);
        let counter = match known.find(|(name, _)| **name == user) {
            Some((_, counter)) => counter,
            None if user.contains('@') => &self.mail_users,
            None => &self.other_users,
        };
        counter.inc();
    }

    /// Counts a failed authentication: with invalid credentials, or with none.
    pub fn not_authenticated(&self, with_credentials: bool) {
        if with_credentials { &self.erroneous } else { &self.failed }.inc();
    }

    /// Counts a decision of an authorizer.
    pub fn decided(&self, decision: &Decision) {
        match decision {
            Decision::Allow { .. } => &self.allowed,
            Decision::Deny { .. } => &self.denied,
            Decision::NoOpinion { .. } => &self.no_opinion,
        }
        .inc();
    }
}
