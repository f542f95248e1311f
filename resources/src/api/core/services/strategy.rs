//! Rules of Services.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::NameRule;
use registry_core::features::{Feature, Features};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::ServiceMut;

use super::service_type::{has_cluster_ip, is_externally_accessible, kind};
use super::{completion, type_change, validation, warnings};

const AFFINITY_SECONDS: i64 = 10_800;

/// Defaults by type, removal of fields when the type changes, validation.
#[derive(Clone, Copy)]
pub(super) struct ServiceStrategy {
    /// The format of names, if a feature changes it.
    name_rule: Option<NameRule>,
    distributions: &'static [&'static str],
}

/// The rules with the default features.
#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const ServiceStrategy: ServiceStrategy =
    ServiceStrategy { name_rule: None, distributions: &["PreferClose", "PreferSameZone", "PreferSameNode"] };

impl ObjectStrategy for ServiceStrategy {
    fn for_features(&self, features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        let mut strategy = *self;
        if !features.contains(Feature::RelaxedServiceNameValidation) {
            strategy.name_rule = Some(NameRule::Dns1035Label);
        }
        if !features.contains(Feature::PreferSameTrafficDistribution) {
            strategy.distributions = &["PreferClose"];
        }
        Some(Arc::new(strategy))
    }

    fn name_rule(&self) -> Option<NameRule> {
        self.name_rule
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = ServiceMut(object).spec().or_new();
        spec.session_affinity().or("None");
        spec.r#type().or("ClusterIP");
        if spec.session_affinity().is("ClientIP") {
            let mut settings = spec.session_affinity_config().or_new();
            settings.client_ip().or_new().timeout_seconds().or(AFFINITY_SECONDS);
        } else if spec.session_affinity().is("None") {
            spec.session_affinity_config().remove();
        }
        for mut port in spec.ports().elements() {
            port.protocol().or("TCP");
            let target = port.target_port();
            let unset = target.is_unset() || target.value().is_some_and(|target| *target == 0);
            if let (true, Some(number)) = (unset, port.port().value().cloned()) {
                port.target_port().set_value(number);
            }
        }
        let (is_external, has_cluster_ip) = (is_externally_accessible(object), has_cluster_ip(object));
        let is_balancer = kind(object) == "LoadBalancer";
        let mut spec = ServiceMut(object).spec().or_new();
        if is_external {
            spec.external_traffic_policy().or("Cluster");
        }
        if has_cluster_ip {
            spec.internal_traffic_policy().or_if_absent("Cluster");
        }
        if !is_balancer {
            return;
        }
        spec.allocate_load_balancer_node_ports().or_if_absent(true);
        let Some(mut status) = ServiceMut(object).status().present() else { return };
        let Some(mut balancer) = status.load_balancer().present() else { return };
        for mut ingress in balancer.ingress().elements() {
            if !ingress.ip().is_unset() {
                ingress.ip_mode().or_if_absent("VIP");
            }
        }
    }

    fn complete_stored(&self, object: &mut Object) {
        completion::complete(object);
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        type_change::drop_policy_of_aliases(object);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        type_change::drop_policy_of_aliases(new);
        type_change::drop_what_the_type_had(new, old);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        validation::check(object, None, self.distributions)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = type_change::check(new, old);
        errors.append(validation::check(new, Some(old), self.distributions));
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check_status(new, old)
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::service_warnings(object)
    }
}
