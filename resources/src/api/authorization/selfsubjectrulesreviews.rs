//! `authorization.k8s.io/v1 SelfSubjectRulesReview`: the actions that the requesting user may perform in a namespace.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Services, VirtualStorage};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use registry_core::rest::access::AccessReviewer;
use registry_core::schema::Schema;
use registry_derive::Resource;
use resource_views::authorization::v1::SelfSubjectRulesReview;
use serde_json::{Value, json};

use crate::support::review::{Review, ReviewStorage, blank};

/// `selfsubjectrulesreviews` of `authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::authorization::v1::SelfSubjectRulesReview,
    group = "authorization.k8s.io",
    version = "v1",
    cluster,
    storage = SelfSubjectRules,
)]
pub struct SelfSubjectRulesReviews;

/// Returns the actions that the requesting user may perform in a namespace.
pub struct SelfSubjectRules;

impl VirtualStorage for SelfSubjectRules {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        ReviewStorage::<Self>::install(resource, services)
    }
}

#[async_trait]
impl Review for SelfSubjectRules {
    async fn answer(
        access: &dyn AccessReviewer,
        context: &RequestContext,
        question: &Object,
    ) -> Result<Value, StatusError> {
        let namespace = SelfSubjectRulesReview(question).spec().namespace().text();
        if namespace.is_empty() {
            return Err(StatusError::bad_request("no namespace on request"));
        }
        let rules = access.rules_of(&context.user, namespace).await;
        let resources: Vec<Value> = rules
            .resources
            .into_iter()
            .map(|rule| {
                let mut shown = json!({
                    "verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources,
                });
                if let (false, Some(fields)) = (rule.names.is_empty(), shown.as_object_mut()) {
                    fields.insert("resourceNames".to_owned(), rule.names.into());
                }
                shown
            })
            .collect();
        let paths: Vec<Value> = rules
            .paths
            .into_iter()
            .map(|rule| json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths }))
            .collect();
        let mut status = json!({
            "resourceRules": resources, "nonResourceRules": paths, "incomplete": rules.incomplete,
        });
        if let (false, Some(fields)) = (rules.error.is_empty(), status.as_object_mut()) {
            fields.insert("evaluationError".to_owned(), rules.error.into());
        }
        Ok(status)
    }

    fn response(question: Object, schema: &Schema) -> Object {
        blank(&question, schema)
    }
}
