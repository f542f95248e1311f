//! Content negotiation: `Accept` and `pretty`, and the media types of bodies.
//!
//! Two stages, as in Kubernetes: the route refuses a request if it produces none of the accepted types; then
//! the clauses are tried in the client's order of preference, with their parameters (`as=Table;…`).

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};
use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
use request_info::Query;

mod accept;
mod format;
#[cfg(test)]
mod tests;

pub use accept::{Clause, clauses};
pub use format::{Endpoint, Format, Formats, MetaVersion, body_media_type, unknown_body};

/// The negotiated form of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// The transformation.
    pub shape: ResponseShape,
    /// Whether it is indented. JSON only.
    pub pretty: bool,
    /// Whether the client accepts gzip.
    pub gzip: bool,
}

/// The transformation of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseShape {
    /// The object itself.
    Whole,
    /// A `Table` of this `meta.k8s.io` version.
    Table(MetaVersion),
    /// A `PartialObjectMetadata` of this version.
    Partial(MetaVersion),
    /// A `PartialObjectMetadataList` of this version.
    PartialList(MetaVersion),
}

// === impl Output ===

impl Output {
    /// Returns the accepted form that the client prefers. For a kind without a protobuf form, only its
    /// metadata are available in it.
    ///
    /// # Errors
    /// 406: no accepted form is available at this endpoint.
    pub fn negotiate(
        headers: &HeaderMap,
        query: Query<'_>,
        endpoint: Endpoint,
        formats: Formats,
    ) -> Result<Self, StatusError> {
        let pretty = wants_pretty(headers, query);
        let gzip = accepts_gzip(headers);
        let plain = Self { format: Format::Json, shape: ResponseShape::Whole, pretty, gzip };
        if accepts_plain_json(headers) {
            return Ok(plain);
        }
        let clauses = clauses(headers);
        if !clauses.iter().any(|clause| clause.names_produced_type(endpoint, formats)) {
            return Err(not_produced(endpoint, formats));
        }
        let accepted = |endpoint| {
            clauses.iter().find_map(|clause| {
                let format = clause.format(endpoint, formats.cbor)?;
                let shape = shape(clause, endpoint)?;
                is_given(format, shape, endpoint, formats).then_some((clause, format, shape))
            })
        };
        if let Some((clause, format, shape)) = accepted(endpoint) {
            let pretty = pretty || clause.parameter("pretty") == Some("1");
            return Ok(Self { format, shape, pretty, gzip });
        }
        let is_only_no_stream = endpoint == Endpoint::Watch && accepted(Endpoint::Collection).is_some();
        let types = if is_only_no_stream { formats.stream_media_types() } else { formats.media_types() };
        Err(StatusError::new(
            Reason::NotAcceptable,
            format!("only the following media types are accepted: {types}"),
        ))
    }

    /// Returns the form of errors: the preferred format of those that are accepted without a transformation, or else
    /// JSON. `Status` has all formats but, perhaps, CBOR.
    pub fn for_errors(headers: &HeaderMap, query: Query<'_>, cbor: bool) -> Self {
        let wanted = |clause: &Clause<'_>| {
            clause.parameter("as").is_none().then(|| clause.format(Endpoint::Object, cbor)).flatten()
        };
        let format = if accepts_plain_json(headers) {
            Format::Json
        } else {
            clauses(headers).iter().find_map(wanted).unwrap_or(Format::Json)
        };
        Self { format, shape: ResponseShape::Whole, pretty: wants_pretty(headers, query), gzip: false }
    }
}

/// Returns whether the header is the usual one, which then need not be parsed.
fn accepts_plain_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter();
    match (values.next(), values.next()) {
        (None, _) => true,
        (Some(only), None) => matches!(only.as_bytes(), b"application/json" | b"*/*" | b""),
        _ => false,
    }
}

/// Returns whether the client wants indented output.
pub fn wants_pretty(headers: &HeaderMap, query: Query<'_>) -> bool {
    if let Some(value) = query.first("pretty") {
        return matches!(&*value, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    // Browsers and command line tools get indented output.
    let agent = headers.get(USER_AGENT).map_or(&b""[..], http::HeaderValue::as_bytes);
    [&b"curl"[..], b"Wget", b"Mozilla/5.0"].iter().any(|prefix| agent.starts_with(prefix))
}

/// Returns whether the client accepts gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    codings.flat_map(|value| value.split(',')).any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim() == "gzip" && !matches!(parameters.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

fn is_given(format: Format, shape: ResponseShape, endpoint: Endpoint, formats: Formats) -> bool {
    match (format, shape) {
        (_, ResponseShape::Table(_)) if !formats.tables => false,
        (Format::Json | Format::Cbor, _) => true,
        (Format::Yaml, _) => endpoint != Endpoint::Watch,
        (Format::Protobuf, ResponseShape::Whole) => formats.protobuf,
        (Format::Protobuf, ResponseShape::Table(_)) => false,
        (Format::Protobuf, ResponseShape::Partial(_) | ResponseShape::PartialList(_)) => true,
    }
}

/// Returns the transformation that a clause's parameters ask for, or `None` if it is not available. Unknown
/// parameters are ignored.
fn shape(clause: &Clause<'_>, endpoint: Endpoint) -> Option<ResponseShape> {
    let parameter = |name| clause.parameter(name).unwrap_or_default();
    if !matches!(parameter("stream"), "" | "watch") || !matches!(parameter("sv"), "" | "v1") {
        return None;
    }
    if ["as", "g", "v"].iter().all(|name| clause.parameter(name).is_none()) {
        return Some(ResponseShape::Whole);
    }
    if parameter("g") != "meta.k8s.io" || endpoint == Endpoint::Document {
        return None;
    }
    let version = match parameter("v") {
        "v1" => MetaVersion::V1,
        "v1beta1" => MetaVersion::V1Beta1,
        _ => return None,
    };
    match parameter("as") {
        "Table" => Some(ResponseShape::Table(version)),
        "PartialObjectMetadata" => Some(ResponseShape::Partial(version)),
        "PartialObjectMetadataList" => Some(ResponseShape::PartialList(version)),
        _ => None,
    }
}

fn not_produced(endpoint: Endpoint, formats: Formats) -> StatusError {
    // The routing layer ignores that some kinds have no protobuf form.
    let formats = Formats { protobuf: true, ..formats };
    let mut types = formats.media_types();
    if matches!(endpoint, Endpoint::Collection | Endpoint::Watch) {
        types += ", ";
        types += &formats.stream_media_types();
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {types}");
    with_empty_details(StatusError::new(Reason::NotAcceptable, message))
}

/// Sets empty details, as Kubernetes' routing layer does in its errors.
pub fn with_empty_details(mut failure: StatusError) -> StatusError {
    failure.details = Some(Box::<StatusDetails>::default());
    failure
}
