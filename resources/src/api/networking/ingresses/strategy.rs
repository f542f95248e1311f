//! Rules of Ingresses.

use std::net::IpAddr;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::Text;
use resource_views::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressRule};

use super::CLASS_ANNOTATION;
use crate::api::networking::references;
use crate::support::address;

const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
/// Sequences and endings that a path must not have, because it would be equivalent to another path.
const BAD_SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const BAD_SUFFIXES: [&str; 2] = ["/..", "/."];

/// Defaults and validation of hosts, paths and backends.
pub(super) struct IngressStrategy;

impl ObjectStrategy for IngressStrategy {
    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = self.validate_update(context, object, object);
        let class = Ingress(object).spec().ingress_class_name().optional_text();
        let annotated = object.annotation(CLASS_ANNOTATION);
        if let (Some(class), Some(annotated)) = (class, annotated)
            && class != annotated
        {
            let path = FieldPath::new("annotations").child(CLASS_ANNOTATION);
            let detail = "must match `ingressClassName` when both are specified";
            errors.push(FieldError::invalid(path, annotated, detail));
        }
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Ingress(new).spec();
        let backend = spec.default_backend();
        let rules = spec.rules();
        if rules.is_empty() && !backend.exists() {
            let detail = "either `defaultBackend` or `rules` must be specified";
            errors.push(FieldError::invalid(spec.path(), rules.value().cloned().unwrap_or_default(), detail));
        }
        if backend.exists() {
            check_backend(&backend, &mut errors);
        }
        for rule in rules.elements() {
            check_rule(&rule, &mut errors);
        }
        for tls in spec.tls().elements() {
            for host in tls.hosts().elements() {
                check_host_name(&host, &mut errors);
            }
            tls.secret_name().check_if_set(names::dns_subdomain, &mut errors);
        }
        let class = spec.ingress_class_name();
        if class.exists() {
            class.check(names::dns_subdomain, &mut errors);
        }
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Ingress(new).status();
        let balancer = status.load_balancer();
        for point in balancer.ingress().elements() {
            let address = point.ip();
            let host = point.hostname();
            if !address.text().is_empty() {
                address::check_address(&address, &mut errors);
            }
            host.check_if_set(names::dns_subdomain, &mut errors);
            check_no_address(&host, &mut errors);
        }
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let warning = format!(
            "annotation {CLASS_ANNOTATION:?} is deprecated, please use 'spec.ingressClassName' instead"
        );
        let has_field = Ingress(object).spec().ingress_class_name().optional_text().is_some();
        object.annotation(CLASS_ANNOTATION).filter(|_| !has_field).map(|_| warning).into_iter().collect()
    }
}

fn check_rule(rule: &IngressRule<'_, '_>, errors: &mut ErrorList) {
    let host = rule.host();
    if !host.text().is_empty() {
        check_no_address(&host, errors);
        check_host_name(&host, errors);
    }
    let http = rule.http();
    if !http.exists() {
        return;
    }
    let paths = http.paths();
    if paths.is_empty() {
        errors.push(paths.required(""));
    }
    for path in paths.elements() {
        check_path(&path, errors);
    }
}

/// Checks a host name, or a wildcard: `*.example.com`.
fn check_host_name(host: &Text<'_, '_>, errors: &mut ErrorList) {
    if host.text().contains('*') {
        host.check(names::wildcard_dns_subdomain, errors);
    } else {
        host.check(names::dns_subdomain, errors);
    }
}

fn check_no_address(host: &Text<'_, '_>, errors: &mut ErrorList) {
    if host.text().parse::<IpAddr>().is_ok() {
        errors.push(host.invalid("must be a DNS name, not an IP address"));
    }
}

fn check_path(rule: &HTTPIngressPath<'_, '_>, errors: &mut ErrorList) {
    let kind = rule.path_type();
    let path = rule.path();
    if !kind.exists() {
        errors.push(kind.required("pathType must be specified"));
        return;
    }
    let is_strict = matches!(kind.text(), "Exact" | "Prefix");
    if !PATH_TYPES.contains(&kind.text()) {
        errors.push(kind.unsupported(&PATH_TYPES));
    } else if !path.text().starts_with('/') && (is_strict || !path.text().is_empty()) {
        errors.push(FieldError::invalid(path.path(), path.text(), "must be an absolute path"));
    }
    if is_strict {
        for sequence in BAD_SEQUENCES.iter().filter(|sequence| path.text().contains(**sequence)) {
            errors.push(path.invalid(format!("must not contain '{sequence}'")));
        }
        for suffix in BAD_SUFFIXES.iter().filter(|suffix| path.text().ends_with(**suffix)) {
            errors.push(path.invalid(format!("cannot end with '{suffix}'")));
        }
    }
    check_backend(&rule.backend(), errors);
}

