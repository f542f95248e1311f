//! A policy that is given as a whole, and follows nothing.

use std::sync::Arc;

use registry_core::api::Object;
use serde_json::Value;

use crate::authorization::{Attributes, Decision};

use super::RbacAuthorizer;
use super::index::{Content, Item, RbacIndex};
use super::policy::{Binding, role_key};
use super::rules::Role;

/// Authorizes by these roles and bindings, for benches and tests.
pub struct FixedRbac(RbacAuthorizer);

// === impl FixedRbac ===

impl FixedRbac {
    /// Creates an authorizer by `Role`, `ClusterRole`, `RoleBinding` and `ClusterRoleBinding` objects. Others are ignored.
    pub fn new(objects: impl IntoIterator<Item = Object>) -> Self {
        let index = RbacIndex::default();
        for object in objects {
            let content = match object.kind() {
                "Role" | "ClusterRole" => {
                    let rules = object.get(&["rules"]).and_then(Value::as_array);
                    let role = Role::new(rules.map(Vec::as_slice).unwrap_or_default());
                    Content::Role(role_key(object.namespace(), object.name()).into(), Some(Arc::new(role)))
                }
                kind @ ("RoleBinding" | "ClusterRoleBinding") => {
                    Content::Binding(Some(Arc::new(Binding::new(&object, kind == "RoleBinding"))))
                }
                _ => continue,
            };
            let key = format!("/{}/{}/{}", object.kind(), object.namespace(), object.name()).into();
            index.apply(Item { key, revision: 1, content });
        }
        index.publish();
        Self(RbacAuthorizer::new(Arc::new(index)))
    }

    /// Decides about a request.
    pub fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        self.0.authorize(attributes)
    }
}
