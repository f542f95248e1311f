//! `OwnerReferencesPermissionEnforcement`: who makes an object belong to another one may delete the object, and, if its
//! deletion shall wait for it, may set finalizers on the owner.
//!
//! Kubernetes concept: `plugin/pkg/admission/gc`.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError, split_api_version};
use registry_core::rest::access::{AccessReviewer, ResourceAccess, WantedAccess};
use resource_views::Typed as _;
use resource_views::core::v1::Pod;
use resource_views::meta::v1::OwnerReference;
use serde_json::Value;

use super::refusal::forbidden;

/// Maximum number of owners of one object for which the authorizer is asked. Controllers set fewer.
const MAX_OWNERS: usize = 100;

/// The plug-in.
pub(super) struct OwnerReferences(pub(super) Arc<dyn AccessReviewer>);

/// Error of an access that the user does not have. The text is the authorizer's.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
struct Denied {
    reason: String,
}

/// Error of an owner whose kind is not served. The text is Kubernetes'.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {api_version} Kind {kind}: no \
     matches for kind {kind:?} in version {api_version:?}"
)]
struct NoKind {
    api_version: String,
    kind: String,
}

impl OwnerReferences {
    async fn decide(&self, context: &RequestContext, wanted: ResourceAccess) -> Result<(), Denied> {
        let decision = self.0.decide(&context.user, &WantedAccess::Resource(wanted)).await;
        if decision.allowed { Ok(()) } else { Err(Denied { reason: decision.reason }) }
    }

    /// Checks that the user may delete an object whose owners change.
    async fn check_object(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: &Object,
    ) -> Result<(), StatusError> {
        let resource = attributes.resource;
        let wanted = ResourceAccess {
            verb: "delete".to_owned(),
            group: resource.group.to_owned(),
            version: resource.version.to_owned(),
            resource: resource.resource.to_owned(),
            subresource: attributes.subresource.to_owned(),
            namespace: context.namespace.clone(),
            name: attributes.name.to_owned(),
            ..ResourceAccess::default()
        };
        self.decide(context, wanted).await.map_err(|Denied { reason }| {
            let why = format!("cannot set an ownerRef on a resource you can't delete: {reason}, <nil>");
            forbidden(attributes, Some(object), why)
        })
    }

    /// Checks that the user may set finalizers on owners whose deletion shall wait for the object.
    async fn check_owners(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: &Object,
        owners: &[&Value],
    ) -> Result<(), StatusError> {
        let anything = ResourceAccess {
            verb: "update".to_owned(),
            group: "*".to_owned(),
            version: "*".to_owned(),
            resource: "*".to_owned(),
            subresource: "finalizers".to_owned(),
            name: "*".to_owned(),
            ..ResourceAccess::default()
        };
        if owners.is_empty() || self.decide(context, anything).await.is_ok() {
            return Ok(());
        }
        let refused = |why: String| forbidden(attributes, Some(object), why);
        if owners.len() > MAX_OWNERS {
            return Err(refused(format!("cannot set blockOwnerDeletion on more than {MAX_OWNERS} owners")));
        }
        for owner in owners {
            let wanted =
                finalizers_of(context, attributes, owner).map_err(|error| refused(error.to_string()))?;
            self.decide(context, wanted).await.map_err(|Denied { reason }| {
                refused(format!(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: \
                     {reason}, <nil>"
                ))
            })?;
        }
        Ok(())
    }
}

#[async_trait]
impl ValidatingAdmission for OwnerReferences {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(new) = write.object else { return Ok(()) };
        let resource = write.attributes.resource;
        // The nodes report it often, and cannot change owners by it.
        let is_report =
            (resource.group, resource.resource, write.attributes.subresource) == ("", "pods", "status");
        let is_write = Operation::WRITES.contains(&write.attributes.operation);
        if !is_write || is_report || owners(new) == write.old.map(owners).unwrap_or_default() {
            return Ok(());
        }
        if write.attributes.operation == Operation::Update {
            self.check_object(context, write.attributes, new).await?;
        }
        self.check_owners(context, write.attributes, new, &newly_blocked(new, write.old)).await
    }
}

fn owners(object: &Object) -> &[Value] {
    // Objects of all kinds have them at the same place.
    Pod(object).metadata().owner_references().values()
}

fn uid_of(owner: &Value) -> &str {
    OwnerReference::from_value(owner).uid().text()
}

