//! The rights that a request needs. The authorizer is asked for no others on behalf of the request itself.
//!
//! | a request that | needs the right to | asked by |
//! |---|---|---|
//! | does what its method and path say | that verb on that resource or path | the filters, before the body is read |
//! | creates the object of an update or of an apply | `create` that resource, with the object's name | the store's validation, only when there is no object |
//! | connects to a pod to execute, attach or forward ports, with a method that is not POST | `create` that subresource | the handler, after admission |
//! | deletes an object whose stored value cannot be read | `unsafe-delete-ignore-read-errors` that resource, with the object's name | the handler, before the store is read |
//!
//! What a body may say is the decision of admission plug-ins and of the rules of kinds, which ask on their own: RBAC's
//! `escalate` and `bind`, the verbs on signers, the finalizers of owners.
//!
//! Kubernetes concept: `withAuthorization` in `k8s.io/apiserver/pkg/endpoints/handlers`, `ensureAuthorizedForVerb` in
//! `pkg/registry/core/pod/rest`.

use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;
use request_info::{RequestInfo, ResourceRequest, Verb};

use crate::access::qualified;

use super::{Attributes, Authorizer, Decision};

/// The subresources of pods that run something in them, whatever the protocol of the connection: SPDY begins with POST, a
/// WebSocket with GET.
const STREAMS_INTO_PODS: [&str; 3] = ["attach", "exec", "portforward"];

/// The verb of the deletion of an object whose stored value cannot be read.
const DELETE_CORRUPT: &str = "unsafe-delete-ignore-read-errors";

/// A right that a request needs.
#[derive(Debug)]
pub(crate) struct Right<'a> {
    info: &'a RequestInfo,
    verb: &'static str,
    /// The resource, if it is not that of the path.
    resource: Option<Box<ResourceRequest>>,
    form: RefusalForm,
}

/// The form of the error of a right that the user does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefusalForm {
    /// A sentence with user, verb and resource.
    Complete,
    /// The reason of the authorizer alone, which is empty with RBAC.
    ReasonOnly,
    /// The verb, and the reason of the authorizer.
    Verb,
}

// === impl Right ===

impl<'a> Right<'a> {
    /// Returns the right to do what the method and the path of a request say.
    pub(crate) const fn asked(info: &'a RequestInfo) -> Self {
        Self { info, verb: info.verb.as_str(), resource: None, form: RefusalForm::Complete }
    }

    /// Returns the right to create the object of a request, in this namespace (empty for objects without one), unless that is
    /// what its method says.
    pub(crate) fn to_create(info: &'a RequestInfo, namespace: &str) -> Option<Self> {
        if info.verb == Verb::Create {
            return None;
        }
        // The path of a namespace is inside of it, but the right to create it is one of the cluster.
        let own = info.resource.as_ref().filter(|resource| resource.namespace != namespace);
        let resource =
            own.map(|own| Box::new(ResourceRequest { namespace: namespace.to_owned(), ..own.clone() }));
        Some(Self { verb: Verb::Create.as_str(), resource, ..Self::asked(info) })
    }

    /// Returns the right that a connection needs beside that of its method, if any.
    pub(crate) fn to_connect(info: &'a RequestInfo) -> Option<Self> {
        let resource = info.resource.as_ref()?;
        let is_into_pod = resource.group.is_empty()
            && resource.resource == "pods"
            && STREAMS_INTO_PODS.contains(&resource.subresource.as_str());
        let verb = Verb::Create.as_str();
        let right = Self { verb, form: RefusalForm::ReasonOnly, ..Self::asked(info) };
        (is_into_pod && info.verb != Verb::Create).then_some(right)
    }

    /// Returns the right to delete the object of a request although its stored value cannot be read.
    pub(crate) fn to_delete_corrupt(info: &'a RequestInfo) -> Self {
        Self { verb: DELETE_CORRUPT, form: RefusalForm::Verb, ..Self::asked(info) }
    }

    /// Returns the attributes that the authorizer decides by.
    pub(crate) fn attributes<'s>(&'s self, user: &'s UserInfo) -> Attributes<'s> {
        let own = Attributes::from_request(user, self.info);
        Attributes { verb: self.verb, resource: self.resource.as_deref().or(own.resource), ..own }
    }

