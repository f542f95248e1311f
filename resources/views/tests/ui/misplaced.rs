//! A field of another struct, and a field of a list that one of its elements has.

use registry_core::api::Object;
use resource_views::apps::v1::Deployment;

fn rule(object: &Object) -> bool {
    Deployment(object).replicas().exists()
}

fn element(object: &Object) -> bool {
    let spec = Deployment(object).spec();
    let template = spec.template();
    let pod = template.spec();
    pod.containers().image().exists()
}

fn main() {}
