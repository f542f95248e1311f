//! OpenAPI v3: an index of documents, one per group and version; and v2, one document of everything.
//!
//! Documents are created when they are first requested, and only those are kept; the index needs only their
//! hashes. Custom kinds may be many: their documents are created for each request, and their hashes derive from what
//! the documents are created of.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `v2` | OpenAPI v2: one document of everything |
//! | `roots` | the paths that list others, and their small documents |
//! | `version` | the v3 document of one group and version |
//! | `gnostic` | documents as protobuf |
//! | `paths` | the paths of a group and version |
//! | `connections` | the operations of connect paths |
//! | `operations` | one operation of a path |
//! | `components` | the schemas that a document refers to |
//! | `custom` | the schemas of custom kinds |
//! | `references` | the names of schemas and kinds, as documents refer to them |
//! | `names` | names and tags of operations |
//! | `actions` | the actions and scopes of paths |
//!
//! Kubernetes concept: [OpenAPI v3](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3).

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use http::StatusCode;
use http::request::Parts;
use registry_core::api::StatusError;
use registry_core::schema::openapi::Descriptions;
use request_info::root_of;
use responses::{self, Document, Response};
use serde_json::{Map, Value, json};

mod actions;
mod components;
mod connections;
mod custom;
mod gnostic;
mod names;
mod operations;
mod paths;
mod references;
mod roots;
#[cfg(test)]
mod tests;
mod v2;
mod version;

pub use v2::{RemoteSpec, SpecError};
pub use version::{Version, VersionDocument};

use v2::{Content, Forms};

/// Path of the index.
const INDEX: &str = "/openapi/v3";

/// Returns the texts of `kubectl explain`. They are large: unpacked when documents are created, and not kept.
pub type DescriptionsSource = fn() -> Option<Descriptions>;

/// Everything that is served, as the documents need it.
pub trait ServedVersions: Sync {
    /// Returns a group and version; `None` if it is not served.
    fn version(&self, group: &str, version: &str) -> Option<Version<'_>>;

    /// Returns all of them, in any order.
    fn versions(&self) -> Vec<Version<'_>>;

    /// Returns the paths below the index and the URLs of the documents of extension servers.
    fn remote(&self) -> Vec<(String, &str)>;

    /// Returns the OpenAPI v2 documents of extension servers, by priority.
    fn remote_specs(&self) -> Vec<Arc<RemoteSpec>>;
}

/// The documents of the whole server: the index, and that of OpenAPI v2.
#[derive(Default)]
pub struct ServerDocuments {
    index: OnceLock<Document>,
    v2: Forms,
}

// === impl ServerDocuments ===

impl ServerDocuments {
    /// Returns a response with the document at a path; `None` if the path is not one of OpenAPI.
    pub fn get(
        &self,
        path: &str,
        parts: &Parts,
        served: &dyn ServedVersions,
        descriptions: DescriptionsSource,
    ) -> Option<Result<Response, StatusError>> {
        if is_v2(path) {
            return Some(Ok(self.v2.response(parts, || {
                Content::new(sorted(served).into_values(), descriptions(), served.remote_specs())
            })));
        }
        let below = below_index(path)?;
        if below.is_empty() {
            return Some(Ok(self.index(parts, served, descriptions)));
        }
        if let Some(version) = find(served, below) {
            return Some(version.response(below, parts, descriptions));
        }
        Some(match roots::document(below, served, &LazyCell::new(descriptions)) {
            Some(value) => {
                let document = Document::json(&value);
                version::response(below, parts, document.tag(), || document.clone())
            }
            // Below the index, the 404 response has no body, as in Kubernetes.
            None => Ok(responses::empty(StatusCode::NOT_FOUND)),
        })
    }

    fn index(
        &self,
        parts: &Parts,
        served: &dyn ServedVersions,
        descriptions: DescriptionsSource,
    ) -> Response {
        let index = self.index.get_or_init(|| {
            let descriptions = LazyCell::new(descriptions);
            let mut paths: Map<String, Value> = sorted(served)
                .iter()
                .map(|(path, version)| {
                    let url = hashed_url(path, version.tag(&descriptions).hash());
                    (path.clone(), json!({ "serverRelativeURL": url }))
                })
                .collect();
            for path in roots::paths(served) {
                if let Some(value) = roots::document(&path, served, &descriptions) {
                    let url = hashed_url(&path, Document::json(&value).tag().hash());
                    paths.insert(path, json!({ "serverRelativeURL": url }));
                }
            }
            for (path, url) in served.remote() {
                paths.insert(path, json!({ "serverRelativeURL": url }));
            }
            Document::json(&json!({ "paths": paths }))
        });
        // Kubernetes' HTTP library detects this type from the content.
        index.cacheable_response(&parts.headers, "text/plain; charset=utf-8")
    }
}

/// Returns whether a path is that of a document of OpenAPI, which may exist or not.
pub fn has_path(path: &str) -> bool {
    is_v2(path) || below_index(path).is_some()
}

/// Returns whether there is a document at this path.
pub fn serves(path: &str, served: &dyn ServedVersions) -> bool {
    is_v2(path)
        || below_index(path).is_some_and(|below| {
            below.is_empty()
                || find(served, below).is_some()
                || roots::paths(served).iter().any(|path| path == below)
        })
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
