//! Refusals of writes by plug-ins.
//!
//! Kubernetes concept: `NewForbidden` in `k8s.io/apiserver/pkg/admission`.

use registry_core::admission::Attributes;
use registry_core::api::{Object, Reason, StatusError};
use resource_views::core::v1::Pod;

/// Returns the refusal of a write: its resource and name, and the reason.
pub(super) fn forbidden(
    attributes: &Attributes<'_>,
    object: Option<&Object>,
    why: impl std::fmt::Display,
) -> StatusError {
    StatusError::forbidden(attributes.resource.group_resource(), name_of(attributes, object), why)
}

/// Returns the error of a plug-in that fails without an API status.
pub(super) fn failed(why: impl Into<String>) -> StatusError {
    StatusError::new(Reason::Unknown, why)
}

/// Returns the name in a refusal. The name of an object that is being created may not be generated yet.
///
/// Objects of all kinds have the same metadata.
fn name_of<'a>(attributes: &Attributes<'a>, object: Option<&'a Object>) -> &'a str {
    let prefix = || object.map(|object| Pod(object).metadata().generate_name().text());
    let own = object.map(Object::name).filter(|name| !name.is_empty());
    match attributes.name {
        "" => own.or_else(prefix).filter(|name| !name.is_empty()).unwrap_or("Unknown"),
        name => name,
    }
}
