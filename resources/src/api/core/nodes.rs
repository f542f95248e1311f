//! `v1 Node`: Node is a worker node in Kubernetes.

pub mod proxy;
mod strategy;
mod validation;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::Node;
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers;

/// `nodes` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Node,
    version = "v1",
    short("no"),
    cluster,
    status,
    selectable(spec.unschedulable),
    columns = COLUMNS,
    strategy = strategy::NodeStrategy,
    subresource(proxy::NodeProxy, verbs(connect)),
)]
pub struct Nodes;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Status", status).described("The status of the node"),
    Column::text("Roles", roles).described("The roles of the node"),
    Column::AGE,
    Column::text("Version", |object| printers::text(object, &["status", "nodeInfo", "kubeletVersion"]))
        .documented_by(&["status", "nodeInfo", "kubeletVersion"]),
    Column::text("Internal-IP", |object| address(object, "InternalIP"))
        .documented_by(&["status", "addresses"])
        .wide(),
    Column::text("External-IP", |object| address(object, "ExternalIP"))
        .documented_by(&["status", "addresses"])
        .wide(),
    Column::text("OS-Image", |object| {
        printers::text_or(object, &["status", "nodeInfo", "osImage"], "<unknown>")
    })
    .documented_by(&["status", "nodeInfo", "osImage"])
    .wide(),
    Column::text("Kernel-Version", kernel).documented_by(&["status", "nodeInfo", "kernelVersion"]).wide(),
    Column::text("Container-Runtime", |object| {
        printers::text_or(object, &["status", "nodeInfo", "containerRuntimeVersion"], "<unknown>")
    })
    .documented_by(&["status", "nodeInfo", "containerRuntimeVersion"])
    .wide(),
];

/// Returns whether the node is ready, and whether pods may be scheduled to it.
fn status(object: &Object) -> Value {
    let ready = conditions::find(object, "Ready");
    let mut words = vec![match ready.map(|ready| ready.status().text()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }];
    if Node(object).spec().unschedulable().is_true() {
        words.push("SchedulingDisabled");
    }
    words.join(",").into()
}

/// Returns the roles in the node's labels.
fn roles(object: &Object) -> Value {
    let mut roles: Vec<&str> = object
        .labels()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => Some(role),
            _ if key == "kubernetes.io/role" && !value.is_empty() => Some(value),
            _ => None,
        })
        .collect();
    roles.sort_unstable();
    roles.dedup();
    printers::or_none(roles.join(","))
}

/// Returns the version of the kernel, and the architecture of the machine: `6.12.0 (amd64)`.
fn kernel(object: &Object) -> Value {
    let status = Node(object).status();
    let system = status.node_info();
    let version = system.kernel_version().optional_text().filter(|version| !version.is_empty());
    let version = version.unwrap_or("<unknown>");
    match system.architecture().text() {
        "" => version.into(),
        architecture => format!("{version} ({architecture})").into(),
    }
}

/// Returns the node's first address of a type.
fn address(object: &Object, wanted: &str) -> Value {
    let status = Node(object).status();
    let addresses = status.addresses();
    let found = addresses.elements().find(|address| address.r#type().text() == wanted);
    printers::or_none(found.map_or("", |address| address.address().text()).to_owned())
}