fn check_backend(backend: &IngressBackend<'_, '_>, errors: &mut ErrorList) {
    let resource = backend.resource();
    let service = backend.service();
    let complain = |detail: &str| FieldError::invalid(backend.path(), "", detail);
    match (resource.exists(), service.exists()) {
        (true, true) => errors.push(complain("cannot set both resource and service backends")),
        (false, false) => errors.push(complain("resource or service backend is required")),
        (true, false) => references::check_typed(&resource, errors),
        (false, true) => {
            service.name().check_named(names::dns_label, errors);
            let port = service.port();
            let name = port.name();
            let number = port.number();
            let is_numbered = number.integer().is_some_and(|number| number != 0);
            match (!name.text().is_empty(), is_numbered) {
                (true, true) => errors.push(complain("cannot set both port name & port number")),
                (true, false) => name.check(names::port_name, errors),
                (false, true) => number.check_port(errors),
                (false, false) => errors.push(backend.required("port name or number is required")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn causes(spec: &Value) -> Vec<String> {
        let ingress = Object::from_value(json!({"metadata": {"name": "i"}, "spec": spec})).unwrap();
        let errors = IngressStrategy.validate(&RequestContext::default(), &ingress);
        errors.0.iter().map(|error| format!("{} {}", error.kind.reason(), error.field)).collect()
    }

    fn path(path: &str, kind: &str, backend: &Value) -> Value {
        json!({"rules": [{"http": {"paths": [{"path": path, "pathType": kind, "backend": backend}]}}]})
    }

    #[test]
    fn each_rule_names_the_field_that_breaks_it() {
        let service = json!({"service": {"name": "s", "port": {"number": 80}}});
        let none: &[&str] = &[];
        let table: &[(Value, &[&str])] = &[
            (path("/a", "Prefix", &service), none),
            (path("", "ImplementationSpecific", &service), none),
            (json!({"defaultBackend": service, "tls": [{"hosts": ["*.a.example"]}]}), none),
            (json!({}), &["FieldValueInvalid spec"]),
            (json!({"rules": [{"host": "1.2.3.4"}]}), &["FieldValueInvalid spec.rules[0].host"]),
            (json!({"rules": [{"host": "a.*"}]}), &["FieldValueInvalid spec.rules[0].host"]),
            (json!({"rules": [{"http": {}}]}), &["FieldValueRequired spec.rules[0].http.paths"]),
            (path("a", "Exact", &service), &["FieldValueInvalid spec.rules[0].http.paths[0].path"]),
            (path("/a/..", "Prefix", &service), &["FieldValueInvalid spec.rules[0].http.paths[0].path"]),
            (path("/", "X", &service), &["FieldValueNotSupported spec.rules[0].http.paths[0].pathType"]),
            (path("/", "Exact", &json!({})), &["FieldValueInvalid spec.rules[0].http.paths[0].backend"]),
            (
                path("/", "Exact", &json!({"service": {"port": {"name": "http"}}})),
                &["FieldValueRequired spec.rules[0].http.paths[0].backend.service.name"],
            ),
            (
                path("/", "Exact", &json!({"service": {"name": "s"}})),
                &["FieldValueRequired spec.rules[0].http.paths[0].backend"],
            ),
            (
                path("/", "Exact", &json!({"resource": {"kind": "K"}})),
                &["FieldValueRequired spec.rules[0].http.paths[0].backend.resource.name"],
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(causes(spec), *expected, "{spec}");
        }
    }

    #[test]
    fn the_old_annotation_is_warned_about_and_may_not_contradict() {
        let context = RequestContext::default();
        let mut ingress = Object::from_value(json!({
            "metadata": {"annotations": {CLASS_ANNOTATION: "a"}},
            "spec": {"ingressClassName": "a", "rules": [{}]},
        }))
        .unwrap();
        assert_eq!(IngressStrategy.validate(&context, &ingress), ErrorList::default());
        assert!(IngressStrategy.warnings_on_create(&context, &ingress).is_empty());
        ingress.set(&["spec", "ingressClassName"], "b".into());
        assert_eq!(IngressStrategy.validate(&context, &ingress).0.len(), 1);
        ingress.remove(&["spec", "ingressClassName"]);
        assert_eq!(IngressStrategy.warnings_on_create(&context, &ingress).len(), 1);
    }
}
