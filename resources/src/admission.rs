//! Admission plug-ins that know concrete resources, in the order Kubernetes asks them.
//!
//! Kubernetes concept: [admission controllers](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

mod lookup;
mod not_ready_taint;
mod priority;
mod service_account;
mod storage_class;
mod storage_protection;
mod toleration_seconds;

use std::sync::Arc;

use registry_core::admission::{AdmissionChain, Attributes, MutatingAdmission, Operation};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;

/// The plug-ins for what is installed.
pub fn plugins(installed: &InstalledApi) -> AdmissionChain {
    let mut mutating: Vec<Arc<dyn MutatingAdmission>> = Vec::new();
    if let Some(plugin) = service_account::ServiceAccountAdmission::new(installed) {
        mutating.push(Arc::new(plugin));
    }
    mutating.push(Arc::new(not_ready_taint::NotReadyTaint));
    if let Some(plugin) = priority::PriorityAdmission::new(installed) {
        mutating.push(Arc::new(plugin));
    }
    mutating.push(Arc::new(toleration_seconds::TolerationSeconds));
    mutating.push(Arc::new(storage_protection::StorageProtection));
    if let Some(plugin) = storage_class::DefaultStorageClass::new(installed) {
        mutating.push(Arc::new(plugin));
    }
    AdmissionChain { mutating, validating: Vec::new() }
}

/// Whether a write is of this kind of object itself, and does one of these.
fn concerns<R: Resource>(attributes: &Attributes<'_>, operations: &[Operation]) -> bool {
    attributes.subresource.is_empty()
        && attributes.resource.group_resource() == R::TYPE.group_resource()
        && operations.contains(&attributes.operation)
}
