//! The main server that an extension server stands behind.
//!
//! | module | contents |
//! |---|---|
//! | `kinds` | the kinds that admission policies have as parameters |
//! | `store` | the cached, read-only stores of the main server's resources that admission depends on |
//!
//! Kubernetes concept: the client-go informers of `k8s.io/apiserver`'s `RecommendedOptions`.

use std::path::Path;

use clients::{Client, ClientSettings, SettingsError};

mod kinds;
mod store;

pub(crate) use kinds::{KindError, MainKind, MainKinds};
pub(crate) use store::install;

/// Returns a client of a path of the main server: that of a kubeconfig, or else of the pod that this process runs in.
///
/// # Errors
/// Fails if the kubeconfig cannot be used, or if there is none and this is not a pod.
pub(crate) fn client(kubeconfig: Option<&Path>, path: &str) -> Result<Client, SettingsError> {
    let mut settings = match kubeconfig {
        Some(kubeconfig) => ClientSettings::from_kubeconfig(kubeconfig)?,
        None => ClientSettings::in_cluster()?,
    };
    settings.server = format!("{}{path}", settings.server.trim_end_matches('/'));
    Client::new(settings)
}
