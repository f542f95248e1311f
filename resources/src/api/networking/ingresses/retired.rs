//! Ingresses that are stored as `v1beta1`, of this group or of `extensions`, and name a service otherwise than `v1`.
//!
//! Kubernetes concept: the conversions and defaults of `pkg/apis/networking/v1beta1` and `pkg/apis/extensions/v1beta1`.

use registry_core::api::Object;
use resource_views::networking::{v1, v1beta1};
use serde_json::Value;

/// Changes an ingress of `v1beta1` into one of `v1`.
pub(super) fn renew(ingress: &mut Object) {
    let Some(mut spec) = v1beta1::IngressMut(ingress).spec().present() else { return };
    spec.backend().edit(renew_backend);
    if let Some(backend) = spec.backend().remove() {
        v1::IngressSpecMut(spec.0).default_backend().set_value(backend);
    }
    for mut rule in spec.rules().elements() {
        let Some(mut http) = rule.http().present() else { continue };
        for mut path in http.paths().elements() {
            path.backend().edit(renew_backend);
            v1::HTTPIngressPathMut(path.0).path_type().or_if_absent("ImplementationSpecific");
        }
    }
}

/// Moves the name and the port of a service into `service`.
fn renew_backend(mut backend: v1beta1::IngressBackendMut<'_>) {
    let name = backend.service_name().remove().filter(|name| *name != "");
    let port = backend.service_port().remove().filter(|port| *port != 0);
    if name.is_none() && port.is_none() {
        return;
    }
    let mut backend = v1::IngressBackendMut(backend.0);
    let mut service = backend.service().or_new();
    service.name().set_value(name.unwrap_or_else(|| "".into()));
    let mut to = service.port().or_new();
    match port {
        Some(named @ Value::String(_)) => to.name().set_value(named),
        Some(number) => to.number().set_value(number),
        None => {}
    }
}
