//! `authorization.k8s.io/v1 SelfSubjectAccessReview`: whether the requesting user may perform an action.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Services, VirtualStorage};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use registry_core::rest::access::AccessReviewer;
use registry_derive::Resource;
use serde_json::Value;

use super::access::{Subject, answer};
use crate::support::review::{Review, ReviewStorage};

/// `selfsubjectaccessreviews` of `authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::authorization::v1::SelfSubjectAccessReview,
    group = "authorization.k8s.io",
    version = "v1",
    cluster,
    storage = OwnAccess,
)]
pub struct SelfSubjectAccessReviews;

/// Answers whether the requesting user may perform an action.
pub struct OwnAccess;

impl VirtualStorage for OwnAccess {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        ReviewStorage::<Self>::install(resource, services)
    }
}

#[async_trait]
impl Review for OwnAccess {
    async fn answer(
        access: &dyn AccessReviewer,
        context: &RequestContext,
        question: &Object,
    ) -> Result<Value, StatusError> {
        answer(access, question, Subject::Asking(&context.user), None).await
    }
}
