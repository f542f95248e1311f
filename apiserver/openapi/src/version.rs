//! The v3 document of one group and version.

use std::cell::LazyCell;
use std::sync::OnceLock;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use registry_core::api::{GroupVersion, StatusError};
use registry_core::registry::InstalledPath;
use registry_core::schema::openapi::Descriptions;
use request_info::Query;
use responses::negotiation::{Endpoint, Format, Formats, Output, clauses};
use responses::{self, Document, EntityTag, Response};
use serde::Serialize;
use serde_json::{Value, json};

use super::custom::{self, Target, is_custom};
use super::{DescriptionsSource, components, gnostic, hashed_url, paths};

/// The media types of the protobuf form: the current and the previous one.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
];

/// A served group and version, as its document describes it.
pub struct Version<'a> {
    /// The group and version.
    pub id: GroupVersion,
    /// Its paths.
    pub paths: Vec<&'a InstalledPath>,
    /// Its document.
    pub document: &'a VersionDocument,
}

/// The document of one group and version, if it is kept.
#[derive(Default)]
pub struct VersionDocument {
    tag: OnceLock<EntityTag>,
    document: OnceLock<Document>,
}

/// Descriptions that are unpacked when they are first needed.
pub(super) type LazyDescriptions = LazyCell<Option<Descriptions>, DescriptionsSource>;

// === impl Version ===

impl Version<'_> {
    /// Whether all kinds are custom.
    pub(super) fn is_custom(&self) -> bool {
        self.paths.iter().all(|path| is_custom(path))
    }

    /// Returns a response with the document at this path below the index.
    pub(super) fn response(
        &self,
        path: &str,
        parts: &Parts,
        descriptions: DescriptionsSource,
    ) -> Result<Response, StatusError> {
        if let Some(tag) = self.derived_tag() {
            let make = || Document::tagged(&self.value(descriptions().as_ref()), tag.clone());
            return response(path, parts, &tag, make);
        }
        let document =
            self.document.document.get_or_init(|| Document::json(&self.value(descriptions().as_ref())));
        response(path, parts, document.tag(), || document.clone())
    }

    /// Returns the tag, without keeping the document.
    pub(super) fn tag(&self, descriptions: &LazyDescriptions) -> EntityTag {
        let of_document = || match self.document.document.get() {
            Some(document) => document.tag().clone(),
            None => Document::json(&self.value(descriptions.as_ref())).tag().clone(),
        };
        self.derived_tag().unwrap_or_else(|| self.document.tag.get_or_init(of_document).clone())
    }

    /// Returns the tag of a document that is not kept.
    fn derived_tag(&self) -> Option<EntityTag> {
        custom::identity(&self.paths).as_ref().map(EntityTag::from_digest)
    }

    fn value(&self, descriptions: Option<&Descriptions>) -> Value {
        let schemas = components::version_schemas(self.id, &self.paths, descriptions, Target::V3);
        let paths = paths::version_paths(self.id, &self.paths);
        if self.is_custom() {
            return json!({
                "openapi": "3.0.0",
                "info": { "title": "Kubernetes CRD Swagger", "version": "v0.1.0" },
                "paths": paths,
                "components": { "schemas": schemas },
            });
        }
        built_in_document(&paths, &schemas)
    }
}

/// Returns a document that the server itself is the author of.
pub(super) fn built_in_document(paths: &impl Serialize, schemas: &impl Serialize) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "BearerToken": {
                    "description": "Bearer Token authentication",
                    "type": "apiKey", "name": "authorization", "in": "header",
                },
            },
        },
    })
}

/// Returns a response with the document with this tag, which `make` returns.
pub(super) fn response(
    path: &str,
    parts: &Parts,
    tag: &EntityTag,
    make: impl FnOnce() -> Document,
) -> Result<Response, StatusError> {
    let query = Query::from_uri(&parts.uri);
    let formats = Formats { protobuf: false, cbor: false, tables: false };
    let output = if wants_protobuf(&parts.headers) {
        None
    } else {
        Some(Output::negotiate(&parts.headers, query, Endpoint::Document, formats)?)
    };
    let asked_hash = query.first("hash");
    if asked_hash.as_ref().is_some_and(|hash| **hash != *tag.hash()) {
        return Ok(moved(&hashed_url(path, tag.hash())));
    }
    let mut response = match output {
        Some(output) if output.format == Format::Yaml => return Ok(make().response(&output)),
        Some(_) => tag.cacheable_response(&parts.headers, "application/json", || make().bytes()),
        // Rarely requested: encoded for each request.
        None => {
            let encode = || gnostic::v3(&make().parsed()).into();
            tag.cacheable_response(&parts.headers, PROTOBUF[0], encode)
        }
    };
    if asked_hash.is_some() {
        // The content of this URL never changes.
        let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
}

/// Returns whether the client prefers gnostic's protobuf.
fn wants_protobuf(headers: &HeaderMap) -> bool {
    let media_type = clauses(headers).first().map_or("", |clause| clause.media_type());
    PROTOBUF.contains(&media_type)
}

/// Returns a redirect: the document has changed since the client read the index.
fn moved(url: &str) -> Response {
    let mut response = responses::empty(StatusCode::MOVED_PERMANENTLY);
    if let Ok(url) = HeaderValue::from_str(url) {
        response.headers_mut().insert(LOCATION, url);
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
