//! `networking.k8s.io/v1 IPAddress`: IPAddress represents a single IP of a single IP Family.

mod strategy;
pub mod v1beta1;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::networking::v1::IPAddress;
use serde_json::Value;

/// `ipaddresses` of `networking.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1::IPAddress,
    group = "networking.k8s.io",
    version = "v1",
    introduced = "1.33",
    short("ip"),
    cluster,
    columns = COLUMNS,
    names = Any,
    strategy = strategy::IPAddressStrategy,
)]
pub struct IPAddresses;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("ParentRef", parent).documented_by(&["spec", "parentRef"]),
    // Kubernetes prints the age, but does not define its column.
    Column { name: "", ..Column::AGE },
];

/// Returns the object that the address belongs to: `services/default/web`.
fn parent(object: &Object) -> Value {
    let spec = IPAddress(object).spec();
    let parent = spec.parent_ref();
    if !parent.exists() {
        return "<none>".into();
    }
    let [group, resource, namespace, name] =
        [parent.group(), parent.resource(), parent.namespace(), parent.name()].map(|field| field.text());
    let resource = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    let resource = resource.to_lowercase();
    if namespace.is_empty() {
        format!("{resource}/{name}").into()
    } else {
        format!("{resource}/{namespace}/{name}").into()
    }
}