fn blocks(owner: &Value) -> bool {
    OwnerReference::from_value(owner).block_owner_deletion().is_true()
}

/// Returns the owners whose deletion did not wait for the object before.
fn newly_blocked<'o>(new: &'o Object, old: Option<&Object>) -> Vec<&'o Value> {
    let before: HashMap<&str, bool> =
        old.map(owners).unwrap_or_default().iter().map(|owner| (uid_of(owner), blocks(owner))).collect();
    let blocked = owners(new).iter().filter(|owner| blocks(owner));
    blocked.filter(|owner| before.get(uid_of(owner)) != Some(&true)).collect()
}

/// Returns the access to an owner's finalizers.
fn finalizers_of(
    context: &RequestContext,
    attributes: &Attributes<'_>,
    owner: &Value,
) -> Result<ResourceAccess, NoKind> {
    let owner = OwnerReference::from_value(owner);
    let (api_version, kind) = (owner.api_version().text(), owner.kind().text());
    let (group, version) = split_api_version(api_version);
    let path = attributes.kinds.path_of_kind(group, version, kind);
    let path = path.ok_or_else(|| NoKind { api_version: api_version.to_owned(), kind: kind.to_owned() })?;
    let resource = path.resource.resource();
    let namespace = if path.resource.is_namespaced() { context.namespace.clone() } else { String::new() };
    Ok(ResourceAccess {
        verb: "update".to_owned(),
        group: resource.group.to_owned(),
        version: resource.version.to_owned(),
        resource: resource.resource.to_owned(),
        subresource: "finalizers".to_owned(),
        namespace,
        name: owner.name().text().to_owned(),
        ..ResourceAccess::default()
    })
}

#[cfg(test)]
mod tests {
    use registry_core::admission::ObjectWrite;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};
    use registry_core::context::UserInfo;
    use registry_core::rest::access::{AccessDecision, InvalidToken, KnownToken};
    use serde_json::json;

    use super::*;

    /// Allows these accesses: `verb resource/subresource`.
    struct Allows(&'static [&'static str]);

    #[async_trait]
    impl AccessReviewer for Allows {
        async fn decide(&self, _: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
            let WantedAccess::Resource(access) = wanted else { return AccessDecision::default() };
            let shown = format!("{} {}/{}", access.verb, access.resource, access.subresource);
            AccessDecision { allowed: self.0.contains(&shown.as_str()), ..AccessDecision::default() }
        }

        async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
            Err(InvalidToken::Unknown)
        }
    }

    fn map(owner: Option<bool>) -> Object {
        let owners: Vec<Value> = owner
            .map(|blocks| json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "blockOwnerDeletion": blocks}))
            .into_iter()
            .collect();
        Object::from_value(json!({"metadata": {"name": "m", "ownerReferences": owners}})).unwrap()
    }

    #[tokio::test]
    async fn owners_are_set_by_those_who_could_delete() {
        let resource = GroupVersionResource { group: "", version: "v1", resource: "configmaps" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "ConfigMap" };
        let refusal = async |allowed, new: Object, old: Option<Object>| {
            let operation = if old.is_some() { Operation::Update } else { Operation::Create };
            let attributes = Attributes::new(operation, resource, kind, "m");
            let plugin = OwnerReferences(Arc::new(Allows(allowed)));
            let context = RequestContext::default();
            let checked =
                plugin.validate(&context, ObjectWrite::new(&attributes, Some(&new), old.as_ref())).await;
            checked.err().map(|why| why.message)
        };
        assert_eq!(refusal(&[], map(Some(false)), None).await, None);
        let refused = refusal(&[], map(Some(false)), Some(map(None))).await.unwrap();
        assert!(refused.contains("cannot set an ownerRef on a resource you can't delete"), "{refused}");
        assert_eq!(refusal(&["delete configmaps/"], map(Some(false)), Some(map(None))).await, None);
        assert_eq!(refusal(&[], map(Some(true)), Some(map(Some(true)))).await, None);
        assert_eq!(refusal(&["update */finalizers"], map(Some(true)), None).await, None);
        // The kind of the owner is not served.
        let unknown = refusal(&[], map(Some(true)), None).await.unwrap();
        assert!(unknown.contains("cannot find RESTMapping for APIVersion v1 Kind Node"), "{unknown}");
    }
}
