//! Validation of a policy, with Kubernetes' messages.
//!
//! Kubernetes concept: `ValidatePolicy` in `k8s.io/apiserver/pkg/apis/audit/validation`.

use registry_core::api::validation::names;
use registry_core::api::{ErrorList, FieldError, FieldPath};
use registry_core::context::AuditLevel;
use serde_json::json;

use super::{GroupResources, Policy, PolicyRule, Stage, level_of};

// === impl Policy ===

impl Policy {
    pub(super) fn validate(&self) -> ErrorList {
        let mut errors = ErrorList::default();
        omit_stages(&self.omit_stages, &FieldPath::new("omitStages"), &mut errors);
        let rules = FieldPath::new("rules");
        for (number, rule) in self.rules.iter().enumerate() {
            rule.validate(&rules.index(number), &mut errors);
        }
        errors
    }
}

impl PolicyRule {
    fn validate(&self, path: &FieldPath, errors: &mut ErrorList) {
        if self.level.is_empty() {
            errors.push(FieldError::required(path.child("level"), ""));
        } else if level_of(&self.level).is_none() {
            let names = AuditLevel::ALL.map(AuditLevel::as_str);
            errors.push(FieldError::not_supported(path.child("level"), self.level.as_str(), &names));
        }
        let urls = path.child("nonResourceURLs");
        non_resource_urls(&self.non_resource_urls, &urls, errors);
        let resources = path.child("resources");
        self.resources.iter().for_each(|resource| resource.validate(&resources, errors));
        omit_stages(&self.omit_stages, &path.child("omitStages"), errors);
        let has_resources = !self.resources.is_empty() || !self.namespaces.is_empty();
        if !self.non_resource_urls.is_empty() && has_resources {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(urls, json!(self.non_resource_urls), detail));
        }
    }
}

impl GroupResources {
    /// The errors name no index, as in Kubernetes.
    fn validate(&self, path: &FieldPath, errors: &mut ErrorList) {
        if !self.group.is_empty() && self.group != "*" {
            let faults = names::dns_subdomain(&self.group);
            if !faults.is_empty() {
                let detail = faults.join(",");
                errors.push(FieldError::invalid(path.child("group"), self.group.as_str(), detail));
            }
        }
        if !self.resource_names.is_empty() && self.resources.is_empty() {
            let detail = "using resourceNames requires at least one resource";
            errors.push(FieldError::invalid(path.child("resourceNames"), json!(self.resource_names), detail));
        }
    }
}

fn non_resource_urls(urls: &[String], path: &FieldPath, errors: &mut ErrorList) {
    for (number, url) in urls.iter().enumerate().filter(|(_, url)| *url != "*") {
        if !url.starts_with('/') {
            let detail = "non-resource URL rules must begin with a '/' character";
            errors.push(FieldError::invalid(path.index(number), url.as_str(), detail));
        }
        if url.strip_suffix('*').unwrap_or(url).contains('*') {
            let detail = "non-resource URL wildcards '*' must be the final character of the rule";
            errors.push(FieldError::invalid(path.index(number), url.as_str(), detail));
        }
    }
}

fn omit_stages(stages: &[String], path: &FieldPath, errors: &mut ErrorList) {
    let known = Stage::ALL.map(Stage::as_str);
    for (number, stage) in stages.iter().enumerate() {
        if !known.contains(&stage.as_str()) {
            let detail = format!("allowed stages are {}", known.join(","));
            errors.push(FieldError::invalid(path.index(number), stage.as_str(), detail));
        }
    }
}
