//! The formats there are, and their media types.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use registry_core::api::{Reason, StatusError};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// `application/cbor`.
    Cbor,
}

/// Which formats something has beside JSON and YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Formats {
    /// The kind has a protobuf form.
    pub(crate) protobuf: bool,
    /// The server speaks CBOR (`CBORServingAndStorage`).
    pub(crate) cbor: bool,
    /// The objects can be shown as a table. Those that are only created (reviews, bindings) cannot.
    pub(crate) tables: bool,
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    V1Beta1,
}

/// What kind of path answers: not all give the same types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// One object, or the answer to a write.
    Object,
    /// A list.
    Collection,
    /// A watch: what cannot be streamed is not given.
    Watch,
    /// A document of the server itself: no transformations.
    Document,
}

// === impl Formats ===

impl Formats {
    /// All media types, as error messages list them.
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
}

// === impl Format ===

impl Format {
    /// The media type.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
            Self::Cbor => "application/cbor",
        }
    }

    /// The media type of a watch.
    pub(crate) const fn stream_media_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            // `application/cbor` is exactly one object.
            Self::Cbor => "application/cbor-seq",
            Self::Json | Self::Yaml => self.media_type(),
        }
    }

    /// The format of a request's body. None given means JSON.
    ///
    /// # Errors
    /// 415 for what the server does not read.
    pub(crate) fn of_body(headers: &HeaderMap, formats: Formats) -> Result<Self, StatusError> {
        // Letters are the same large and small, and parameters have values, or it is no media type.
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
    /// The version as `apiVersion` has it.
    pub(crate) const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The media type of a request's body without its parameters; empty when none is given.
pub(crate) fn body_media_type(headers: &HeaderMap) -> &str {
    content_type(headers).split(';').next().unwrap_or("").trim()
}

/// The first `Content-Type`, empty when there is none. One that is no text is a type that nobody reads: never the type
/// of bodies without one.
fn content_type(headers: &HeaderMap) -> &str {
    /// No media type has this name.
    const UNREADABLE: &str = "unreadable";
    headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or(UNREADABLE))
}

/// 415 with the media types that would do.
pub(crate) fn unknown_body(accepted: &str) -> StatusError {
    StatusError::new(
        Reason::UnsupportedMediaType,
        format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        ),
    )
}
