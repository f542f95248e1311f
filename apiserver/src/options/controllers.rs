//! `--controllers`: the controllers that run in the server.
//!
//! Kubernetes concept: the flag of the same name of
//! [kube-controller-manager](https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/).

use clap::Args;

use super::{OptionsError, StorageBackend};

/// Controllers in the server.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Controllers")]
pub struct ControllerOptions {
    /// Controllers that run in the server unless kube-controller-manager runs: `*` for all, NAME for one, -NAME for all but
    /// one, nothing for none. They are namespace-controller, garbage-collector-controller, serviceaccount-controller,
    /// root-ca-certificate-publisher-controller, clusterrole-aggregation-controller, resourcequota-controller and
    /// ttl-after-finished-controller [default: none with etcd, else *]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub controllers: Option<Vec<String>>,
}

/// A controller that can run in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Removes the content of namespaces that are being deleted.
    Namespace,
    /// Deletes objects whose owners are gone.
    GarbageCollector,
    /// Keeps an account `default` in every namespace.
    ServiceAccount,
    /// Keeps the authority of the server's certificates in every namespace.
    RootCaCertificatePublisher,
    /// Writes the rules of aggregated cluster roles.
    ClusterRoleAggregation,
    /// Counts what quotas limit.
    ResourceQuota,
    /// Deletes finished jobs when their time has come.
    TtlAfterFinished,
}

// === impl Controller ===

impl Controller {
    /// All controllers.
    pub const ALL: [Self; 7] = [
        Self::Namespace,
        Self::GarbageCollector,
        Self::ServiceAccount,
        Self::RootCaCertificatePublisher,
        Self::ClusterRoleAggregation,
        Self::ResourceQuota,
        Self::TtlAfterFinished,
    ];

    /// Returns the names: the present one, then those that kube-controller-manager accepts too.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Namespace => &["namespace-controller", "namespace"],
            Self::GarbageCollector => &["garbage-collector-controller", "garbagecollector"],
            Self::ServiceAccount => &["serviceaccount-controller", "serviceaccount"],
            Self::RootCaCertificatePublisher => {
                &["root-ca-certificate-publisher-controller", "root-ca-cert-publisher"]
            }
            Self::ClusterRoleAggregation => {
                &["clusterrole-aggregation-controller", "clusterrole-aggregation"]
            }
            Self::ResourceQuota => &["resourcequota-controller", "resourcequota"],
            Self::TtlAfterFinished => &["ttl-after-finished-controller", "ttl-after-finished"],
        }
    }
}

// === impl ControllerOptions ===

impl ControllerOptions {
    /// Whether a controller runs, for this backend.
    pub fn runs(&self, controller: Controller, backend: StorageBackend) -> bool {
        let Some(given) = &self.controllers else { return backend != StorageBackend::Etcd3 };
        let is_named = |name: &str| controller.names().contains(&name);
        if given.iter().any(|name| is_named(name)) {
            return true;
        }
        if given.iter().any(|name| name.strip_prefix('-').is_some_and(is_named)) {
            return false;
        }
        given.iter().any(|name| name == "*")
    }

    /// Returns the controllers that run, for this backend.
    pub fn running(&self, backend: StorageBackend) -> Vec<Controller> {
        Controller::ALL.into_iter().filter(|controller| self.runs(*controller, backend)).collect()
    }

    /// Checks the names.
    ///
    /// # Errors
    /// Fails if there is no controller of a name.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        let given = self.controllers.iter().flatten().map(String::as_str);
        let is_known = |name: &str| {
            let name = name.strip_prefix('-').unwrap_or(name);
            Controller::ALL.iter().any(|controller| controller.names().contains(&name))
        };
        // An empty value is an empty list.
        match given.into_iter().find(|name| !matches!(*name, "" | "*") && !is_known(name)) {
            None => Ok(()),
            Some(unknown) => {
                let names = Controller::ALL.map(|controller| controller.names().first().copied());
                let known = names.into_iter().flatten().collect();
                Err(OptionsError::Controller { unknown: unknown.to_owned(), known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_selects_controllers_as_that_of_kube_controller_manager() {
        let running = |list: &[&str]| {
            let given = list.iter().map(|name| (*name).to_owned()).collect();
            let options = ControllerOptions { controllers: Some(given) };
            options.validate().unwrap();
            options.running(StorageBackend::Etcd3)
        };
        assert_eq!(running(&["*"]), Controller::ALL);
        assert_eq!(running(&[]), []);
        assert_eq!(running(&[""]), [], "--controllers= names none");
        assert_eq!(running(&["-namespace"]), []);
        assert_eq!(
            running(&["namespace", "garbage-collector-controller"]),
            [Controller::Namespace, Controller::GarbageCollector]
        );
        assert_eq!(running(&["*", "-garbagecollector"]).len(), Controller::ALL.len() - 1);
        assert_eq!(
            running(&["*", "-namespace", "namespace"]),
            Controller::ALL,
            "a name that is given counts"
        );
        assert!(ControllerOptions { controllers: Some(vec!["-job".to_owned()]) }.validate().is_err());
    }

    #[test]
    fn without_a_list_all_run_unless_etcd_has_the_objects() {
        let options = ControllerOptions::default();
        assert_eq!(options.running(StorageBackend::Memory), Controller::ALL);
        assert_eq!(options.running(StorageBackend::Embedded), Controller::ALL);
        assert_eq!(options.running(StorageBackend::Etcd3), []);
    }
}
