//! Health of other control plane components.
//!
//! Kubernetes concept: `ComponentStatus`.

use async_trait::async_trait;

/// The health of a control plane component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name, for example `etcd-0`.
    pub name: String,
    /// Whether it reports that it is healthy.
    pub is_healthy: bool,
    /// Its health message, or the error of the probe.
    pub message: String,
}

/// Probes the health of control plane components.
#[async_trait]
pub trait ComponentProbe: Send + Sync + 'static {
    /// Returns the names of all components.
    fn names(&self) -> Vec<String>;

    /// Returns the health of a component; `None` if there is none with this name.
    async fn probe(&self, name: &str) -> Option<Component>;
}

/// A probe without components: for maps that are installed without a server.
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
