//! Discovery: the groups, versions, resources and verbs that are served.
//!
//! Derived from the served storages and their capabilities. Each document is created when it is first requested
//! and kept as encoded bytes: that of a group or version with it, those of the whole server with the snapshot of
//! what is served.
//!
//! | module | contents |
//! |---|---|
//! | `aggregated`, `legacy` | the documents: all groups in two responses, and those of one group or version each |
//! | `groups` | the groups and versions of this server |
//! | `remote`, `peers` | those that extension servers, and other servers of the cluster, serve |
//! | `described` | descriptions of groups, whoever serves them |
//!
//! Kubernetes concept:
//! [the discovery API](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api).

use std::collections::BTreeSet;
use std::sync::OnceLock;

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use registry_core::api::StatusError;
use registry_core::codec::protobuf;
use request_info::Query;
use responses::Response;
use responses::negotiation::{Endpoint, Format, Formats, Output, clauses};
use responses::{self, Document};
use serde_json::json;

mod aggregated;
mod described;
mod groups;
mod legacy;
mod peers;
mod remote;
#[cfg(test)]
mod tests;

pub(crate) use described::{
    Freshness, GroupDiscovery, KindDiscovery, ResourceDiscovery, SubresourceDiscovery, VersionDiscovery,
};
pub(crate) use groups::{Group, Version, sort_by_preference};
pub(crate) use peers::{PeerGroups, PublishPeers};
pub(crate) use remote::{PublishRemote, RemoteGroups, RemoteVersion};

/// The media type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// The media type of aggregated discovery in protobuf.
const AGGREGATED_PROTOBUF: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Paths that every server has, as part of the list of all paths.
const OTHER_PATHS: [&str; 13] = [
    "/.well-known/openid-configuration",
    "/api",
    "/apis",
    "/flagz",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/statusz",
    "/version",
];

/// The documents of a group version.
#[derive(Default)]
pub(crate) struct VersionDocuments {
    resources: OnceLock<Document>,
}

/// The documents of a group.
#[derive(Default)]
pub(crate) struct GroupDocuments {
    group: OnceLock<Document>,
}

/// The documents of the whole server.
#[derive(Default)]
pub(crate) struct ServerDocuments {
    root: OnceLock<Document>,
    core: Listed,
    named: Listed,
}

/// `/api` or `/apis`.
#[derive(Default)]
struct Listed {
    plain: OnceLock<Document>,
    aggregated: OnceLock<Document>,
    /// The aggregated document of all servers of the cluster.
    merged: OnceLock<Document>,
}

/// The aggregated form, as a client wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AggregatedForm {
    format: Format,
    /// Whether only the groups of this server are wanted.
    is_own: bool,
}

/// The path of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryPath<'p> {
    /// `/`.
    Root,
    /// `/api`: the core group.
    Core,
    /// `/apis`: all other groups.
    Named,
    /// `/apis/{group}`.
    Group(&'p str),
    /// `/api/{version}` or `/apis/{group}/{version}`.
    Version(&'p str, &'p str),
}

// === impl DiscoveryPath ===

impl<'p> DiscoveryPath<'p> {
    /// Parses a path; `None` if no document can be there. A trailing slash is ignored.
    pub(crate) fn parse(path: &'p str) -> Option<Self> {
        let mut segments = path.trim_end_matches('/').split('/');
        if segments.next() != Some("") {
            return None;
        }
        let segments: [Option<&str>; 4] = std::array::from_fn(|_| segments.next());
        match segments {
            [None, ..] => Some(Self::Root),
            [Some("api"), None, ..] => Some(Self::Core),
            [Some("api"), Some(version), None, _] => Some(Self::Version("", version)),
            [Some("apis"), None, ..] => Some(Self::Named),
            [Some("apis"), Some(group), None, _] if !group.is_empty() => Some(Self::Group(group)),
            [Some("apis"), Some(group), Some(version), None] if !group.is_empty() => {
                Some(Self::Version(group, version))
            }
            _ => None,
        }
    }
}

// === impl VersionDocuments ===

impl VersionDocuments {
    /// Returns the `APIResourceList`.
    pub(crate) fn resources(&self, version: &Version<'_>) -> &Document {
        self.resources.get_or_init(|| Document::json(&legacy::resource_list(version)))
    }
}

// === impl GroupDocuments ===

