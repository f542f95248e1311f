//! The resource and verb of a request, from its method and URL alone.
//!
//! Kubernetes concept: `RequestInfo` in `k8s.io/apiserver/pkg/endpoints/request`. Authorization, flow
//! control, audit and routing depend on it, so it is computed once, before any of them.

use http::{Method, Uri};
use registry_core::api::GroupVersion;
use registry_core::rest::access::AccessSelectors;

mod query;
#[cfg(test)]
mod tests;

pub use query::Query;
pub use query::{decode_bytes, decode_component, query_pairs, read_query};

/// The resource and verb of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    /// The path, percent-decoded.
    pub path: String,
    /// The API verb of a resource request, else the HTTP method.
    pub verb: Verb,
    /// The resource, when the path is one below `/api/{version}/` or `/apis/{group}/{version}/`.
    pub resource: Option<ResourceRequest>,
    /// The requirements in the selectors of a `list`, `watch` or `deletecollection`.
    pub selectors: AccessSelectors,
}

/// The resource of a request. Fields that the path does not have are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The namespace. For the resource `namespaces` itself this is the namespace's own name, as in
    /// Kubernetes.
    pub namespace: String,
    /// The resource: plural, lower case.
    pub resource: String,
    /// The subresource, for example `status`. The rest of the path (`proxy/…`) is in [`RequestInfo::path`]
    /// only.
    pub subresource: String,
    /// The object's name, from the path or from `fieldSelector=metadata.name=…` of a list or watch.
    pub name: String,
}

/// The action: an API verb for resources, the HTTP method for all other paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read one object, or the HTTP method.
    Get,
    /// Read many objects.
    List,
    /// Watch for changes.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object, or the HTTP method.
    Patch,
    /// Delete an object, or the HTTP method.
    Delete,
    /// Delete many objects.
    DeleteCollection,
    /// The removed `/api/{version}/proxy/…`.
    Proxy,
    /// The HTTP method of a non-resource path.
    Post,
    /// The HTTP method of a non-resource path.
    Put,
    /// The HTTP method of a non-resource path.
    Head,
    /// The HTTP method of a non-resource path.
    Options,
    /// A method without an API verb: the empty verb, which only an administrator may use.
    Unknown,
}

/// Returns the root of a group and version: `/api/v1`, `/apis/apps/v1`.
pub fn root_of(version: GroupVersion) -> String {
    let below = if version.group.is_empty() { "api" } else { "apis" };
    format!("/{below}/{version}")
}

// === impl Verb ===

impl Verb {
    /// Returns the verb as authorization rules and messages have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Proxy => "proxy",
            Self::Post => "post",
            Self::Put => "put",
            Self::Head => "head",
            Self::Options => "options",
            Self::Unknown => "",
        }
    }

    /// Returns the verb of a non-resource path: its method.
    fn from_method(method: &Method) -> Self {
        match *method {
            Method::GET => Self::Get,
            Method::POST => Self::Post,
            Method::PUT => Self::Put,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            Method::HEAD => Self::Head,
            Method::OPTIONS => Self::Options,
            _ => Self::Unknown,
        }
    }

    /// Returns the verb of a resource's path, before it is known whether it has a name.
    fn from_resource_method(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Get,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => Self::Unknown,
        }
    }
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl RequestInfo ===

impl RequestInfo {
    /// Parses a request's method and URL. A path that is not a resource's is a non-resource request.
    pub fn parse(method: &Method, uri: &Uri) -> Self {
        let path = decode_component(uri.path());
        let resource = parse_resource(method, &path, uri.query().unwrap_or_default());
        let (verb, resource, selectors) = match resource {
            Some((verb, resource, selectors)) => (verb, Some(resource), selectors),
            None => (Verb::from_method(method), None, AccessSelectors::default()),
        };
        Self { path: path.into_owned(), verb, resource, selectors }
    }

    /// Returns whether the request is long-running (a watch, a proxied or attached stream, a followed log),
    /// so that neither the request timeout nor the bound on requests in flight applies.
    pub fn is_long_running(&self) -> bool {
        let Some(resource) = &self.resource else { return false };
        matches!(self.verb, Verb::Watch | Verb::Proxy)
            || matches!(resource.subresource.as_str(), "attach" | "exec" | "log" | "portforward" | "proxy")
    }
}

fn parse_resource(
    method: &Method,
    path: &str,
    query: &str,
) -> Option<(Verb, ResourceRequest, AccessSelectors)> {
    let trimmed = path.trim_matches('/');
    let (prefix, rest) = trimmed.split_once('/')?;
    let (group, rest) = match prefix {
        "api" => ("", rest),
        "apis" => rest.split_once('/')?,
        _ => return None,
    };
    let (version, rest) = rest.split_once('/')?;
    let (verb, below_verb) = special_verb(method, rest)?;
    // A verb in the path: whether the handler looks at selectors depends on the rest of it, so nothing is promised.
    let may_select = below_verb.len() == rest.len();
    let rest = below_verb;
    let (namespace, rest) = namespace_of(rest);
    let mut parts = rest.split('/');
    let resource = parts.next().unwrap_or_default();
    let mut name = parts.next().unwrap_or_default().to_owned();
    // The third part of a proxied path belongs to the backend.
    let subresource = if verb == Verb::Proxy { "" } else { parts.next().unwrap_or_default() };

    let mut selectors = AccessSelectors::default();
    let verb = match verb {
        Verb::Get if name.is_empty() => {
            let options = query::collection_query(query);
            name = options.name.unwrap_or_default();
            selectors = options.selectors;
            if options.watch { Verb::Watch } else { Verb::List }
        }
        Verb::Delete if name.is_empty() => {
            selectors = query::collection_query(query).selectors;
            Verb::DeleteCollection
        }
        verb => verb,
    };
    if !may_select {
        selectors = AccessSelectors::default();
    }
    let request = ResourceRequest {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        name,
    };
    Some((verb, request, selectors))
}

/// Returns the verb that is part of the path (`watch/…`, `proxy/…`), or else the method's.
fn special_verb<'a>(method: &Method, rest: &'a str) -> Option<(Verb, &'a str)> {
    let (first, after) = rest.split_once('/').unwrap_or((rest, ""));
    let verb = match first {
        "watch" => Verb::Watch,
        "proxy" => Verb::Proxy,
        _ => return Some((Verb::from_resource_method(method), rest)),
    };
    // `…/watch` without a resource is a non-resource path.
    (!after.is_empty()).then_some((verb, after))
}

/// Splits `namespaces/{namespace}/{resource…}` into the namespace and the rest. A namespace itself and its
/// own subresources are unchanged.
fn namespace_of(rest: &str) -> (&str, &str) {
    let Some(after) = rest.strip_prefix("namespaces/") else { return ("", rest) };
    let Some((namespace, inner)) = after.split_once('/') else { return (after, rest) };
    let first = inner.split('/').next().unwrap_or_default();
    if matches!(first, "status" | "finalize") { (namespace, rest) } else { (namespace, inner) }
}
