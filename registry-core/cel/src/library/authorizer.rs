//! Checks of the authorizer.

use super::{Call, Native};
use crate::value::foreign::authorizer::{AuthorizerValue, Check, Stage};
use crate::value::{Evaluated, Foreign, Value, fail};
use registry_meta::validation::names;

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

fn receiver<'c>(call: &Call<'_, 'c>) -> Option<&'c AuthorizerValue> {
    match call.foreign(0)? {
        Foreign::Authorizer(value) => Some(value),
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
