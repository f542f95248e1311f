//! The node that a user is.
//!
//! Kubernetes concept: `pkg/auth/nodeidentifier`.

use registry_core::context::UserInfo;

const GROUP: &str = "system:nodes";
/// The names of nodes' users: `system:node:NAME`.
pub(super) const PREFIX: &str = "system:node:";

/// Returns the name of the node that a user is, which may be empty; `None` if it is not a node.
pub(super) fn node_name(user: &UserInfo) -> Option<&str> {
    let name = user.name.strip_prefix(PREFIX)?;
    user.groups.iter().any(|group| group == GROUP).then_some(name)
}
