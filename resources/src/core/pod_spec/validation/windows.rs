//! Windows host process containers.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use crate::support::field::Field;

/// Checks that either all containers of a pod or none are host processes, and that this is allowed.
pub(super) fn check_host_processes(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let of_pod = host_process(spec);
    let mut containers = 0;
    let mut on_host = 0;
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.get(list).elements() {
            containers += 1;
            let own = host_process(&container);
            if let (Some(of_pod), Some(own)) = (of_pod, own)
                && of_pod != own
            {
                let path =
                    container.path().child("securityContext").child("windowsOptions").child("hostProcess");
                let detail =
                    format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
                errors.push(FieldError::invalid(path, own, detail));
            }
            if own.or(of_pod) == Some(true) {
                on_host += 1;
            }
        }
    }
    if on_host == 0 {
        return;
    }
    if on_host != containers {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(spec.path(), "", detail));
    }
    let network = spec.get("hostNetwork");
    if !network.is_true() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(network.path(), false, detail));
    }
    errors.push(spec.forbidden("hostProcess containers are disallowed by cluster policy"));
}

/// Returns the setting in the security context of a pod or of a container.
fn host_process(holder: &Field<'_, '_>) -> Option<bool> {
    let context = holder.get("securityContext");
    let options = context.get("windowsOptions");
    let flag = options.get("hostProcess");
    flag.value()?.as_bool()
}
