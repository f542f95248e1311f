//! `authentication.k8s.io/v1 TokenReview`: the user of a token.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Services, VirtualStorage};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use registry_core::rest::access::AccessReviewer;
use registry_derive::Resource;
use resource_views::authentication::v1::TokenReview;
use serde_json::{Value, json};

use crate::support::review::{Review, ReviewStorage, user_info};

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

/// Returns the user that a token authenticates.
pub struct TokenOwner;

impl VirtualStorage for TokenOwner {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
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
        let token = TokenReview(question).spec().token().text();
        if token.is_empty() {
            return Err(StatusError::bad_request("token is required for TokenReview in authentication"));
        }
        let wanted: Vec<String> =
            TokenReview(question).spec().audiences().texts().map(str::to_owned).collect();
        Ok(match access.user_of_token(token, &wanted).await {
            Ok(known) => {
                let mut answer = json!({ "authenticated": true, "user": user_info(&known.user) });
                if let (Some(fields), false) = (answer.as_object_mut(), known.audiences.is_empty()) {
                    fields.insert("audiences".to_owned(), known.audiences.into());
                }
                answer
            }
            Err(reason) => json!({ "user": {}, "error": reason.to_string() }),
        })
    }
}
