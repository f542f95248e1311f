//! Admission policies: `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy`.
//!
//! Policies and bindings are compiled once for each change. A write loads the policies in force, which takes no lock, and
//! evaluates those that match it.
//!
//! | module | contents |
//! |---|---|
//! | `check` | a policy that is given, and follows nothing |
//! | `definitions` | the parts of policies and bindings that both kinds share |
//! | `in_force` | the policies with their bindings, kept up to date by informers |
//! | `validating` | `ValidatingAdmissionPolicy` |
//! | `mutating` | `MutatingAdmissionPolicy` |
//! | `matching` | the policies and parameters that a write is evaluated by |
//! | `params` | the parameters of a binding |
//! | `type_checking` | the status of validating policies: what is wrong with their types |
//!
//! Kubernetes concept:
//! [validating](https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/) and
//! [mutating](https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/) admission policies;
//! `k8s.io/apiserver/pkg/admission/plugin/policy`.

use std::sync::Arc;

use registry_core::api::{Object, StatusCause, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::rest::access::AccessReviewer;

use crate::main_server::MainKinds;
use crate::metrics::AdmissionMetrics;

use super::manifests::{FollowTasks, ManifestDirectories, ManifestPlugin};
use super::{AdmissionChain, Attributes};

mod check;
mod definitions;
mod in_force;
mod matching;
mod mutating;
mod params;
mod type_checking;
mod validating;

pub use check::PolicyCheck;
use mutating::MutatingPolicies;
use validating::ValidatingPolicies;

/// The dependencies of both plug-ins.
#[derive(Clone)]
pub(crate) struct PolicySetup {
    /// Answers the expressions that ask what users may do.
    pub(crate) access: Arc<dyn AccessReviewer>,
    pub(crate) metrics: AdmissionMetrics,
    /// The main server of an extension server, whose objects are parameters too.
    pub(crate) main: Option<Arc<MainKinds>>,
}

/// Adds the plug-ins of policies to a chain, if policies are served, and the tasks that follow their directories.
pub(crate) fn add_to(
    chain: &mut AdmissionChain,
    installed: &InstalledApi,
    setup: &PolicySetup,
    (directories, tasks): (&mut ManifestDirectories, &mut FollowTasks),
) {
    let manifests = setup.metrics.manifests();
    if let Some(plugin) = MutatingPolicies::new(installed, setup.clone()) {
        let directory = directories.take(ManifestPlugin::MutatingPolicies);
        tasks.extend(directory.map(|directory| plugin.follow(directory, manifests)));
        chain.mutating.push(Arc::new(plugin));
    }
    if let Some(plugin) = ValidatingPolicies::new(installed, setup.clone()) {
        let directory = directories.take(ManifestPlugin::ValidatingPolicies);
        tasks.extend(directory.map(|directory| plugin.follow(directory, manifests)));
        chain.validating.push(Arc::new(plugin));
    }
}

/// Whether a write configures policies. Those of the API do not apply to it, so that a wrong one can always be corrected; those of
/// files do.
fn configures_policies(attributes: &Attributes<'_>) -> bool {
    const POLICIES: [&str; 4] = [
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ];
    let resource = &attributes.resource;
    resource.group == "admissionregistration.k8s.io" && POLICIES.contains(&resource.resource)
}

/// Whether no policies apply to a write: it is a review that the server itself depends on.
///
/// Kubernetes concept: `pkg/kubeapiserver/admission/exclusion`.
fn is_excluded(attributes: &Attributes<'_>) -> bool {
    match attributes.resource.group {
        "authentication.k8s.io" => {
            matches!(attributes.resource.resource, "selfsubjectreviews" | "tokenreviews")
        }
        "authorization.k8s.io" => true,
        _ => false,
    }
}

/// Returns a refusal with the name that Kubernetes shows: that of an object whose name is still to be generated is its
/// prefix.
fn forbidden(attributes: &Attributes<'_>, object: Option<&Object>, message: &str) -> StatusError {
    let named = |object: &Object| {
        let generated = object.get_str(&["metadata", "generateName"]).unwrap_or_default();
        let name = if object.name().is_empty() { generated } else { object.name() };
        Some(name.to_owned()).filter(|name| !name.is_empty())
    };
    let name = match attributes.name {
        "" => object.and_then(named).unwrap_or_else(|| "Unknown".to_owned()),
        name => name.to_owned(),
    };
    StatusError::forbidden(attributes.resource.group_resource(), &name, message)
}

/// Returns a cause that consists of a message.
fn cause(message: &str) -> StatusCause {
    StatusCause { message: message.to_owned(), ..StatusCause::default() }
}
