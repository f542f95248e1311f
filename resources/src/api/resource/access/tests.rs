use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, Object, StatusError, UpdateOptions};
use registry_core::context::UserInfo;
use registry_core::features::Features;
use registry_core::registry::{InstalledApi, Services, StatusRules};
use registry_core::resource::Resource;
use registry_core::rest::access::{AccessDecision, AccessReviewer, InvalidToken, KnownToken, WantedAccess};
use registry_core::rest::{AdmitAll, Creater as _, UpdatedObject};
use serde_json::{Value, json};

use super::restrict_access;
use crate::api::core::namespaces::Namespaces;
use crate::api::resource::resourceclaims::ResourceClaims;
use crate::testing;

/// Users hold the permissions that their groups list, as `VERB RESOURCE/SUBRESOURCE NAMESPACE/NAME`.
struct ByGroups;

#[async_trait]
impl AccessReviewer for ByGroups {
    async fn decide(&self, user: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
        let WantedAccess::Resource(wanted) = wanted else { return AccessDecision::default() };
        let permission = format!(
            "{} {}/{} {}/{}",
            wanted.verb, wanted.resource, wanted.subresource, wanted.namespace, wanted.name
        );
        AccessDecision {
            allowed: user.groups.contains(&permission),
            reason: "nobody allows it".to_owned(),
            ..AccessDecision::default()
        }
    }

    async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
        Err(InvalidToken::Unknown)
    }
}

struct Replace(Object);

#[async_trait]
impl UpdatedObject for Replace {
    async fn updated_object(
        &mut self,
        _context: &RequestContext,
        _current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        Ok(self.0.clone())
    }
}

async fn installed() -> InstalledApi {
    let installed = testing::installed(&["namespaces", "resourceclaims", "resourceclaimtemplates"]);
    for (name, labels) in
        [("plain", json!({})), ("admin", json!({"resource.kubernetes.io/admin-access": "true"}))]
    {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        testing::create::<Namespaces>(&installed, namespace).await;
    }
    let services = Services { access: Arc::new(ByGroups), ..Services::default() };
    restrict_access(&installed, &services, Features::default());
    installed
}

fn claim(namespace: &str, admin_access: bool, status: &Value) -> Object {
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {
            "deviceClassName": "gpu.example.org", "allocationMode": "ExactCount", "count": 1, "adminAccess": admin_access,
        }}]}},
        "status": status,
    });
    Object::from_value(claim).unwrap()
}

fn context(namespace: &str, name: &str, permissions: &[&str]) -> RequestContext {
    let groups = permissions.iter().map(ToString::to_string).collect();
    let mut user = UserInfo { name: name.to_owned(), groups, ..UserInfo::default() };
    user.extra = vec![("authentication.kubernetes.io/node-name".to_owned(), vec!["node-1".to_owned()])];
    let mut context = RequestContext::new(user, namespace);
    context.verb = "update";
    context
}

async fn create(installed: &InstalledApi, namespace: &str, admin_access: bool) -> Result<(), String> {
    let store = installed.store(ResourceClaims::TYPE).unwrap();
    let claim = claim(namespace, admin_access, &json!({}));
    let created = store
        .create(&context(namespace, "jane", &[]), claim.into(), &AdmitAll, &CreateOptions::default())
        .await;
    created.map(drop).map_err(|failure| failure.message)
}

async fn set_status(
    installed: &InstalledApi,
    context: &RequestContext,
    status: &Value,
) -> Result<(), String> {
    let store = installed.store(ResourceClaims::TYPE).unwrap();
    let mut update = Replace(claim(&context.namespace, false, status));
    let updated = store
        .with_rules(&StatusRules)
        .update(context, "c", &mut update, &AdmitAll, &UpdateOptions::default())
        .await;
    updated.map(drop).map_err(|failure| failure.message)
}

fn allocation(admin_access: bool) -> Value {
    json!({
        "devices": {"results": [{
            "request": "r", "driver": "gpu.example.org", "pool": "p", "device": "d", "adminAccess": admin_access,
        }]},
        "nodeSelector": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]},
        ]},
    })
}

const BIND: &str = "update resourceclaims/binding /";
const LABEL: &str = "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace";

#[tokio::test]
async fn administrators_access_needs_the_label_of_the_namespace() {
    let installed = installed().await;
    let refused = create(&installed, "plain", true).await.unwrap_err();
    assert_eq!(
        refused,
        format!(
            "ResourceClaim.resource.k8s.io \"c\" is invalid: spec.devices.requests[0].adminAccess: {LABEL}"
        )
    );
    create(&installed, "admin", true).await.unwrap();
    create(&installed, "plain", false).await.unwrap();

    let by_scheduler = context("plain", "scheduler", &[BIND]);
    let refused =
        set_status(&installed, &by_scheduler, &json!({"allocation": allocation(true)})).await.unwrap_err();
    assert_eq!(
        refused,
        format!(
            "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation.devices.results[0].adminAccess: {LABEL}"
        )
    );
    set_status(&installed, &by_scheduler, &json!({"allocation": allocation(false)})).await.unwrap();
}

#[tokio::test]
async fn each_part_of_the_status_needs_its_permission() {
    let installed = installed().await;
    create(&installed, "plain", false).await.unwrap();
    let allocated = json!({"allocation": allocation(false)});

    let refused = set_status(&installed, &context("plain", "jane", &[]), &allocated).await.unwrap_err();
    assert_eq!(
        refused,
        "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation: Forbidden: changing status.allocation or \
         status.reservedFor requires resource=\"resourceclaims/binding\", verb=\"update\" permission: \
         resourceclaims.resource.k8s.io is forbidden: User \"jane\" cannot update resource \"resourceclaims/binding\" in API \
         group \"resource.k8s.io\" at the cluster scope: nobody allows it"
    );
    set_status(&installed, &context("plain", "jane", &[BIND]), &allocated).await.unwrap();

    let mut with_device = allocated.clone();
    with_device["devices"] = json!([{"driver": "gpu.example.org", "pool": "p", "device": "d", "networkData": {"interfaceName": "e0"}}]);
    let refused = set_status(&installed, &context("plain", "jane", &[BIND]), &with_device).await.unwrap_err();
    assert_eq!(
        refused,
        "ResourceClaim.resource.k8s.io \"c\" is invalid: status.devices: Forbidden: changing status.devices requires \
         resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:update]\" permission: resourceclaims.resource.k8s.io \
         \"gpu.example.org\" is forbidden: User \"jane\" cannot arbitrary-node:update resource \"resourceclaims/driver\" in API \
         group \"resource.k8s.io\" in the namespace \"plain\": nobody allows it"
    );
    let anywhere = ["arbitrary-node:update resourceclaims/driver plain/gpu.example.org"];
    set_status(&installed, &context("plain", "jane", &anywhere), &with_device).await.unwrap();

    // A driver that may write only from the claim's own node removes its device again.
    let own_node = ["associated-node:update resourceclaims/driver plain/gpu.example.org"];
    set_status(&installed, &context("plain", "jane", &own_node), &allocated).await.unwrap_err();
    let driver = context("plain", "system:serviceaccount:drivers:gpu", &own_node);
    set_status(&installed, &driver, &allocated).await.unwrap();
}
