//! `AlwaysDeny`: refuses every write. For tests of clients.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, MutatingAdmission};
use registry_core::api::{Object, StatusError};

use super::refusal::forbidden;

/// The plug-in.
pub(super) struct AlwaysDeny;

#[async_trait]
impl MutatingAdmission for AlwaysDeny {
    async fn admit(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let object = object.map(|object| &*object).or(old);
        Err(forbidden(attributes, object, "admission control is denying all modifications"))
    }
}
