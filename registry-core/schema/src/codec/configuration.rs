//! Files that configure a server: YAML or JSON of one kind.
//!
//! Kubernetes concept: strict decoding of `k8s.io/apimachinery/pkg/runtime/serializer`.

use registry_meta::go_text::quote;
use registry_meta::json_fields::without_nulls;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{DecodeError, Decoded, Limits, yaml};
use crate::FieldIssue;

/// Error of a file that is not a configuration of its kind. Not retryable before the file changes. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub enum DecodingError {
    /// It is neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] DecodeError),
    /// Fields stand twice.
    #[error("strict decoding error: {0}")]
    Duplicates(FieldIssue),
    /// It does not say what it is.
    #[error("Object 'Kind' is missing")]
    NoKind,
    /// It is something else.
    #[error("no kind {} is registered for version {}", quote(.kind), quote(.api_version))]
    OtherKind {
        /// The kind in the file.
        kind: String,
        /// The version in the file.
        api_version: String,
    },
    /// A field is unknown, or has another type.
    #[error("strict decoding error: {0}")]
    Fields(#[from] serde_json::Error),
}

/// Decodes a configuration of a kind in one of these versions, which have the same fields. `T` has the fields beside the version
/// and the kind, and refuses unknown ones. Fields that are null are absent, as in Go.
///
/// # Errors
/// Fails if it is something else, or if fields stand twice: it would not be clear which one counts.
pub fn decode<T: DeserializeOwned>(
    content: &[u8],
    kind: &str,
    api_versions: &[&str],
) -> Result<T, DecodingError> {
    let Decoded { mut value, duplicates, .. } = yaml::decode(content, &Limits::default())?;
    if let Some(issue) = duplicates.into_iter().next() {
        return Err(DecodingError::Duplicates(issue));
    }
    let mut take = |field: &str| match value.as_object_mut().and_then(|fields| fields.remove(field)) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (found, api_version) = (take("kind"), take("apiVersion"));
    if found.is_empty() {
        return Err(DecodingError::NoKind);
    }
    if found != kind || !api_versions.contains(&api_version.as_str()) {
        return Err(DecodingError::OtherKind { kind: found, api_version });
    }
    Ok(serde_json::from_value(without_nulls(value))?)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sizes {
        width: Option<u8>,
    }

    #[test]
    fn a_configuration_is_decoded_strictly() {
        let decoded = |text: &str| {
            let sizes = decode::<Sizes>(text.as_bytes(), "Sizes", &["a/v1", "a/v2"]);
            sizes.map(|sizes| sizes.width).map_err(|error| error.to_string())
        };
        assert_eq!(decoded("{apiVersion: a/v2, kind: Sizes, width: 3}"), Ok(Some(3)));
        assert_eq!(decoded("{apiVersion: a/v1, kind: Sizes, width: null}"), Ok(None));
        for (text, reason) in [
            ("", "Object 'Kind' is missing"),
            ("[]", "Object 'Kind' is missing"),
            ("{kind: Sizes}", "no kind \"Sizes\" is registered for version \"\""),
            ("{apiVersion: a/v3, kind: Sizes}", "no kind \"Sizes\" is registered for version \"a/v3\""),
            ("{apiVersion: a/v1, kind: Pod}", "no kind \"Pod\" is registered for version \"a/v1\""),
            ("{apiVersion: a/v1, kind: Sizes, height: 3}", "strict decoding error: unknown field `height`"),
            ("{apiVersion: a/v1, kind: Sizes, width: wide}", "strict decoding error: invalid type"),
            ("{apiVersion: a/v1, kind: Sizes, width: 1, width: 2}", "strict decoding error: "),
        ] {
            let refused = decoded(text).expect_err(reason);
            assert!(refused.starts_with(reason), "{text}: {refused}");
        }
        assert!(decoded("{").is_err());
    }
}
