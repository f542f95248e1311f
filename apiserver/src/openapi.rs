//! OpenAPI v3: an index of documents, one per group and version; and v2, one document of everything.
//!
//! Documents are created when they are first requested, and only those are kept; the index needs only their
//! hashes.
//!
//! Kubernetes concept: [OpenAPI v3](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use registry_core::api::{GroupVersion, StatusError};
use registry_core::registry::{InstalledApi, InstalledPath};
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

/// All OpenAPI documents.
pub(crate) struct OpenApi {
    installed: Arc<InstalledApi>,
    descriptions: DescriptionsSource,
    /// By path below the index, for example `apis/apps/v1`.
    versions: BTreeMap<Box<str>, VersionDocument>,
    index: OnceLock<Document>,
    v2: Forms,
}

/// The document of one group and version.
struct VersionDocument {
    group_version: GroupVersion,
    hash: OnceLock<Box<str>>,
    document: OnceLock<Document>,
}

// === impl OpenApi ===

impl OpenApi {
    /// Returns the documents of everything that is installed.
    pub(crate) fn new(installed: Arc<InstalledApi>, descriptions: DescriptionsSource) -> Self {
        let versions = installed
            .paths
            .iter()
            .map(|path| {
                let group_version = path.resource.group_version();
                let document =
                    VersionDocument { group_version, hash: OnceLock::new(), document: OnceLock::new() };
                (root_of(group_version).trim_start_matches('/').into(), document)
            })
            .collect();
        Self { installed, descriptions, versions, index: OnceLock::new(), v2: Forms::default() }
    }

    /// Returns whether there is a document at this path.
    pub(crate) fn serves(&self, path: &str) -> bool {
        is_v2(path)
            || below_index(path).is_some_and(|below| below.is_empty() || self.versions.contains_key(below))
    }

    /// Returns the document at a path, if there is one.
    pub(crate) fn get(&self, path: &str, parts: &Parts) -> Option<Result<Response<Body>, StatusError>> {
        if is_v2(path) {
            return Some(Ok(self.v2.answer(parts, || self.v2_document())));
        }
        let below = below_index(path)?;
        if below.is_empty() {
            return Some(Ok(self.index(parts)));
        }
        match self.versions.get(below) {
            Some(version) => Some(self.version(below, version, parts)),
            // Below the index, the 404 response has no body, as in Kubernetes.
            None => Some(Ok(responses::empty(StatusCode::NOT_FOUND))),
        }
    }

    fn v2_document(&self) -> Value {
        let descriptions = (self.descriptions)();
        let versions = self.versions.values();
        let of = |version: &VersionDocument| version.value(&self.installed, descriptions.as_ref());
        v2::document(versions.map(|version| (version.group_version, of(version))).collect())
    }

    fn index(&self, parts: &Parts) -> Response<Body> {
        let index = self.index.get_or_init(|| {
            let descriptions = (self.descriptions)();
            let paths: Map<String, Value> = self
                .versions
                .iter()
                .map(|(path, version)| {
                    let url = hashed_url(path, version.hash(&self.installed, descriptions.as_ref()));
                    (path.to_string(), json!({ "serverRelativeURL": url }))
                })
                .collect();
            Document::json(&json!({ "paths": paths }))
        });
        // Kubernetes' HTTP library detects this type from the content.
        index.cacheable_answer(&parts.headers, "text/plain; charset=utf-8")
    }

    /// Returns the document as protobuf, which is rarely requested and is encoded for each request.
    fn protobuf(&self, version: &VersionDocument, parts: &Parts) -> Response<Body> {
        let document = version.document(&self.installed, self.descriptions);
        let mut response = document.cacheable_answer(&parts.headers, PROTOBUF[0]);
        if response.status() == StatusCode::OK {
            *response.body_mut() = Body::from(gnostic::v3(&document.parsed()));
        }
        response
    }

    fn version(
        &self,
        path: &str,
        version: &VersionDocument,
        parts: &Parts,
    ) -> Result<Response<Body>, StatusError> {
        let query = Query::of(&parts.uri);
        if wants_protobuf(&parts.headers) {
            return Ok(self.protobuf(version, parts));
        }
        let formats = Formats { protobuf: false, cbor: false, tables: false };
        let output = Output::negotiate(&parts.headers, query, Endpoint::Document, formats)?;
        let document = version.document(&self.installed, self.descriptions);
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
}

/// Returns whether the client prefers gnostic's protobuf.
fn wants_protobuf(headers: &HeaderMap) -> bool {
    let media_type = clauses(headers).first().map_or("", |clause| clause.media_type());
    PROTOBUF.contains(&media_type)
}

// === impl VersionDocument ===

impl VersionDocument {
    /// Returns the hash, without keeping the document.
    fn hash(&self, installed: &InstalledApi, descriptions: Option<&Descriptions>) -> &str {
        self.hash.get_or_init(|| match self.document.get() {
            Some(document) => document.hash.clone(),
            None => self.build(installed, descriptions).hash,
        })
    }

    fn document(&self, installed: &InstalledApi, descriptions: DescriptionsSource) -> &Document {
        self.document.get_or_init(|| self.build(installed, descriptions().as_ref()))
    }

    fn build(&self, installed: &InstalledApi, descriptions: Option<&Descriptions>) -> Document {
        Document::json(&self.value(installed, descriptions))
    }

    fn value(&self, installed: &InstalledApi, descriptions: Option<&Descriptions>) -> Value {
        let own: Vec<&InstalledPath> = installed
            .paths
            .iter()
            .filter(|path| path.resource.group_version() == self.group_version)
            .collect();
        let title = "Kubernetes";
        json!({
            "openapi": "3.0.0",
            "info": { "title": title, "version": "unversioned" },
            "paths": paths::of_version(self.group_version, &own),
            "components": {
                "schemas": components::of_version(self.group_version, &own, descriptions),
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
