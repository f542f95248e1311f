//! How the other parts of the control plane are.
//!
//! Kubernetes concept: `ComponentStatus`.

use async_trait::async_trait;

/// How one part of the control plane is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name, for example `etcd-0`.
    pub name: String,
    /// Whether it says that it is well.
    pub is_healthy: bool,
    /// What it says, or why it cannot be asked.
    pub message: String,
}

/// Asks the parts of the control plane how they are.
#[async_trait]
pub trait ComponentProbe: Send + Sync + 'static {
    /// The names of all parts.
    fn names(&self) -> Vec<String>;

    /// How one of them is; `None` when there is none of that name.
    async fn probe(&self, name: &str) -> Option<Component>;
}

/// There are no parts: for maps that are installed outside a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoComponents;

// === impl NoComponents ===

#[async_trait]
impl ComponentProbe for NoComponents {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn probe(&self, _: &str) -> Option<Component> {
        None
    }
}
