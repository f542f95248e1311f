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
    let hosts = rules.elements().map(|rule| rule.host().text()).filter(|host| !host.is_empty());
    let hosts: Vec<String> = hosts.map(str::to_owned).collect();
    if hosts.is_empty() { "*".into() } else { printers::some_of(&hosts, SHOWN) }
}

/// Returns the addresses of the load balancer.
fn addresses(object: &Object) -> Value {
    let status = Ingress(object).status();
    let balancer = status.load_balancer();
    let ingress = balancer.ingress();
    let own: Vec<&str> = ingress
        .elements()
        .filter_map(|entry| entry.ip().optional_text().or_else(|| entry.hostname().optional_text()))
        .collect();
    own.join(",").into()
}

/// Returns 80, and 443 if the ingress terminates TLS.
fn ports(object: &Object) -> Value {
    if Ingress(object).spec().tls().is_empty() { "80".into() } else { "80, 443".into() }
}
