//! Admission plug-ins for concrete resources, in the order in which Kubernetes calls them.
//!
//! Kubernetes concept: [admission
//! controllers](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

mod certificate_subject;
mod claim_resize;
mod default_class;
mod ingress_class;
mod limit_ranger;
mod not_ready_taint;
mod pod_security;
mod priority;
mod resource_quota;
mod runtime_class;
mod service_account;
mod storage_class;
mod storage_protection;
mod toleration_seconds;

use std::sync::Arc;

use registry_core::admission::{
    AdmissionChain, Attributes, MutatingAdmission, Operation, ValidatingAdmission,
};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;

use limit_ranger::LimitRanger;

/// Returns the plug-ins for the installed resources. Plug-ins whose resources are not served are left out.
pub fn plugins(installed: &InstalledApi) -> AdmissionChain {
    // One plug-in for both: it has an informer.
    let ranger = LimitRanger::new(installed).map(Arc::new);
    AdmissionChain {
        mutating: mutating(installed, ranger.clone()),
        validating: validating(installed, ranger),
    }
}

fn mutating(installed: &InstalledApi, ranger: Option<Arc<LimitRanger>>) -> Vec<Arc<dyn MutatingAdmission>> {
    let all: [Option<Arc<dyn MutatingAdmission>>; 9] = [
        ranger.map(|plugin| plugin as Arc<dyn MutatingAdmission>),
        service_account::ServiceAccountAdmission::new(installed).map(arc_mutating),
        Some(Arc::new(not_ready_taint::NotReadyTaint)),
        priority::PriorityAdmission::new(installed).map(arc_mutating),
        Some(Arc::new(toleration_seconds::TolerationSeconds)),
        storage_class::DefaultStorageClass::new(installed).map(arc_mutating),
        Some(Arc::new(storage_protection::StorageProtection)),
        runtime_class::RuntimeClassAdmission::new(installed).map(arc_mutating),
        ingress_class::DefaultIngressClass::new(installed).map(arc_mutating),
    ];
    all.into_iter().flatten().collect()
}

fn validating(
    installed: &InstalledApi,
    ranger: Option<Arc<LimitRanger>>,
) -> Vec<Arc<dyn ValidatingAdmission>> {
    let all: [Option<Arc<dyn ValidatingAdmission>>; 6] = [
        ranger.map(|plugin| plugin as Arc<dyn ValidatingAdmission>),
        pod_security::PodSecurity::new(installed).map(arc_validating),
        claim_resize::ClaimResize::new(installed).map(arc_validating),
        runtime_class::RuntimeClassAdmission::new(installed).map(arc_validating),
        Some(Arc::new(certificate_subject::CertificateSubject)),
        // Runs last, so that it only counts writes that all other plug-ins admit.
        resource_quota::ResourceQuota::new(installed).map(arc_validating),
    ];
    all.into_iter().flatten().collect()
}

fn arc_mutating(plugin: impl MutatingAdmission) -> Arc<dyn MutatingAdmission> {
    Arc::new(plugin)
}

fn arc_validating(plugin: impl ValidatingAdmission) -> Arc<dyn ValidatingAdmission> {
    Arc::new(plugin)
}

/// Whether a write is to an object of this kind itself (not a subresource), by one of these operations.
fn concerns<R: Resource>(attributes: &Attributes<'_>, operations: &[Operation]) -> bool {
    attributes.subresource.is_empty()
        && attributes.resource.group_resource() == R::TYPE.group_resource()
        && operations.contains(&attributes.operation)
}
