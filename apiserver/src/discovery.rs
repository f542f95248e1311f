//! Discovery: the groups, versions, resources and verbs that are served.
//!
//! Derived from the installed storages and their capabilities, created once and kept as encoded bytes.
//!
//! Kubernetes concept:
//! [the discovery API](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api).

use std::collections::{BTreeSet, HashMap};

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use registry_core::api::StatusError;
use registry_core::codec::protobuf;
use registry_core::registry::InstalledApi;
use serde_json::json;

use crate::request_info::Query;
use crate::responses::Document;
use crate::responses::negotiation::{Endpoint, Format, Formats, Output, clauses};

mod aggregated;
mod groups;
mod legacy;
#[cfg(test)]
mod tests;

use groups::Group;

/// The media type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// The media type of aggregated discovery in protobuf.
const AGGREGATED_PROTOBUF: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Paths that are served elsewhere and are part of the list of all paths.
const OTHER_PATHS: [&str; 9] = [
    "/.well-known/openid-configuration",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
];

/// All discovery documents, by path without a trailing slash.
pub(crate) struct Discovery {
    documents: HashMap<Box<str>, Document>,
    /// The aggregated forms of `/api` and `/apis`.
    aggregated: HashMap<&'static str, Document>,
    groups: BTreeSet<&'static str>,
}

// === impl Discovery ===

impl Discovery {
    /// Returns the documents of everything that is installed.
    pub(crate) fn new(installed: &InstalledApi) -> Self {
        let groups = groups::of(installed);
        let (core, named): (Vec<&Group<'_>>, Vec<&Group<'_>>) =
            groups.iter().partition(|group| group.name.is_empty());

        let mut documents = HashMap::new();
        let mut add = |path: String, document: Document| {
            documents.insert(path.into_boxed_str(), document);
        };
        add("/api".to_owned(), Document::json(&legacy::core_versions(&core)));
        add("/apis".to_owned(), Document::json(&legacy::group_list(&named)));
        for group in &groups {
            for version in &group.versions {
                add(version.path(), Document::json(&legacy::resource_list(version)));
            }
            if !group.name.is_empty() {
                add(format!("/apis/{}", group.name), Document::json(&legacy::group_document(group)));
            }
        }
        let mut paths: BTreeSet<&str> = documents.keys().map(AsRef::as_ref).collect();
        paths.extend(OTHER_PATHS);
        let root = Document::json(&json!({ "paths": paths }));
        documents.insert(Box::default(), root);

        let aggregated = [("/api", &core), ("/apis", &named)]
            .map(|(path, groups)| (path, Document::json(&aggregated::group_list(groups))));
        Self {
            documents,
            aggregated: aggregated.into(),
            groups: groups.iter().map(|group| group.name).collect(),
        }
    }

    /// Returns whether there is a document at this path.
    pub(crate) fn serves(&self, path: &str) -> bool {
        self.documents.contains_key(path.trim_end_matches('/'))
    }

    /// Returns whether the path belongs to a served group, although the path itself is not served.
    pub(crate) fn serves_group_of(&self, path: &str) -> bool {
        let mut segments = path.trim_matches('/').split('/');
        match (segments.next(), segments.next()) {
            (Some("api"), Some(_)) => true,
            (Some("apis"), Some(group)) => self.groups.contains(group),
            _ => false,
        }
    }

    /// Returns the document at a path, if there is one, in the format that the client accepts; `cbor` is
    /// whether the server supports CBOR.
    ///
    /// # Errors
    /// 406.
    pub(crate) fn get(
        &self,
        path: &str,
        parts: &Parts,
        cbor: bool,
    ) -> Result<Option<Response<Body>>, StatusError> {
        let path = path.trim_end_matches('/');
        let Some(document) = self.documents.get(path) else { return Ok(None) };
        if let (Some(aggregated), Some(format)) =
            (self.aggregated.get(path), aggregated_format(&parts.headers, cbor))
        {
            return Ok(Some(answer_aggregated(aggregated, format, &parts.headers)));
        }
        let formats = Formats { protobuf: true, cbor, tables: false };
        let output = Output::negotiate(&parts.headers, Query::of(&parts.uri), Endpoint::Document, formats)?;
        Ok(Some(document.answer(&output)))
    }
}

/// Returns the format in which the client prefers the aggregated form over the plain one, or `None`.
fn aggregated_format(headers: &HeaderMap, cbor: bool) -> Option<Format> {
    for clause in clauses(headers) {
        match (clause.format(Endpoint::Document, cbor), clause.parameter("as")) {
            (Some(_), None) => return None,
            (
                Some(format @ (Format::Json | Format::Yaml | Format::Protobuf)),
                Some("APIGroupDiscoveryList"),
            ) => {
                let is_v2 = clause.parameter("v") == Some("v2");
                if is_v2 && clause.parameter("g") == Some("apidiscovery.k8s.io") {
                    return Some(format);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the aggregated document, as protobuf if requested; both have the same tag.
fn answer_aggregated(document: &Document, format: Format, headers: &HeaderMap) -> Response<Body> {
    if format != Format::Protobuf {
        return document.cacheable_answer(headers, AGGREGATED);
    }
    let mut response = document.cacheable_answer(headers, AGGREGATED_PROTOBUF);
    if response.status() == StatusCode::OK {
        let group = "apidiscovery.k8s.io";
        let version = "v2";
        let kind = "APIGroupDiscoveryList";
        let schema = resources::schema::of(group, version, kind);
        let encoded = protobuf::encode(&document.parsed(), &schema, "apidiscovery.k8s.io/v2", kind);
        *response.body_mut() = Body::from(encoded);
    }
    response
}
