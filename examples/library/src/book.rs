//! `library.example.dev/v1 Book`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A book in the library.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "library.example.dev",
    version = "v1",
    selectable(spec.author),
    column("Title", spec.title),
    column("Author", spec.author)
)]
pub struct Book {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The properties of the book.
    pub spec: BookSpec,
}

/// The properties of a book.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct BookSpec {
    /// The title.
    #[schemars(length(min = 1))]
    pub title: String,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}
