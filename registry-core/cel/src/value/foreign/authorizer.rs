//! The authorizer: decides what a user may do, through an implementation of the caller.

use std::fmt;
use std::sync::Arc;

use super::Foreign;
use crate::value::Value;

/// Decides what users may do. Implemented by who evaluates expressions with an authorizer.
pub trait Authorizer: Send + Sync {
    /// Decides on one request of the user that the expression is evaluated for, or of a service account.
    fn authorize(&self, check: &Check) -> Decision;
}

/// A question to the authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// The service account that is asked about, as namespace and name; the user of the request if `None`.
    pub service_account: Option<(String, String)>,
    /// The verb.
    pub verb: String,
    /// The path of a request that is not about a resource.
    pub path: Option<String>,
    /// The API group of the resource.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource, or an empty text.
    pub subresource: String,
    /// The namespace, or an empty text.
    pub namespace: String,
    /// The name of the object, or an empty text.
    pub name: String,
    /// The field selector, not parsed.
    pub field_selector: String,
    /// The label selector, not parsed.
    pub label_selector: String,
}

/// An answer of the authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request is allowed.
    pub allowed: bool,
    /// The reason of the decision.
    pub reason: String,
    /// The failure of the authorizer.
    pub error: Option<String>,
}

/// An authorizer or one of its checks, as a value of expressions.
#[derive(Clone)]
pub struct AuthorizerValue {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) stage: Stage,
}

/// The part of the authorizer that an expression has selected.
#[derive(Clone)]
pub(crate) enum Stage {
    Authorizer(Option<(String, String)>),
    Path(Box<Check>),
    Group(Box<Check>),
    Resource(Box<Check>),
    Decision(Box<Decision>),
}

// === impl AuthorizerValue ===

impl fmt::Debug for AuthorizerValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

impl AuthorizerValue {
    /// The value of the variable `authorizer`.
    pub fn new_value(authorizer: Arc<dyn Authorizer>) -> Value<'static> {
        let stage = Stage::Authorizer(None);
        Value::foreign(Foreign::Authorizer(Self { authorizer, stage }))
    }

    /// The value of the variable `authorizer.requestResource`: a check of the request's resource.
    pub fn request_resource(authorizer: Arc<dyn Authorizer>, resource: Check) -> Value<'static> {
        let stage = Stage::Resource(Box::new(resource));
        Value::foreign(Foreign::Authorizer(Self { authorizer, stage }))
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self.stage {
            Stage::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Stage::Path(_) => "kubernetes.authorization.PathCheck",
            Stage::Group(_) => "kubernetes.authorization.GroupCheck",
            Stage::Resource(_) => "kubernetes.authorization.ResourceCheck",
            Stage::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    /// The same authorizer at another stage.
    pub(crate) fn with<'a>(&self, stage: Stage) -> Value<'a> {
        Value::foreign(Foreign::Authorizer(Self { authorizer: Arc::clone(&self.authorizer), stage }))
    }
}
