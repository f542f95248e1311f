//! Parsing of the `Accept` header.

use http::HeaderMap;
use http::header::ACCEPT;

use super::format::{Endpoint, Format, Formats};

/// Replaces a header that is not text; no response has this type.
const UNREADABLE: &str = "unreadable";

/// One accepted media type with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// Returns the clauses of all `Accept` headers in order of preference; the order is stable. A value that is
/// not text matches nothing.
pub fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let values = headers.get_all(ACCEPT).iter().map(|value| value.to_str().unwrap_or(UNREADABLE));
    let mut clauses: Vec<Clause<'_>> =
        values.flat_map(|value| value.split(',')).map(Clause::parse).filter(Clause::is_wanted).collect();
    clauses.sort_by(|clause, other| {
        other.quality.total_cmp(&clause.quality).then_with(|| clause.wildcards().cmp(&other.wildcards()))
    });
    clauses
}

// === impl Clause ===

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let mut clause = Self { media_type, parameters: Vec::new(), quality: 1.0 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let name = name.trim();
            let value = value.trim().trim_matches('"');
            if name == "q" {
                // Go's server gives an invalid quality the lowest preference, and keeps the clause.
                clause.quality = value.parse().unwrap_or(0.0);
            } else {
                clause.parameters.push((name, value));
            }
        }
        clause
    }

    fn is_wanted(&self) -> bool {
        !self.media_type.is_empty()
    }

    fn wildcards(&self) -> usize {
        self.media_type.matches('*').count()
    }

    /// Returns the media type, without parameters.
    pub fn media_type(&self) -> &'a str {
        self.media_type
    }

    /// Returns a parameter's value.
    pub fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// Returns whether the clause names a type that resources have (Kubernetes' routing layer supports `*/*`,
    /// but not `application/*`).
    pub(super) fn names_produced_type(&self, endpoint: Endpoint, formats: Formats) -> bool {
        match self.media_type {
            "*/*" | "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf" => true,
            "application/cbor" => formats.cbor,
            "application/cbor-seq" => {
                formats.cbor && matches!(endpoint, Endpoint::Collection | Endpoint::Watch)
            }
            _ => false,
        }
    }

    /// Returns the format of the clause, if the server supports it: CBOR only if it is enabled.
    pub fn format(&self, endpoint: Endpoint, cbor: bool) -> Option<Format> {
        match self.media_type {
            "*/*" | "application/*" | "application/json" => Some(Format::Json),
            "application/yaml" => Some(Format::Yaml),
            "application/vnd.kubernetes.protobuf" => Some(Format::Protobuf),
            "application/cbor" if cbor => Some(Format::Cbor),
            "application/cbor-seq" if cbor && endpoint == Endpoint::Watch => Some(Format::Cbor),
            _ => None,
        }
    }
}
