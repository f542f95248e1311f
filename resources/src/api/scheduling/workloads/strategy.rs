//! Rules of Workloads.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::List;
use resource_views::scheduling::v1alpha2::{PodGroupTemplate, Workload};

use crate::api::scheduling::pod_group;

/// Maximum number of templates.
const MAX_TEMPLATES: usize = 8;

/// The spec is immutable.
pub(super) struct WorkloadStrategy;

impl ObjectStrategy for WorkloadStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        let constraints = GatedField::unsupported("schedulingConstraints").null_if_absent();
        pod_group::gated_fields("spec.podGroupTemplates.*", constraints)
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Workload(object).spec();
        let controller = spec.controller_ref();
        if controller.exists() {
            controller.api_group().check_if_set(names::dns_subdomain, &mut errors);
            controller.kind().check_named(names::path_segment, &mut errors);
            controller.name().check_named(names::path_segment, &mut errors);
        }
        check_templates(&spec.pod_group_templates(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Workload(new).spec();
        let before = Workload(old).spec();
        pod_group::check_immutable(&spec.controller_ref(), &before.controller_ref(), &mut errors);
        pod_group::check_immutable(&spec.pod_group_templates(), &before.pod_group_templates(), &mut errors);
        errors
    }
}

fn check_templates(templates: &List<PodGroupTemplate<'_, '_>>, errors: &mut ErrorList) {
    if templates.is_empty() {
        errors.push(templates.required(""));
        return;
    }
    if !templates.check_count(MAX_TEMPLATES, errors) {
        return;
    }
    templates.check_unique(|template| template.name().text(), |field| field.duplicate(), errors);
    for template in templates.elements() {
        template.name().check_named(names::dns_label, errors);
        pod_group::check_policy(&template.scheduling_policy(), errors);
    }
}
