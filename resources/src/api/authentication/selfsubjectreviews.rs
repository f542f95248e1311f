//! `authentication.k8s.io/v1 SelfSubjectReview`: the identity of the requesting user.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError, time};
use registry_core::registry::{Services, VirtualStorage};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use registry_core::rest::access::AccessReviewer;
use registry_core::schema::Schema;
use registry_derive::Resource;
use serde_json::{Value, json};

use crate::support::review::{Review, ReviewStorage, blank, user_info};

/// `selfsubjectreviews` of `authentication.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::authentication::v1::SelfSubjectReview,
    group = "authentication.k8s.io",
    version = "v1",
    cluster,
    storage = WhoAmI,
)]
pub struct SelfSubjectReviews;

/// Returns the user that the server authenticated.
pub struct WhoAmI;

impl VirtualStorage for WhoAmI {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        ReviewStorage::<Self>::install(resource, services)
    }
}

#[async_trait]
impl Review for WhoAmI {
    async fn answer(
        _access: &dyn AccessReviewer,
        context: &RequestContext,
        _question: &Object,
    ) -> Result<Value, StatusError> {
        Ok(json!({ "userInfo": user_info(&context.user) }))
    }

    fn response(question: Object, schema: &Schema) -> Object {
        let mut response = blank(&question, schema);
        response.metadata_mut().insert("creationTimestamp".to_owned(), time::now().into());
        response
    }
}
