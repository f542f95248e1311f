//! `authentication.k8s.io/v1 TokenReview`: whose token is this?

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Services, VirtualStorage};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use registry_core::rest::access::AccessReviewer;
use registry_derive::Resource;
use serde_json::{Value, json};

use crate::review::{Review, ReviewStorage, user_info};

/// `tokenreviews` of `authentication.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::authentication::v1::TokenReview,
    group = "authentication.k8s.io",
    version = "v1",
    cluster,
    storage = TokenOwner,
)]
pub struct TokenReviews;

/// Finds out whose a token is.
pub struct TokenOwner;

impl VirtualStorage for TokenOwner {
    fn install(resource: &'static ResourceType, services: &Services) -> Capabilities {
        ReviewStorage::<Self>::install(resource, services)
    }
}

#[async_trait]
impl Review for TokenOwner {
    async fn answer(
        access: &dyn AccessReviewer,
        _context: &RequestContext,
        question: &Object,
    ) -> Result<Value, StatusError> {
        let token = question.get_str(&["spec", "token"]).unwrap_or_default();
        if token.is_empty() {
            return Err(StatusError::bad_request("token is required for TokenReview in authentication"));
        }
        Ok(match access.user_of_token(token).await {
            Some(user) => json!({ "authenticated": true, "user": user_info(&user) }),
            None => json!({ "user": {}, "error": "invalid bearer token" }),
        })
    }
}