impl GroupDocuments {
    /// Returns the `APIGroup`.
    pub(crate) fn group(&self, group: &Group<'_>) -> &Document {
        self.group.get_or_init(|| Document::json(&legacy::group_document(group)))
    }
}

// === impl ServerDocuments ===

impl ServerDocuments {
    /// Returns the list of all paths; `groups` are all that are served.
    pub(crate) fn root(&self, groups: &[Group<'_>]) -> &Document {
        self.root.get_or_init(|| {
            let mut paths: BTreeSet<String> = OTHER_PATHS.map(str::to_owned).into();
            for group in groups {
                paths.extend(group.versions.iter().map(Version::path));
                if !group.name.is_empty() {
                    paths.insert(format!("/apis/{}", group.name));
                }
            }
            Document::json(&json!({ "paths": paths }))
        })
    }

    /// Returns a response with the document of `/api` (`is_core`) or `/apis`; `groups` returns the groups that it
    /// lists, and `peers` are those of other servers.
    ///
    /// # Errors
    /// 406.
    pub(crate) fn list<'g>(
        &self,
        is_core: bool,
        groups: impl FnOnce() -> Vec<Group<'g>>,
        peers: Option<&PeerGroups>,
        parts: &Parts,
        cbor: bool,
    ) -> Result<Response, StatusError> {
        let listed = if is_core { &self.core } else { &self.named };
        if let Some(form) = aggregated_form(&parts.headers, cbor) {
            let items = || {
                let mut groups = groups();
                groups.sort_by_cached_key(Group::aggregated_order);
                aggregated::group_items(&groups)
            };
            let document = match peers.filter(|_| !is_core && !form.is_own) {
                Some(peers) => {
                    listed.merged.get_or_init(|| Document::json(&aggregated::list(peers.merged(&items()))))
                }
                None => listed.aggregated.get_or_init(|| Document::json(&aggregated::list(items()))),
            };
            return Ok(aggregated_response(document, form.format, &parts.headers));
        }
        let document = listed.plain.get_or_init(|| {
            if is_core {
                Document::json(&legacy::core_versions(&groups()))
            } else {
                let mut groups = groups();
                groups.sort_by_cached_key(Group::listed_order);
                Document::json(&legacy::group_list(&groups))
            }
        });
        response(document, parts, cbor)
    }
}

/// Returns a response with a document, in the format that the client accepts; `cbor` is whether the server
/// supports CBOR.
///
/// # Errors
/// 406.
pub(crate) fn response(document: &Document, parts: &Parts, cbor: bool) -> Result<Response, StatusError> {
    let formats = Formats { protobuf: true, cbor, tables: false };
    let output = Output::negotiate(&parts.headers, Query::from_uri(&parts.uri), Endpoint::Document, formats)?;
    Ok(document.response(&output))
}

/// Returns the form in which the client prefers the aggregated document over the plain one, or `None`.
fn aggregated_form(headers: &HeaderMap, cbor: bool) -> Option<AggregatedForm> {
    for clause in clauses(headers) {
        match (clause.format(Endpoint::Document, cbor), clause.parameter("as")) {
            (Some(_), None) => return None,
            (
                Some(format @ (Format::Json | Format::Yaml | Format::Protobuf)),
                Some("APIGroupDiscoveryList"),
            ) => {
                let is_v2 = clause.parameter("v") == Some("v2");
                if is_v2 && clause.parameter("g") == Some("apidiscovery.k8s.io") {
                    let is_own = clause.parameter("profile") == Some("nopeer");
                    return Some(AggregatedForm { format, is_own });
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the aggregated document, as protobuf if requested; both have the same tag.
fn aggregated_response(document: &Document, format: Format, headers: &HeaderMap) -> Response {
    if format != Format::Protobuf {
        return document.cacheable_response(headers, AGGREGATED);
    }
    let mut response = document.cacheable_response(headers, AGGREGATED_PROTOBUF);
    if response.status() == StatusCode::OK {
        let group = "apidiscovery.k8s.io";
        let version = "v2";
        let kind = "APIGroupDiscoveryList";
        let schema = resources::schema::built_in(group, version, kind);
        match protobuf::encode(&document.parsed(), &schema, "apidiscovery.k8s.io/v2", kind) {
            Ok(encoded) => *response.body_mut() = encoded.into(),
            Err(error) => return responses::status(&StatusError::internal(error)),
        }
    }
    response
}
