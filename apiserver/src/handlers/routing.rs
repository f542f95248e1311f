//! A served path, and the checks of a request's form against it.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use registry_core::api::{GroupVersionKind, Object, Reason, Scope, StatusError};
use registry_core::registry::InstalledPath;
use request_info::{RequestInfo, ResourceRequest, Verb};
use responses::negotiation::with_empty_details;

use crate::metrics::{RequestMetrics, RouteMetrics};

use super::ending::Ending;

/// A path, with what its handlers need beside the storage.
pub(crate) struct Route {
    /// The installed path.
    pub(crate) path: Arc<InstalledPath>,
    /// The kind that the path accepts and returns.
    pub(crate) kind: GroupVersionKind,
    /// `apiVersion` of that kind.
    pub(crate) api_version: Box<str>,
    /// Whether objects are namespaced.
    pub(crate) scope: Scope,
    /// The first bytes of a list, up to the first field of its metadata; `None` where lists are not served.
    pub(crate) list_head: Option<Bytes>,
    /// The metrics of the route.
    pub(crate) metrics: RouteMetrics,
    /// The end of the route's watches.
    pub(super) ending: Ending,
    blank: OnceLock<Object>,
    has_protobuf: OnceLock<bool>,
}

/// The reason why a path is not served.
#[derive(Debug)]
pub(crate) enum Missing {
    /// The group is not served: a plain 404 page.
    Page,
    /// The group is served, this path of it is not: a 404 `Status`.
    Resource,
    /// The path does not support this method: a 405 `Status`.
    Method,
    /// The custom resource is served, this subresource of it is not: a 404 that names the object.
    Subresource(Box<StatusError>),
}

// === impl Route ===

impl Route {
    /// Creates the route of an installed path.
    pub(super) fn new(path: InstalledPath, metrics: &RequestMetrics, ending: Ending) -> Self {
        let at = path.resource.resource();
        let subresource = path.subresource.unwrap_or_default();
        let kind = path.capabilities.storage.kind();
        let api_version = kind.group_version().api_version().into_boxed_str();
        let list_head = path.capabilities.lister.as_ref().map(|lister| {
            let list_kind = lister.list_kind();
            format!("{{\"kind\":\"{list_kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{{").into()
        });
        Self {
            kind,
            api_version,
            scope: path.capabilities.storage.scope(),
            list_head,
            metrics: metrics.route(at.group, at.version, at.resource, subresource),
            ending,
            blank: OnceLock::new(),
            has_protobuf: OnceLock::new(),
            path: Arc::new(path),
        }
    }

    /// Returns an object of the route's kind without any field set, in the schema's form.
    pub(crate) fn blank(&self) -> &Object {
        self.blank.get_or_init(|| {
            let mut blank = Object::default();
            blank.set_type(&self.api_version, self.kind.kind);
            let mut value = blank.clone().into_value();
            match self.path.capabilities.storage.schema().conform(&mut value, &mut Vec::new()) {
                Ok(()) => Object::from_value(value).unwrap_or(blank),
                Err(_) => blank,
            }
        })
    }

    /// Returns whether the path's objects have a protobuf form. Computed once, because every request needs
    /// it.
    pub(crate) fn has_protobuf(&self) -> bool {
        *self.has_protobuf.get_or_init(|| self.path.capabilities.storage.schema().has_protobuf())
    }

    /// Returns whether the path is that of a custom resource, whose objects have no type in Kubernetes' code.
    pub(crate) fn is_custom(&self) -> bool {
        self.path.resource.schema.is_custom()
    }

    /// Returns whether the path supports this verb.
    pub(crate) fn serves(&self, verb: Verb) -> bool {
        self.path.capabilities.verbs().contains(&verb.as_str())
    }

