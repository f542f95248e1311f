//! `authorization.k8s.io/v1 SubjectAccessReview`: whether a user may perform an action.

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

/// `subjectaccessreviews` of `authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::authorization::v1::SubjectAccessReview,
    group = "authorization.k8s.io",
    version = "v1",
    cluster,
    storage = SubjectAccess,
)]
pub struct SubjectAccessReviews;

/// Answers whether a user may perform an action.
pub struct SubjectAccess;

impl VirtualStorage for SubjectAccess {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        ReviewStorage::<Self>::install(resource, services)
    }
}

#[async_trait]
impl Review for SubjectAccess {
    async fn answer(
        access: &dyn AccessReviewer,
        _context: &RequestContext,
        question: &Object,
    ) -> Result<Value, StatusError> {
        answer(access, question, Subject::Named, None).await
    }
}
