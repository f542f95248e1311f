//! The authorizer: checks what a user may do, through an implementation of the caller.

use std::fmt;
use std::sync::Arc;

use super::{Call, Foreign, Native};
use crate::value::{Evaluated, Value, fail};
use registry_meta::validation::names;

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
    authorizer: Arc<dyn Authorizer>,
    stage: Stage,
}

#[derive(Clone)]
enum Stage {
    Authorizer(Option<(String, String)>),
    Path(Box<Check>),
    Group(Box<Check>),
    Resource(Box<Check>),
    Decision(Box<Decision>),
}

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "path" | "group" | "resource" | "subresource" | "namespace" | "name" | "fieldSelector"
        | "labelSelector" => narrow,
        "serviceAccount" => service_account,
        "check" => check,
        "allowed" | "reason" | "error" | "errored" => decision,
        _ => return None,
    })
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
        Value::Foreign(Arc::new(Foreign::Authorizer(Self { authorizer, stage })))
    }

    /// The value of the variable `authorizer.requestResource`: a check of the request's resource.
    pub fn request_resource(authorizer: Arc<dyn Authorizer>, resource: Check) -> Value<'static> {
        let stage = Stage::Resource(Box::new(resource));
        Value::Foreign(Arc::new(Foreign::Authorizer(Self { authorizer, stage })))
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

    fn with<'a>(&self, stage: Stage) -> Value<'a> {
        Value::foreign(Foreign::Authorizer(Self { authorizer: Arc::clone(&self.authorizer), stage }))
    }
}

fn receiver<'c>(call: &Call<'_, 'c>) -> Option<&'c AuthorizerValue> {
    match call.args.first()? {
        Value::Foreign(foreign) => match foreign.as_ref() {
            Foreign::Authorizer(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// The functions that say more precisely what is asked.
fn narrow<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (Some(receiver), Some(Value::String(text))) = (receiver(call), call.args.get(1)) else {
        return call.no_such_overload();
    };
    let text = text.as_str().to_owned();
    let stage = match (&receiver.stage, call.function) {
        (Stage::Authorizer(_), "path") if text.trim().is_empty() => return fail("path must not be empty"),
        (Stage::Group(_), "resource") if text.trim().is_empty() => return fail("resource must not be empty"),
        (Stage::Authorizer(account), "path") => Stage::Path(Box::new(Check {
            service_account: account.clone(),
            path: Some(text),
            ..Check::default()
        })),
        (Stage::Authorizer(account), "group") => Stage::Group(Box::new(Check {
            service_account: account.clone(),
            group: text,
            ..Check::default()
        })),
        (Stage::Group(check), "resource") => {
            Stage::Resource(Box::new(Check { resource: text, ..check.as_ref().clone() }))
        }
        (Stage::Resource(check), function) => {
            let mut check = check.clone();
            match function {
                "subresource" => check.subresource = text,
                "namespace" => check.namespace = text,
                "name" => check.name = text,
                "fieldSelector" => check.field_selector = text,
                "labelSelector" => check.label_selector = text,
                _ => return call.no_such_overload(),
            }
            Stage::Resource(check)
        }
        _ => return call.no_such_overload(),
    };
    Ok(receiver.with(stage))
}

fn service_account<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (Some(receiver), [_, Value::String(namespace), Value::String(name)]) = (receiver(call), call.args)
    else {
        return call.no_such_overload();
    };
    if !names::dns_subdomain(name.as_str()).is_empty() {
        return fail("Invalid service account name");
    }
    if !names::dns_label(namespace.as_str()).is_empty() {
        return fail("Invalid service account namespace");
    }
    let account = (namespace.as_str().to_owned(), name.as_str().to_owned());
    Ok(receiver.with(Stage::Authorizer(Some(account))))
}

fn check<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (Some(receiver), Some(Value::String(verb))) = (receiver(call), call.args.get(1)) else {
        return call.no_such_overload();
    };
    let (Stage::Path(asked) | Stage::Resource(asked)) = &receiver.stage else {
        return call.no_such_overload();
    };
    let asked = Check { verb: verb.as_str().to_owned(), ..asked.as_ref().clone() };
    Ok(receiver.with(Stage::Decision(Box::new(receiver.authorizer.authorize(&asked)))))
}

fn decision<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let Some(AuthorizerValue { stage: Stage::Decision(decision), .. }) = receiver(call) else {
        return call.no_such_overload();
    };
    Ok(match call.function {
        "allowed" => Value::Bool(decision.allowed),
        "errored" => Value::Bool(decision.error.is_some()),
        "error" => Value::string(decision.error.as_deref().unwrap_or_default()),
        _ => Value::string(decision.reason.as_str()),
    })
}
