//! Formats and their media types.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use registry_core::api::{Reason, StatusError};

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// `application/cbor`.
    Cbor,
}

/// The formats of a kind beside JSON and YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Whether the kind has a protobuf form.
    pub protobuf: bool,
    /// Whether the server supports CBOR (`CBORServingAndStorage`).
    pub cbor: bool,
    /// Whether the objects can be shown as a table. Those that are only created (reviews, bindings) cannot.
    pub tables: bool,
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    V1Beta1,
}

/// The type of endpoint, which determines the available media types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// One object, or the response to a write.
    Object,
    /// A list.
    Collection,
    /// A watch: formats that cannot be streamed are not available.
    Watch,
    /// A document about the server itself: no transformations.
    Document,
}

// === impl Formats ===

impl Formats {
    /// Returns all media types, as error messages list them.
    pub(super) fn media_types(self) -> String {
        let mut types = String::from("application/json, application/yaml");
        if self.protobuf {
            types += ", application/vnd.kubernetes.protobuf";
        }
        if self.cbor {
            types += ", application/cbor";
        }
        types
    }

    /// Returns the media types that can be streamed. Metadata have a protobuf form even if the kind has none.
    pub(super) fn stream_media_types(self) -> String {
        let mut types =
            String::from("application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
        if self.cbor {
            types += ", application/cbor-seq";
        }
        types
    }
}

// === impl Format ===

impl Format {
    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
            Self::Cbor => "application/cbor",
        }
    }

    /// Returns the media type of a watch.
    pub const fn stream_media_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            // `application/cbor` is for exactly one object.
            Self::Cbor => "application/cbor-seq",
            Self::Json | Self::Yaml => self.media_type(),
        }
    }

    /// Returns the format of a request's body; JSON if none is given.
    ///
    /// # Errors
    /// 415 if the server does not support it.
    pub fn from_body(headers: &HeaderMap, formats: Formats) -> Result<Self, StatusError> {
        // Media types are case-insensitive, and their parameters must have values.
        let mut parameters = content_type(headers).split(';').skip(1).map(str::trim);
        let has_value = |parameter: &str| {
            parameter.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
        };
        if !parameters.all(|parameter| parameter.is_empty() || has_value(parameter)) {
            return Err(unknown_body(&formats.media_types()));
        }
        match &*body_media_type(headers).to_ascii_lowercase() {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" if formats.protobuf => Ok(Self::Protobuf),
            "application/cbor" if formats.cbor => Ok(Self::Cbor),
            _ => Err(unknown_body(&formats.media_types())),
        }
    }
}

// === impl MetaVersion ===

impl MetaVersion {
    /// Returns the `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// Returns the media type of a request's body without its parameters; empty if none is given.
pub fn body_media_type(headers: &HeaderMap) -> &str {
    content_type(headers).split(';').next().unwrap_or("").trim()
}

/// Returns the first `Content-Type`, or an empty text. One that is not text becomes an unsupported type, and
/// never the type of bodies without one.
fn content_type(headers: &HeaderMap) -> &str {
    /// Not a valid media type.
    const UNREADABLE: &str = "unreadable";
    headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or(UNREADABLE))
}

/// Returns a 415 with the supported media types.
pub fn unknown_body(accepted: &str) -> StatusError {
    StatusError::new(
        Reason::UnsupportedMediaType,
        format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        ),
    )
}
