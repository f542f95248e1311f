//! The declared type of a body, and errors for bodies of another type.

use registry_core::api::go_text::quote;
use registry_core::api::{Reason, StatusError, split_api_version};
use registry_core::codec::json::type_name;
use responses::negotiation::Format;
use serde_json::{Map, Value};

use super::super::call::Call;

/// Maximum number of bytes of an undecodable body that an error shows.
const SHOWN_BYTES: usize = 30;

/// The message of Kubernetes' decoder of custom resources for a scale that it cannot decode.
const NO_SCALE: &str = "no kind is registered for the type v1.Scale in scheme \
    \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";

/// The declared type of a body; what it omits is taken from the path.
pub(super) struct Declared {
    group: String,
    version: String,
    kind: String,
}

/// Error of a declared type that is not text. The text is that of Go's JSON decoder.
#[derive(Debug, thiserror::Error)]
#[error("json: cannot unmarshal {found} into Go struct field .{name} of type string")]
pub(super) struct NoText {
    name: &'static str,
    found: &'static str,
}

// === impl Declared ===

impl Declared {
    /// Returns the type that these fields declare.
    ///
    /// # Errors
    /// Fails if they are no texts.
    pub(super) fn from_fields(fields: &Map<String, Value>, call: &Call<'_>) -> Result<Self, NoText> {
        Ok(Self::new(declared_text(fields, "apiVersion")?, declared_text(fields, "kind")?, call))
    }

    /// Returns the type of this `apiVersion` and `kind`; empty ones are replaced by the path's.
    pub(super) fn new(api_version: &str, kind: &str, call: &Call<'_>) -> Self {
        let api_version = if api_version.is_empty() { &call.route.api_version } else { api_version };
        let (group, version) = split_api_version(api_version);
        let kind = if kind.is_empty() { call.route.kind.kind } else { kind };
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Checks that the type is the one the path accepts.
    ///
    /// # Errors
    /// 400.
    pub(super) fn check(&self, call: &Call<'_>) -> Result<(), StatusError> {
        let expected = call.route.kind;
        let is_expected_kind = self.group == expected.group && self.kind == expected.kind;
        if is_expected_kind && self.version == expected.version {
            return Ok(());
        }
        let others = call.route.path.capabilities.storage.other_versions();
        if self.kind == expected.kind
            && others.iter().any(|other| other.group == self.group && other.version == self.version)
        {
            return Ok(());
        }
        if !call.api.served().knows_kind(&self.group, &self.version, &self.kind) {
            let why = format!(
                "no kind {} is registered for version {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                quote(&self.kind),
                quote(&self.api_version())
            );
            return Err(self.cannot_be_handled(expected.kind, &why));
        }
        if is_expected_kind {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                self.api_version(),
                call.route.api_version
            )));
        }
        let target = call.route.go_type(expected.kind);
        let why = format!("converting ({}.{}) to ({target}): unknown conversion", self.version, self.kind);
        Err(self.cannot_be_handled(expected.kind, &why))
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns a 400 for an object of the right kind that is invalid.
    pub(super) fn cannot_be_handled(&self, expected: &str, why: &str) -> StatusError {
        let Self { version, kind, .. } = self;
        StatusError::bad_request(format!(
            "{kind} in version {} cannot be handled as a {expected}: {why}",
            quote(version)
        ))
    }
}

/// Returns the failure of decoding a body as the client sees it. The decoder of custom resources does not know the type
/// of their scales, and all its failures say so.
///
/// Kubernetes concept: `transformDecodeError` in `k8s.io/apiserver/pkg/endpoints/handlers`.
pub(super) fn shown_for(call: &Call<'_>, failure: StatusError) -> StatusError {
    let is_scale = call.route.path.subresource == Some("scale");
    if !(call.route.is_custom() && is_scale) || failure.reason != Reason::BadRequest {
        return failure;
    }
    StatusError::bad_request(NO_SCALE)
}

fn declared_text<'a>(fields: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, NoText> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(NoText { name, found: type_name(other) }),
    }
}

/// Returns a 400 for a body whose kind cannot be determined.
pub(super) fn unrecognized(expected: &str, bytes: &[u8], format: Format, why: &str) -> StatusError {
    let stage = match format {
        Format::Json => "couldn't get version/kind; json parse error: ",
        Format::Cbor => "unable to determine group/version/kind: ",
        Format::Yaml | Format::Protobuf => "",
    };
    let shown = summary(bytes);
    StatusError::bad_request(format!(
        "the object provided is unrecognized (must be of type {expected}): {stage}{why} ({shown})"
    ))
}

/// Returns the beginning of a body: as text if it looks like JSON, else in hexadecimal.
pub(super) fn summary(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let Some(first) = bytes.first() else { return "<empty>".to_owned() };
    let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    let mut text = if *first == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().fold(String::with_capacity(2 * SHOWN_BYTES), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    if bytes.len() > SHOWN_BYTES {
        text.push_str(" ...");
    }
    text
}

/// Returns the reason why a body that is not an object declares no type.
pub(super) fn no_struct(value: &Value) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
         \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        type_name(value)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn undecodable_bodies_are_shown_in_part() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"[1,2]"), "5b312c325d");
        assert_eq!(summary(b"{\"apiVersion\": \"v1\", "), "{\"apiVersion\": \"v1\", ");
        let long = [b'{'; 31];
        assert_eq!(summary(&long), format!("{} ...", "{".repeat(30)));
        let failure = unrecognized("ConfigMap", b"\"x\"", Format::Json, &no_struct(&json!("x")));
        assert_eq!(
            failure.message,
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (227822)"
        );
    }
}