    /// Returns whether the request has a namespace and a name exactly where this route's paths have them.
    pub(super) fn check_shape(&self, info: &RequestInfo, request: &ResourceRequest) -> Result<(), Missing> {
        let in_namespace = self.is_in_namespace(request);
        // The name of lists and watches is from a field selector if it is not part of the path.
        let on_collection = match info.verb {
            Verb::List | Verb::Watch | Verb::DeleteCollection => true,
            _ => request.name.is_empty(),
        };
        match self.scope {
            Scope::Cluster if in_namespace => return Err(Missing::Resource),
            Scope::Namespaced if !in_namespace => match info.verb {
                Verb::List | Verb::Watch => {}
                _ if on_collection => return Err(Missing::Method),
                _ => return Err(Missing::Resource),
            },
            _ => {}
        }
        if !on_collection && !self.has_objects() {
            return Err(Missing::Resource);
        }
        let goes_on = self
            .path
            .capabilities
            .connecter
            .as_ref()
            .is_some_and(|connecter| connecter.connect_spec().has_path);
        if !goes_on && has_trailing_segments(&info.path, request, in_namespace) {
            return Err(Missing::Resource);
        }
        Ok(())
    }

    /// Returns whether anything is served at names. Objects that are only created, such as reviews and bindings, have no
    /// paths with names.
    fn has_objects(&self) -> bool {
        let can = &self.path.capabilities;
        can.getter.is_some()
            || can.updater.is_some()
            || can.deleter.is_some()
            || can.named_creater.is_some()
            || can.connecter.is_some()
    }

    /// Returns whether the path contains a namespace. (For `namespaces` themselves the namespace is the
    /// name.)
    fn is_in_namespace(&self, request: &ResourceRequest) -> bool {
        let is_namespaces = self.path.resource.plural == "namespaces" && request.group.is_empty();
        !request.namespace.is_empty() && !is_namespaces
    }

    /// Returns the namespace of the objects that this request is about; empty for cluster-scoped ones, and
    /// for lists across all namespaces.
    pub(crate) fn namespace<'a>(&self, request: &'a ResourceRequest) -> &'a str {
        if self.is_in_namespace(request) { &request.namespace } else { "" }
    }

    /// Returns the name of the internal type in Kubernetes' Go code, which messages show.
    pub(crate) fn go_type(&self, kind: &str) -> String {
        let group = self.kind.group.split('.').next().unwrap_or_default();
        // Events of both groups are one internal type.
        format!("{}.{kind}", if matches!(group, "" | "events") { "core" } else { group })
    }
}

/// Returns whether the path continues behind the subresource, which only proxies support.
fn has_trailing_segments(path: &str, request: &ResourceRequest, in_namespace: bool) -> bool {
    let group = if request.group.is_empty() { 2 } else { 3 };
    let below = [in_namespace, in_namespace, true, !request.name.is_empty(), !request.subresource.is_empty()];
    let longest = group + below.iter().filter(|is_present| **is_present).count();
    let segments = path.as_bytes().split(|byte| *byte == b'/').filter(|segment| !segment.is_empty()).count();
    // `watch` may precede the resource.
    let is_watch_path = || path.trim_matches('/').split('/').nth(group) == Some("watch");
    segments > longest && !(segments == longest + 1 && is_watch_path())
}

// === impl Missing ===

impl Missing {
    /// Returns the failure as a `Status`, or `None` where Kubernetes responds with a plain page.
    pub(crate) fn status(&self) -> Option<StatusError> {
        match self {
            Self::Page => None,
            Self::Resource => Some(resource_not_found()),
            Self::Method => Some(method_not_allowed()),
            Self::Subresource(failure) => Some((**failure).clone()),
        }
    }
}

/// Returns a 404: the group is served, this path of it is not.
pub(super) fn resource_not_found() -> StatusError {
    with_empty_details(StatusError::new(Reason::NotFound, "the server could not find the requested resource"))
}

/// Returns a 405: the path does not support this method.
pub(crate) fn method_not_allowed() -> StatusError {
    with_empty_details(StatusError::new(
        Reason::MethodNotAllowed,
        "the server does not allow this method on the requested resource",
    ))
}
