//! What an `APIService` says of an extension server.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use registry_core::api::Object;
use resources::apiregistration::apiservices::availability::is_available;

/// An extension server, and the group version that it serves.
#[derive(Debug)]
pub(super) struct RemoteService {
    /// The name of the `APIService`: `{version}.{group}`.
    pub(super) name: String,
    /// Its uid.
    pub(super) uid: String,
    /// The group.
    pub(super) group: String,
    /// The version.
    pub(super) version: String,
    /// The service that is connected to.
    pub(super) at: ServiceReference,
    /// How its certificate is checked.
    pub(super) trust: Trust,
    /// Whether it is available.
    pub(super) is_available: bool,
    /// The priority of the group among groups; the greatest comes first.
    pub(super) group_priority: i64,
    /// The priority of the version in its group; the greatest comes first.
    pub(super) version_priority: i64,
}

/// A port of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ServiceReference {
    /// The service's namespace.
    pub(super) namespace: String,
    /// The service's name.
    pub(super) name: String,
    /// The port of the service.
    pub(super) port: u16,
}

/// How the certificate of an extension server is checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trust {
    /// It is not.
    Any,
    /// Against these authorities (PEM); those of the system if it is empty.
    Authorities(Vec<u8>),
}

// === impl RemoteService ===

impl RemoteService {
    /// Reads an `APIService`; `None` if this server serves its group version itself.
    pub(super) fn of(object: &Object) -> Option<Self> {
        let text = |path: &[&str]| object.get_str(path).unwrap_or_default().to_owned();
        let number = |path: &[&str]| object.get(path).and_then(serde_json::Value::as_i64).unwrap_or_default();
        object.get(&["spec", "service"])?.as_object()?;
        let port = u16::try_from(number(&["spec", "service", "port"])).ok().filter(|port| *port > 0);
        let skips = object.get(&["spec", "insecureSkipTLSVerify"]).and_then(serde_json::Value::as_bool);
        let bundle = object.get_str(&["spec", "caBundle"]).unwrap_or_default();
        let trust = match skips {
            Some(true) => Trust::Any,
            _ => Trust::Authorities(BASE64_STANDARD.decode(bundle).ok()?),
        };
        Some(Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            group: text(&["spec", "group"]),
            version: text(&["spec", "version"]),
            at: ServiceReference {
                namespace: text(&["spec", "service", "namespace"]),
                name: text(&["spec", "service", "name"]),
                port: port.unwrap_or(443),
            },
            trust,
            is_available: is_available(object),
            group_priority: number(&["spec", "groupPriorityMinimum"]),
            version_priority: number(&["spec", "versionPriority"]),
        })
    }

    /// Returns the path of the group version.
    pub(super) fn root(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }
}

// === impl ServiceReference ===

impl ServiceReference {
    /// Returns the name in the certificate of the service.
    pub(super) fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_those_with_a_service_are_remote() {
        let local =
            json!({ "metadata": { "name": "v1.apps" }, "spec": { "group": "apps", "version": "v1" } });
        assert!(RemoteService::of(&Object::from_value(local).unwrap()).is_none());
        let remote = json!({
            "metadata": { "name": "v1.g.example.com", "uid": "u" },
            "spec": {
                "group": "g.example.com", "version": "v1", "caBundle": "YWJj", "groupPriorityMinimum": 100,
                "service": { "namespace": "n", "name": "s", "port": 8443 },
            },
            "status": { "conditions": [{ "type": "Available", "status": "True" }] },
        });
        let remote = RemoteService::of(&Object::from_value(remote).unwrap()).unwrap();
        assert_eq!(remote.trust, Trust::Authorities(b"abc".to_vec()));
        assert_eq!((remote.at.port, remote.at.server_name().as_str()), (8443, "s.n.svc"));
        assert!(remote.is_available);
        assert_eq!(remote.root(), "/apis/g.example.com/v1");
    }
}
