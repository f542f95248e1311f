//! Rules of Workloads.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use resource_views::List;
use resource_views::scheduling::v1alpha2::{PodGroupTemplate, Workload, WorkloadMut, WorkloadSpec};

use crate::api::scheduling::pod_group;

/// Maximum number of templates.
const MAX_TEMPLATES: usize = 8;

/// The spec is immutable.
pub(super) struct WorkloadStrategy;

impl ObjectStrategy for WorkloadStrategy {
    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        drop_disabled_fields(object, None);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        drop_disabled_fields(new, Some(old));
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

/// Drops the fields of features that are off, in templates that did not use them before.
fn drop_disabled_fields(object: &mut Object, old: Option<&Object>) {
    let before = old.map(|old| Workload(old).spec());
    let before = before.as_ref().map(WorkloadSpec::pod_group_templates);
    let mut known = before.iter().flat_map(List::elements);
    let Some(mut spec) = WorkloadMut(object).spec().present() else { return };
    for template in spec.pod_group_templates().elements() {
        pod_group::drop_disabled_fields(template, known.next().as_ref());
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
