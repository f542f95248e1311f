//! OpenAPI v3: an index of documents, one per group and version; and v2, one document of everything.
//!
//! Documents are created when they are first requested, and only those are kept; the index needs only their
//! hashes.
//!
//! Kubernetes concept: [OpenAPI v3](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use axum::body::Body;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use registry_core::api::{GroupVersion, StatusError};
use registry_core::registry::InstalledPath;
use registry_core::schema::openapi::Descriptions;
use serde_json::{Map, Value, json};

use crate::request_info::{Query, root_of};
use crate::responses::negotiation::{Endpoint, Format, Formats, Output, clauses};
use crate::responses::{self, Document};

mod actions;
mod components;
mod connections;
mod gnostic;
mod names;
mod operations;
mod paths;
#[cfg(test)]
mod tests;
mod v2;

use v2::Forms;

/// Path of the index.
const INDEX: &str = "/openapi/v3";

/// The media types of the protobuf form: the current and the previous one.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
];

/// Returns the texts of `kubectl explain`. They are large: unpacked when documents are created, and not kept.
pub type DescriptionsSource = fn() -> Option<Descriptions>;

/// A served group and version, as its document describes it.
pub(crate) struct Version<'a> {
    /// The group and version.
    pub(crate) id: GroupVersion,
    /// Its paths.
    pub(crate) paths: Vec<&'a InstalledPath>,
    /// Its document.
    pub(crate) document: &'a VersionDocument,
}

/// Everything that is served, as the documents need it.
pub(crate) trait ServedVersions: Sync {
    /// Returns a group and version; `None` if it is not served.
    fn version(&self, group: &str, version: &str) -> Option<Version<'_>>;

    /// Returns all of them, in any order.
    fn versions(&self) -> Vec<Version<'_>>;
}

/// The documents of the whole server: the index, and that of OpenAPI v2.
#[derive(Default)]
pub(crate) struct ServerDocuments {
    index: OnceLock<Document>,
    v2: Forms,
}

/// The document of one group and version.
#[derive(Default)]
pub(crate) struct VersionDocument {
    hash: OnceLock<Box<str>>,
    document: OnceLock<Document>,
}

// === impl ServerDocuments ===

impl ServerDocuments {
    /// Returns a response with the document at a path; `None` if the path is not one of OpenAPI.
    pub(crate) fn get(
        &self,
        path: &str,
        parts: &Parts,
        served: &dyn ServedVersions,
        descriptions: DescriptionsSource,
    ) -> Option<Result<Response<Body>, StatusError>> {
        if is_v2(path) {
            return Some(Ok(self.v2.answer(parts, || v2_document(served, descriptions))));
        }
        let below = below_index(path)?;
        if below.is_empty() {
            return Some(Ok(self.index(parts, served, descriptions)));
        }
        match find(served, below) {
            Some(version) => Some(version.answer(below, parts, descriptions)),
            // Below the index, the 404 response has no body, as in Kubernetes.
            None => Some(Ok(responses::empty(StatusCode::NOT_FOUND))),
        }
    }

    fn index(
        &self,
        parts: &Parts,
        served: &dyn ServedVersions,
        descriptions: DescriptionsSource,
    ) -> Response<Body> {
        let index = self.index.get_or_init(|| {
            let descriptions = descriptions();
            let paths: Map<String, Value> = sorted(served)
                .iter()
                .map(|(path, version)| {
                    let url = hashed_url(path, version.hash(descriptions.as_ref()));
                    (path.clone(), json!({ "serverRelativeURL": url }))
                })
                .collect();
            Document::json(&json!({ "paths": paths }))
        });
        // Kubernetes' HTTP library detects this type from the content.
        index.cacheable_answer(&parts.headers, "text/plain; charset=utf-8")
    }
}

/// Returns whether there is a document at this path.
pub(crate) fn serves(path: &str, served: &dyn ServedVersions) -> bool {
    is_v2(path) || below_index(path).is_some_and(|below| below.is_empty() || find(served, below).is_some())
}

/// Returns the version at a path below the index, for example `apis/apps/v1`.
fn find<'s>(served: &'s dyn ServedVersions, below: &str) -> Option<Version<'s>> {
    match below.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => served.version("", version),
        ["apis", group, version] if !group.is_empty() => served.version(group, version),
        _ => None,
    }
}

