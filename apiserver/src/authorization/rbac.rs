//! Role-based access control: what roles allow, to whom bindings grant it.
//!
//! | module | contents |
//! |---|---|
//! | `rules` | compiled rules, and whether they allow a request |
//! | `policy` | bindings by their subjects, with their roles |
//! | `index` | the policy in force, and its changes |
//! | `fixed` | a policy that is given as a whole |
//! | `follower` | brings changes into the index: from informers, and from the writes of this server at once |
//!
//! A write to a role or binding through this server is in force before it is answered. Other servers over the same store
//! follow by their informers.
//!
//! Kubernetes concept: `plugin/pkg/auth/authorizer/rbac`.

use std::borrow::Cow;
use std::sync::Arc;

use registry_core::api::go_text::aggregate;
use registry_core::context::UserInfo;
use registry_core::rest::access::AccessRules;

use super::{Attributes, Decision};

mod fixed;
mod follower;
mod index;
mod policy;
mod rules;
#[cfg(test)]
mod tests;

pub use fixed::FixedRbac;
pub(super) use follower::RbacFollower;
pub(super) use index::RbacIndex;
use rules::Asked;
pub(super) use rules::Role;

/// Maximum number of missing roles that are reported.
const MAX_REPORTED: usize = 100;

/// Authorizes by the roles that are bound to a user or its groups.
#[derive(Clone)]
pub(super) struct RbacAuthorizer {
    index: Arc<RbacIndex>,
}

// === impl RbacAuthorizer ===

impl RbacAuthorizer {
    /// Creates an authorizer by this index.
    pub(super) fn new(index: Arc<RbacIndex>) -> Self {
        Self { index }
    }

    /// Decides whether a role allows the request.
    pub(super) fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let policy = self.index.policy();
        let asked = Asked::from_attributes(attributes);
        let namespace = attributes.resource.map_or("", |resource| resource.namespace.as_str());
        let mut missing = Vec::new();
        for grant in policy.grants(attributes.user, namespace) {
            match policy.role_of(grant) {
                Some(role) if role.allows(&asked) => {
                    return Decision::Allow { reason: Cow::Owned(grant.reason()) };
                }
                Some(_) => {}
                None if missing.len() < MAX_REPORTED => missing.push(grant.missing_role()),
                None => {}
            }
        }
        if missing.is_empty() {
            return Decision::no_opinion("");
        }
        Decision::undecided(format!("RBAC: {}", aggregate(missing)))
    }

    /// Returns what a user may do in a namespace, or in the whole cluster if it is empty.
    pub(super) fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        let policy = self.index.policy();
        let mut rules = AccessRules::default();
        let mut missing = Vec::new();
        for grant in policy.distinct_grants(user, namespace) {
            match policy.role_of(grant) {
                Some(role) => role.list(&mut rules),
                None if missing.len() < MAX_REPORTED => missing.push(grant.missing_role()),
                None => {}
            }
        }
        rules.error = aggregate(missing);
        rules
    }
}
