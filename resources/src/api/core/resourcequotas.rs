//! `v1 ResourceQuota`: ResourceQuota sets aggregate quota restrictions enforced per namespace.

mod scopes;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::ResourceQuota;
use serde_json::Value;

/// `resourcequotas` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ResourceQuota,
    version = "v1",
    short("quota"),
    status,
    returns_deleted_object,
    columns = COLUMNS,
    strategy = strategy::ResourceQuotaStrategy,
)]
pub struct ResourceQuotas;

static COLUMNS: &[Column] =
    &[Column::NAME, Column::text("Request", requests).described("Request represents a minimum amount of cpu/memory that a container may consume."), Column::text("Limit", limits).described("Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."), Column::AGE];

/// Returns used and allowed requests and counts: `pods: 1/10, requests.cpu: 1/2`.
fn requests(object: &Object) -> Value {
    shares(object, |resource| !is_limit(resource))
}

/// Returns used and allowed limits.
fn limits(object: &Object) -> Value {
    shares(object, is_limit)
}

fn is_limit(resource: &str) -> bool {
    resource == "limits.cpu" || resource == "limits.memory" || resource.starts_with("limits.")
}

fn shares(object: &Object, wanted: impl Fn(&str) -> bool) -> Value {
    let status = ResourceQuota(object).status();
    let used = status.used();
    let hard = status.hard();
    let shown: Vec<String> = hard
        .entries()
        .filter(|(resource, _)| wanted(resource))
        .map(|(resource, allowed)| {
            let used = used.entry(resource);
            let used = if used.exists() { used.text() } else { "0" };
            format!("{resource}: {used}/{}", allowed.text())
        })
        .collect();
    shown.join(", ").into()
}