/// Returns all versions by their path below the index.
fn sorted(served: &dyn ServedVersions) -> BTreeMap<String, Version<'_>> {
    let path_of = |id| root_of(id).trim_start_matches('/').to_owned();
    served.versions().into_iter().map(|version| (path_of(version.id), version)).collect()
}

fn v2_document(served: &dyn ServedVersions, descriptions: DescriptionsSource) -> Value {
    let descriptions = descriptions();
    let versions = sorted(served);
    v2::document(
        versions.values().map(|version| (version.id, version.value(descriptions.as_ref()))).collect(),
    )
}

/// Returns whether the client prefers gnostic's protobuf.
fn wants_protobuf(headers: &HeaderMap) -> bool {
    let media_type = clauses(headers).first().map_or("", |clause| clause.media_type());
    PROTOBUF.contains(&media_type)
}

// === impl Version ===

impl Version<'_> {
    /// Returns a response with the document at this path below the index.
    fn answer(
        &self,
        path: &str,
        parts: &Parts,
        descriptions: DescriptionsSource,
    ) -> Result<Response<Body>, StatusError> {
        let query = Query::of(&parts.uri);
        let document = self.document(descriptions);
        if wants_protobuf(&parts.headers) {
            return Ok(protobuf(document, parts));
        }
        let formats = Formats { protobuf: false, cbor: false, tables: false };
        let output = Output::negotiate(&parts.headers, query, Endpoint::Document, formats)?;
        let asked_hash = query.first("hash");
        if asked_hash.as_ref().is_some_and(|hash| **hash != *document.hash) {
            return Ok(moved(&hashed_url(path, &document.hash)));
        }
        if output.format == Format::Yaml {
            return Ok(document.answer(&output));
        }
        let mut response = document.cacheable_answer(&parts.headers, "application/json");
        if asked_hash.is_some() {
            // The content of this URL never changes.
            let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
            response.headers_mut().insert(CACHE_CONTROL, forever);
        }
        Ok(response)
    }

    /// Returns the hash, without keeping the document.
    fn hash(&self, descriptions: Option<&Descriptions>) -> &str {
        self.document.hash.get_or_init(|| match self.document.document.get() {
            Some(document) => document.hash.clone(),
            None => Document::json(&self.value(descriptions)).hash,
        })
    }

    fn document(&self, descriptions: DescriptionsSource) -> &Document {
        self.document.document.get_or_init(|| Document::json(&self.value(descriptions().as_ref())))
    }

    fn value(&self, descriptions: Option<&Descriptions>) -> Value {
        let title = "Kubernetes";
        json!({
            "openapi": "3.0.0",
            "info": { "title": title, "version": "unversioned" },
            "paths": paths::of_version(self.id, &self.paths),
            "components": {
                "schemas": components::of_version(self.id, &self.paths, descriptions),
                "securitySchemes": {
                    "BearerToken": {
                        "description": "Bearer Token authentication",
                        "type": "apiKey", "name": "authorization", "in": "header",
                    },
                },
            },
        })
    }
}

/// Returns the document as protobuf, which is rarely requested and is encoded for each request.
fn protobuf(document: &Document, parts: &Parts) -> Response<Body> {
    let mut response = document.cacheable_answer(&parts.headers, PROTOBUF[0]);
    if response.status() == StatusCode::OK {
        *response.body_mut() = Body::from(gnostic::v3(&document.parsed()));
    }
    response
}

fn is_v2(path: &str) -> bool {
    path.trim_end_matches('/') == v2::PATH
}

fn below_index(path: &str) -> Option<&str> {
    let below = path.strip_prefix(INDEX)?;
    if below.is_empty() || below.starts_with('/') { Some(below.trim_matches('/')) } else { None }
}

fn hashed_url(path: &str, hash: &str) -> String {
    format!("{INDEX}/{path}?hash={hash}")
}

/// Returns a redirect: the document has changed since the client read the index.
fn moved(url: &str) -> Response<Body> {
    let mut response = responses::empty(StatusCode::MOVED_PERMANENTLY);
    if let Ok(url) = HeaderValue::from_str(url) {
        response.headers_mut().insert(LOCATION, url);
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