    /// Returns the error of a decision that does not grant the right.
    pub(crate) fn settle(&self, user: &UserInfo, decision: Decision) -> Result<(), StatusError> {
        let (reason, error) = match decision {
            Decision::Allow { .. } => return Ok(()),
            Decision::Deny { reason, error } | Decision::NoOpinion { reason, error } => (reason, error),
        };
        let attributes = self.attributes(user);
        match self.form {
            RefusalForm::Complete if !error.is_empty() => Err(StatusError::internal(error)),
            RefusalForm::Complete => Err(attributes.forbidden(&reason)),
            RefusalForm::ReasonOnly if !error.is_empty() => Err(StatusError::new(Reason::Unknown, error)),
            RefusalForm::ReasonOnly => Err(forbidden_because(&attributes, &reason)),
            RefusalForm::Verb if !error.is_empty() => {
                let why = format!("error while checking permission for {:?}, {error}", self.verb);
                Err(forbidden_because(&attributes, &why))
            }
            RefusalForm::Verb => {
                let why = format!("not permitted to do {:?}, reason: {reason}", self.verb);
                Err(forbidden_because(&attributes, &why))
            }
        }
    }

    /// Asks the authorizer for the right.
    ///
    /// # Errors
    /// 403: the user does not have it. 500: the authorizer cannot decide.
    pub(crate) async fn require(
        &self,
        authorizer: &dyn Authorizer,
        user: &UserInfo,
    ) -> Result<(), StatusError> {
        let decision = authorizer.authorize(&self.attributes(user)).await;
        self.settle(user, decision)
    }
}

/// Returns a 403 that gives only the reason.
pub(crate) fn forbidden_because(attributes: &Attributes<'_>, reason: &str) -> StatusError {
    let resource = attributes.resource.cloned().unwrap_or_default();
    let message = format!("{} is forbidden: {reason}", qualified(&resource));
    let mut failure = StatusError::new(Reason::Forbidden, message);
    let ResourceRequest { group, resource: kind, name, .. } = resource;
    failure.details = Some(Box::new(StatusDetails { group, kind, name, ..StatusDetails::default() }));
    failure
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn info(method: &str, path: &str) -> RequestInfo {
        RequestInfo::parse(&Method::from_bytes(method.as_bytes()).unwrap(), &path.parse().unwrap())
    }

    /// Returns verb, namespace and subresource of a right.
    fn shown(right: Option<Right<'_>>) -> Option<(String, String, String)> {
        let user = UserInfo::default();
        let right = right?;
        let attributes = right.attributes(&user);
        let resource = attributes.resource.unwrap();
        Some((attributes.verb.to_owned(), resource.namespace.clone(), resource.subresource.clone()))
    }

    #[test]
    fn a_namespace_is_created_with_a_right_of_the_cluster() {
        let apply = info("PATCH", "/api/v1/namespaces/blue");
        let expected = |verb: &str, namespace: &str| Some((verb.into(), namespace.into(), String::new()));
        assert_eq!(shown(Some(Right::asked(&apply))), expected("patch", "blue"));
        assert_eq!(shown(Right::to_create(&apply, "")), expected("create", ""));
        let apply = info("PATCH", "/api/v1/namespaces/blue/pods/a");
        assert_eq!(shown(Right::to_create(&apply, "blue")), expected("create", "blue"));
    }

    #[test]
    fn only_streams_into_pods_need_the_right_to_create_beside_that_of_their_method() {
        let stream = |name: &str| Some(("create".to_owned(), "blue".to_owned(), name.to_owned()));
        for (method, path, expected) in [
            ("GET", "/api/v1/namespaces/blue/pods/a/exec", stream("exec")),
            ("GET", "/api/v1/namespaces/blue/pods/a/attach", stream("attach")),
            ("GET", "/api/v1/namespaces/blue/pods/a/portforward", stream("portforward")),
            ("POST", "/api/v1/namespaces/blue/pods/a/exec", None),
            ("GET", "/api/v1/namespaces/blue/pods/a/proxy", None),
            ("GET", "/api/v1/namespaces/blue/pods/a/log", None),
            ("GET", "/api/v1/namespaces/blue/services/a/proxy", None),
            ("GET", "/api/v1/nodes/a/proxy/exec", None),
            ("GET", "/apis/example.com/v1/namespaces/blue/pods/a/exec", None),
            ("GET", "/healthz", None),
        ] {
            assert_eq!(shown(Right::to_connect(&info(method, path))), expected, "{method} {path}");
        }
    }
}
