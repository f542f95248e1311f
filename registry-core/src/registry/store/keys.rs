//! Conversion of names and namespaces to keys, with kube-apiserver's layout.

use crate::api::go_text;
use crate::api::validation::names;
use crate::api::{Object, StatusError};
use crate::context::RequestContext;

use super::Store;

impl Store {
    /// Returns the key of the object with this name in the context's namespace, for example
    /// `/registry/pods/default/web`.
    ///
    /// # Errors
    /// 400 if the namespace or the name is missing or not a valid path segment.
    pub fn key(&self, context: &RequestContext, name: &str) -> Result<String, StatusError> {
        self.key_in(&context.namespace, name)
    }

    pub(super) fn key_in(&self, namespace: &str, name: &str) -> Result<String, StatusError> {
        let namespace = self.resource.is_namespaced().then_some(namespace);
        if let Some(namespace) = namespace {
            if namespace.is_empty() {
                return Err(StatusError::bad_request("Namespace parameter required."));
            }
            check_segment("Namespace", namespace)?;
        }
        if name.is_empty() {
            return Err(StatusError::bad_request("Name parameter required."));
        }
        check_segment("Name", name)?;
        Ok(match namespace {
            Some(namespace) => format!("{}/{namespace}/{name}", self.root),
            None => format!("{}/{name}", self.root),
        })
    }

    /// Returns the prefix of the keys of a namespace (of all namespaces if it is empty), with a trailing slash.
    pub(super) fn key_prefix(&self, namespace: &str) -> Result<String, StatusError> {
        if !self.resource.is_namespaced() || namespace.is_empty() {
            return Ok(format!("{}/", self.root));
        }
        check_segment("Namespace", namespace)?;
        Ok(format!("{}/{namespace}/", self.root))
    }

    /// Checks that an object is in the context's namespace; sets the namespace if the object has none.
    pub(super) fn match_namespace(
        &self,
        context: &RequestContext,
        object: &mut Object,
    ) -> Result<(), StatusError> {
        if !self.resource.is_namespaced() {
            object.metadata_mut().remove("namespace");
            return Ok(());
        }
        match object.namespace() {
            own if own == context.namespace => Ok(()),
            "" => {
                object.metadata_mut().insert("namespace".to_owned(), context.namespace.as_str().into());
                Ok(())
            }
            _ => Err(StatusError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            )),
        }
    }
}

/// Checks that an object has the requested name.
pub(super) fn match_name(object: &Object, name: &str) -> Result<(), StatusError> {
    match object.name() {
        own if own == name => Ok(()),
        "" => Err(StatusError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        other => Err(StatusError::bad_request(format!(
            "the name of the object ({other}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Rejects segments that would lead to another object's key: `.`, `..` and anything with a `/` or `%`.
fn check_segment(what: &str, segment: &str) -> Result<(), StatusError> {
    let complaints = names::path_segment(segment);
    if complaints.is_empty() {
        return Ok(());
    }
    let (segment, why) = (go_text::quote(segment), complaints.join(";"));
    Err(StatusError::bad_request(format!("{what} parameter invalid: {segment}: {why}")))
}
