//! The form of a page: text, or an object whose kind and version the client names.

use http::HeaderMap;
use http::header::ACCEPT;
use registry_core::api::{Reason, StatusError};
use request_info::Query;
use responses::negotiation::{Clause, Format, Output, ResponseShape, clauses, wants_pretty};

use super::{GROUP, Page};

/// The negotiated form.
#[derive(Debug, PartialEq)]
pub(super) enum Chosen {
    Text,
    Object(Output, Version),
}

/// A version of the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Deprecated.
    V1Alpha1,
    V1Beta1,
}

// === impl Version ===

impl Version {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::V1Alpha1, Self::V1Beta1].into_iter().find(|version| version.name() == name)
    }
}

/// Returns the accepted form that the client prefers. An object is returned only to clients that name its kind, group and
/// version; the text to those that name none.
///
/// # Errors
/// 406: no accepted form is available.
pub(super) fn choose(
    page: Page,
    headers: &HeaderMap,
    query: Query<'_>,
    cbor: bool,
) -> Result<Chosen, StatusError> {
    let is_blank = |value: &http::HeaderValue| value.as_bytes().trim_ascii().is_empty();
    if headers.get(ACCEPT).is_none_or(is_blank) {
        return Ok(Chosen::Text);
    }
    let pretty = wants_pretty(headers, query);
    for clause in clauses(headers) {
        let names_transformation = ["as", "g", "v"].iter().any(|name| clause.parameter(name).is_some());
        if names_transformation {
            let Some((format, version)) = object(&clause, page, cbor) else { continue };
            let pretty = pretty || clause.parameter("pretty") == Some("1");
            let output = Output { format, shape: ResponseShape::Whole, pretty, gzip: false };
            return Ok(Chosen::Object(output, version));
        }
        if matches!(clause.media_type(), "text/plain" | "text/*" | "*/*") {
            return Ok(Chosen::Text);
        }
    }
    Err(not_acceptable(cbor))
}

/// Returns the format and the version of the object that a clause names.
fn object(clause: &Clause<'_>, page: Page, cbor: bool) -> Option<(Format, Version)> {
    let format = match clause.media_type() {
        "application/json" | "application/*" | "*/*" => Format::Json,
        "application/yaml" => Format::Yaml,
        "application/cbor" if cbor => Format::Cbor,
        _ => return None,
    };
    let is_kind = clause.parameter("as") == Some(page.kind()) && clause.parameter("g") == Some(GROUP);
    let version = Version::parse(clause.parameter("v")?)?;
    is_kind.then_some((format, version))
}

fn not_acceptable(cbor: bool) -> StatusError {
    let cbor = if cbor { ", application/cbor" } else { "" };
    StatusError::new(
        Reason::NotAcceptable,
        format!(
            "only the following media types are accepted: application/json, application/yaml, text/plain{cbor}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(accept: &str) -> Result<Chosen, StatusError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        choose(Page::Flagz, &headers, Query::new(""), false)
    }

    #[test]
    fn objects_have_to_be_named_and_texts_must_not() {
        for accept in ["", " ", "*/*", "text/plain", "text/*", "application/xml, text/plain;q=0.1"] {
            assert_eq!(chosen(accept).unwrap(), Chosen::Text, "{accept}");
        }
        let named = "application/json;as=Flagz;g=config.k8s.io;v=v1beta1";
        let Chosen::Object(output, Version::V1Beta1) = chosen(named).unwrap() else { panic!("no object") };
        assert_eq!(output.format, Format::Json);
        let preferred = "text/plain;q=0.5, application/yaml;as=Flagz;v=v1alpha1;g=config.k8s.io";
        assert!(matches!(chosen(preferred).unwrap(), Chosen::Object(_, Version::V1Alpha1)));
        for refused in [
            "application/json",
            "application/*",
            "application/json;as=Flagz;g=config.k8s.io;v=v1",
            "application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
            "application/json;as=Flagz;g=k8s.io;v=v1beta1",
            "application/json;as=Flagz",
            "text/plain;as=Flagz;g=config.k8s.io;v=v1beta1",
            "application/cbor;as=Flagz;g=config.k8s.io;v=v1beta1",
            "application/vnd.kubernetes.protobuf",
        ] {
            let refusal = chosen(refused).expect_err(refused);
            assert_eq!(refusal.code, 406);
            let types =
                "only the following media types are accepted: application/json, application/yaml, text/plain";
            assert_eq!(refusal.message, types);
        }
    }
}
