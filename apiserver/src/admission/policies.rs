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
//! | `params` | the parameters of a binding |
//! | `validating` | `ValidatingAdmissionPolicy` |
//! | `mutating` | `MutatingAdmissionPolicy` |
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

use super::{AdmissionChain, Attributes};

mod check;
mod definitions;
mod in_force;
mod mutating;
mod params;
mod type_checking;
mod validating;

pub use check::PolicyCheck;
use mutating::MutatingPolicies;
use validating::ValidatingPolicies;

/// Adds the plug-ins of policies to a chain, if policies are served. Their parameters are objects of this server, or of its
/// main server.
pub(crate) fn add_to(
    chain: &mut AdmissionChain,
    installed: &InstalledApi,
    access: &Arc<dyn AccessReviewer>,
    metrics: &AdmissionMetrics,
    main: Option<&Arc<MainKinds>>,
) {
    if let Some(plugin) = MutatingPolicies::new(installed, access.clone(), metrics.clone(), main.cloned()) {
        chain.mutating.push(Arc::new(plugin));
    }
    if let Some(plugin) = ValidatingPolicies::new(installed, access.clone(), metrics.clone(), main.cloned()) {
        chain.validating.push(Arc::new(plugin));
    }
}

/// Whether policies do not apply to a write: it configures policies, so that a wrong one can always be corrected, or it is a
/// review that the server itself depends on.
///
/// Kubernetes concept: `pkg/kubeapiserver/admission/exclusion`.
fn is_excluded(attributes: &Attributes<'_>) -> bool {
    const POLICIES: [&str; 4] = [
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ];
    match attributes.resource.group {
        "admissionregistration.k8s.io" => POLICIES.contains(&attributes.resource.resource),
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
