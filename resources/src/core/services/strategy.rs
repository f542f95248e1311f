//! Rules of Services.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::NameRule;
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use super::service_type::{has_cluster_ip, is_externally_accessible, kind};
use super::{transitions, validation, warnings};
use crate::support::defaulting::{each, fill, fill_absent, fill_at, is_unset, with};

const AFFINITY_SECONDS: i64 = 10_800;

/// Defaults by type, removal of fields when the type changes, validation.
pub(super) struct ServiceStrategy;

impl ObjectStrategy for ServiceStrategy {
    fn name_rule(&self) -> NameRule {
        NameRule::DnsLabel
    }

    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "sessionAffinity"], "None");
        fill_at(object, &["spec", "type"], "ClusterIP");
        match object.get_str(&["spec", "sessionAffinity"]) {
            Some("ClientIP") => {
                let timeout = ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"];
                fill_at(object, &timeout, AFFINITY_SECONDS);
            }
            Some("None") => {
                object.remove(&["spec", "sessionAffinityConfig"]);
            }
            _ => {}
        }
        with(&mut object.0, "spec", |spec| {
            each(spec, &["ports"], |port| {
                fill(port, "protocol", "TCP");
                let unset = matches!(port.get("targetPort"), None | Some(Value::Null))
                    || port.get("targetPort").is_some_and(|target| *target == 0 || *target == "");
                if let (true, Some(number)) = (unset, port.get("port").cloned()) {
                    port.insert("targetPort".to_owned(), number);
                }
            });
        });
        if is_externally_accessible(object) {
            fill_at(object, &["spec", "externalTrafficPolicy"], "Cluster");
        }
        if has_cluster_ip(object) && object.get(&["spec", "internalTrafficPolicy"]).is_none() {
            object.set(&["spec", "internalTrafficPolicy"], "Cluster".into());
        }
        if kind(object) != "LoadBalancer" {
            return;
        }
        fill_at(object, &["spec", "allocateLoadBalancerNodePorts"], true);
        let ingresses = object.0.get_mut("status").and_then(|status| status.get_mut("loadBalancer"));
        if let Some(balancer) = ingresses.and_then(Value::as_object_mut) {
            each(balancer, &["ingress"], |ingress| {
                if !is_unset(ingress.get("ip")) {
                    fill_absent(ingress, "ipMode", "VIP");
                }
            });
        }
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        transitions::drop_policy_of_aliases(object);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        transitions::drop_policy_of_aliases(new);
        transitions::drop_what_the_type_had(new, old);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        validation::check(object, None)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = transitions::check(new, old);
        errors.append(validation::check(new, Some(old)));
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check_status(new, old)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of(object)
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        warnings::of(new)
    }
}
