//! `AlwaysDeny`: refuses every write. For tests of clients.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut};
use registry_core::api::StatusError;

use super::refusal::forbidden;

/// The plug-in.
pub(super) struct AlwaysDeny;

#[async_trait]
impl MutatingAdmission for AlwaysDeny {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let object = write.object.map(|object| &*object).or(write.old);
        Err(forbidden(write.attributes, object, "admission control is denying all modifications"))
    }
}
