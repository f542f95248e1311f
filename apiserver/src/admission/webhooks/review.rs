//! The request that a webhook receives.
//!
//! Kubernetes concept: `AdmissionReview` in `k8s.io/api/admission/v1`.

use std::collections::BTreeMap;

use bytes::Bytes;
use registry_core::RequestContext;
use registry_core::api::{GroupVersionKind, GroupVersionResource, Object};
use registry_core::context::UserInfo;
use serde::Serialize;
use serde_json::Value;

use crate::admission::Attributes;
use crate::admission::matching::{Matched, namespace_of};

/// A version of reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    /// `v1`.
    V1,
    /// `v1beta1`, whose answers are checked less.
    V1Beta1,
}

/// The write that a review is about, and the request that makes it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    /// The request.
    pub(super) context: &'a RequestContext,
    /// The attributes of the write.
    pub(super) attributes: &'a Attributes<'a>,
    /// The version that the webhook's rules match.
    pub(super) matched: &'a Matched,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    kind: &'static str,
    api_version: &'static str,
    request: ReviewedWrite<'a>,
}

/// The attributes of a write, as webhooks see them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewedWrite<'a> {
    uid: &'a str,
    kind: KindName,
    resource: ResourceName,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub_resource: &'a str,
    request_kind: KindName,
    request_resource: ResourceName,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    operation: &'static str,
    user_info: User<'a>,
    object: Option<&'a Object>,
    old_object: Option<&'a Object>,
    dry_run: bool,
    options: Option<Value>,
}

#[derive(Serialize)]
struct KindName {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
}

#[derive(Serialize)]
struct ResourceName {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
}

#[derive(Serialize)]
struct User<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<&'a str, &'a [String]>,
}

// === impl ReviewVersion ===

impl ReviewVersion {
    /// Returns a version by its name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    pub(super) const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

// === impl Subject ===

impl Subject<'_> {
    /// Returns the body of the request for a webhook, with the objects in the version that matched.
    ///
    /// # Errors
    /// Fails if the objects have no JSON form.
    pub(super) fn body(
        &self,
        version: ReviewVersion,
        uid: &str,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Bytes, serde_json::Error> {
        let Self { context, attributes, matched } = *self;
        let request = ReviewedWrite {
            uid,
            kind: matched.kind(attributes).into(),
            resource: matched.resource(attributes).into(),
            sub_resource: attributes.subresource,
            request_kind: attributes.kind.into(),
            request_resource: attributes.resource.into(),
            request_sub_resource: attributes.subresource,
            name: attributes.name,
            namespace: namespace_of(context, attributes),
            operation: attributes.operation.as_str(),
            user_info: (&context.user).into(),
            object,
            old_object: old,
            dry_run: attributes.dry_run.is_on(),
            options: attributes.options.to_value(attributes.operation),
        };
        let review = Review { kind: "AdmissionReview", api_version: version.api_version(), request };
        serde_json::to_vec(&review).map(Bytes::from)
    }
}

impl From<GroupVersionKind> for KindName {
    fn from(GroupVersionKind { group, version, kind }: GroupVersionKind) -> Self {
        Self { group, version, kind }
    }
}

impl From<GroupVersionResource> for ResourceName {
    fn from(GroupVersionResource { group, version, resource }: GroupVersionResource) -> Self {
        Self { group, version, resource }
    }
}

impl<'a> From<&'a UserInfo> for User<'a> {
    fn from(user: &'a UserInfo) -> Self {
        let extra = user.extra.iter().map(|(key, values)| (key.as_str(), values.as_slice())).collect();
        Self { username: &user.name, uid: &user.uid, groups: &user.groups, extra }
    }
}

#[cfg(test)]
mod tests {
    use registry_core::api::{DeleteOptions, DryRun};
    use serde_json::json;

    use crate::admission::{Operation, OperationOptions};

    use super::*;

    #[test]
    fn a_review_has_every_attribute() {
        let user = UserInfo {
            name: "alice".to_owned(),
            uid: "u1".to_owned(),
            groups: vec!["g".to_owned()],
            extra: vec![("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])],
        };
        let context = RequestContext::new(user, "team");
        let resource = GroupVersionResource { group: "apps", version: "v1", resource: "deployments" };
        let kind = GroupVersionKind { group: "autoscaling", version: "v1", kind: "Scale" };
        let options = DeleteOptions { dry_run: DryRun::All, ..DeleteOptions::default() };
        let mut attributes = Attributes::new(Operation::Delete, resource, kind, "web");
        attributes.subresource = "scale";
        attributes.dry_run = DryRun::All;
        attributes.options = OperationOptions::Delete(&options);
        let subject =
            Subject { context: &context, attributes: &attributes, matched: &Matched { path: None } };
        let old = Object::from_value(json!({"kind": "Scale"})).unwrap();
        let body = subject.body(ReviewVersion::V1, "x", None, Some(&old)).unwrap();
        let kind = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        let resource = json!({"group": "apps", "version": "v1", "resource": "deployments"});
        let user =
            json!({"username": "alice", "uid": "u1", "groups": ["g"], "extra": {"scopes": ["a", "b"]}});
        let options = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]});
        let expected = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": "x", "kind": kind, "resource": resource, "subResource": "scale",
                "requestKind": kind, "requestResource": resource, "requestSubResource": "scale",
                "name": "web", "namespace": "team", "operation": "DELETE", "userInfo": user,
                "object": null, "oldObject": {"kind": "Scale"}, "dryRun": true, "options": options,
            },
        });
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    }
}
