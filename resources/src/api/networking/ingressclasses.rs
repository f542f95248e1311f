//! `networking.k8s.io/v1 IngressClass`: IngressClass represents the class of the Ingress, referenced by the Ingress Spec.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::{Cell, Column};
use registry_derive::Resource;
use resource_views::networking::v1::IngressClass;
use serde_json::Value;

use crate::support::printers;

/// `ingressclasses` of `networking.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1::IngressClass,
    group = "networking.k8s.io",
    version = "v1",
    retired("networking.k8s.io/v1beta1"),
    cluster,
    generation,
    columns = COLUMNS,
    strategy = strategy::IngressClassStrategy,
)]
pub struct IngressClasses;

/// The annotation of the class of ingresses that name none.
pub(crate) const IS_DEFAULT: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

static COLUMNS: &[Column] = &[
    Column { cell: Cell::Computed(|object| printers::name_of_class(object, &IS_DEFAULT)), ..Column::NAME },
    Column::text("Controller", |object| printers::text(object, &["spec", "controller"]))
        .described("Controller that is responsible for handling this class"),
    Column::text("Parameters", parameters).described("A reference to a resource with additional parameters"),
    Column::AGE,
];

/// Returns the reference to the parameters, as `Kind.group/name`.
fn parameters(object: &Object) -> Value {
    let spec = IngressClass(object).spec();
    let parameters = spec.parameters();
    let Some(name) = parameters.name().optional_text() else { return "<none>".into() };
    let kind = parameters.kind().text();
    match parameters.api_group().optional_text() {
        Some(group) => format!("{kind}.{group}/{name}").into(),
        None => format!("{kind}/{name}").into(),
    }
}
