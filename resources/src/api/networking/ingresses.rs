//! `networking.k8s.io/v1 Ingress`: the rules by which connections from outside reach Services.

mod retired;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::networking::v1::Ingress;
use serde_json::Value;

use crate::support::printers;

/// `ingresses` of `networking.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1::Ingress,
    group = "networking.k8s.io",
    version = "v1",
    retired("networking.k8s.io/v1beta1" => retired::renew, "extensions/v1beta1" => retired::renew),
    short("ing"),
    status,
    generation,
    columns = COLUMNS,
    strategy = strategy::IngressStrategy,
)]
pub struct Ingresses;

/// The class annotation of ingresses, which precedes the field of the spec.
pub(crate) const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Class", |object| printers::text_or(object, &["spec", "ingressClassName"], "<none>"))
        .described("The name of the IngressClass resource that should be used for additional configuration"),
    Column::text("Hosts", hosts)
        .described("Hosts that incoming requests are matched against before the ingress rule"),
    Column::text("Address", addresses)
        .described("Address is a list containing ingress points for the load-balancer"),
    Column::text("Ports", ports).described("Ports of TLS configurations that open"),
    Column::AGE,
];

/// Returns the hosts of the rules; `*` if there are none.
fn hosts(object: &Object) -> Value {
    const SHOWN: usize = 3;
    let spec = Ingress(object).spec();
    let rules = spec.rules();
    let mut hosts = Vec::new();
    for host in rules.elements().map(|rule| rule.host().text()) {
        // Kubernetes counts rules without hosts among those that are not shown.
        if hosts.len() == SHOWN {
            return format!("{} + {} more...", hosts.join(","), rules.len() - SHOWN).into();
        }
        if !host.is_empty() {
            hosts.push(host);
        }
    }
    if hosts.is_empty() { "*".into() } else { hosts.join(",").into() }
}

/// Returns the addresses of the load balancer.
fn addresses(object: &Object) -> Value {
    Vec::from_iter(printers::balancer_addresses(object)).join(",").into()
}

/// Returns 80, and 443 if the ingress terminates TLS.
fn ports(object: &Object) -> Value {
    if Ingress(object).spec().tls().is_empty() { "80".into() } else { "80, 443".into() }
}
