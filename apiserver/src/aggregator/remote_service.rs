//! The description of an extension server in an `APIService`.

use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use registry_core::api::Object;
use resources::api::apiregistration::apiservices::available_condition::is_available;
use resources::api::apiregistration::apiservices::local::Priorities;

use super::transport::Transport;

/// An extension server, and the group version that it serves.
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
    /// The check of its certificate.
    pub(super) trust: Trust,
    /// Whether it is available.
    pub(super) is_available: bool,
    /// Its priorities in discovery.
    pub(super) priorities: Priorities,
    /// Its connections, once they were needed.
    pub(super) transport: ArcSwapOption<Transport>,
}

/// A port of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ServiceReference {
    /// The service's namespace.
    pub(super) namespace: String,
    /// The service's name.
    pub(super) name: String,
    /// The port of the service; 0, which no service has, if the number in the object is not a port.
    pub(super) port: u16,
}

/// The group of APIServices.
const OWN_GROUP: &str = "apiregistration.k8s.io";

/// The check of an extension server's certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trust {
    /// None: every certificate is accepted.
    Any,
    /// Against these authorities (PEM), or against the authorities of the system if the text is empty.
    Authorities(Vec<u8>),
}

// === impl RemoteService ===

impl RemoteService {
    /// Reads an `APIService`; `None` if this server serves its group version itself.
    pub(super) fn from_object(object: &Object) -> Option<Self> {
        let text = |path: &[&str]| object.get_str(path).unwrap_or_default().to_owned();
        let number = |path: &[&str]| object.get(path).and_then(serde_json::Value::as_i64).unwrap_or_default();
        object.get(&["spec", "service"])?.as_object()?;
        // The store has defaulted and validated it.
        let port = u16::try_from(number(&["spec", "service", "port"])).unwrap_or_default();
        let skips = object.get(&["spec", "insecureSkipTLSVerify"]).and_then(serde_json::Value::as_bool);
        let bundle = object.get_str(&["spec", "caBundle"]).unwrap_or_default();
        let trust = match skips {
            Some(true) => Trust::Any,
            _ => Trust::Authorities(authorities(bundle)),
        };
        Some(Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            group: text(&["spec", "group"]),
            version: text(&["spec", "version"]),
            at: ServiceReference {
                namespace: text(&["spec", "service", "namespace"]),
                name: text(&["spec", "service", "name"]),
                port,
            },
            trust,
            is_available: is_available(object),
            priorities: Priorities {
                group: number(&["spec", "groupPriorityMinimum"]),
                version: number(&["spec", "versionPriority"]),
            },
            transport: ArcSwapOption::empty(),
        })
    }

    /// Whether requests for the group version are forwarded. The core group, and the group of APIServices, remain this
    /// server's own whatever an APIService says: without them no wrong APIService could be corrected.
    pub(super) fn is_forwarded(&self) -> bool {
        !self.group.is_empty() && self.group != OWN_GROUP
    }

    /// Returns the path of the group version.
    pub(super) fn root(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }
}

/// Returns the authorities (PEM) in a bundle. One that is not base64 has none: connections fail, because every certificate
/// would be wrong.
fn authorities(bundle: &str) -> Vec<u8> {
    let compact: String = bundle.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    BASE64_STANDARD.decode(compact).unwrap_or_else(|_| bundle.as_bytes().to_vec())
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
        assert!(RemoteService::from_object(&Object::from_value(local).unwrap()).is_none());
        let remote = json!({
            "metadata": { "name": "v1.g.example.com", "uid": "u" },
            "spec": {
                "group": "g.example.com", "version": "v1", "caBundle": "YWJj", "groupPriorityMinimum": 100,
                "service": { "namespace": "n", "name": "s", "port": 8443 },
            },
            "status": { "conditions": [{ "type": "Available", "status": "True" }] },
        });
        let remote = RemoteService::from_object(&Object::from_value(remote).unwrap()).unwrap();
        assert_eq!(remote.trust, Trust::Authorities(b"abc".to_vec()));
        assert_eq!((remote.at.port, remote.at.server_name().as_str()), (8443, "s.n.svc"));
        assert!(remote.is_available && remote.is_forwarded());
        assert_eq!(remote.root(), "/apis/g.example.com/v1");
    }

    #[test]
    fn wrong_values_have_no_defaults() {
        let of = |spec: serde_json::Value| {
            let object = json!({ "metadata": { "name": "v1.g.example.com" }, "spec": spec });
            RemoteService::from_object(&Object::from_value(object).unwrap()).unwrap()
        };
        for port in [json!(null), json!(0), json!(70000), json!("https")] {
            let service = json!({ "namespace": "n", "name": "s", "port": port });
            assert_eq!(of(json!({ "service": service })).at.port, 0, "{port}");
        }
        let trust = of(json!({ "service": {}, "caBundle": "?" })).trust;
        assert_eq!(trust, Trust::Authorities(b"?".to_vec()), "not the authorities of the system");
    }

    #[test]
    fn some_groups_are_always_local() {
        for (group, is_forwarded) in [("", false), ("apiregistration.k8s.io", false), ("apps", true)] {
            let spec =
                json!({ "group": group, "version": "v1", "service": { "namespace": "n", "name": "s" } });
            let object = json!({ "metadata": { "name": format!("v1.{group}") }, "spec": spec });
            let service = RemoteService::from_object(&Object::from_value(object).unwrap()).unwrap();
            assert_eq!(service.is_forwarded(), is_forwarded, "{group:?}");
        }
    }
}
