//! A request's query parameters, read in place.

use std::borrow::Cow;

use registry_core::api::{ErrorList, FieldError, FieldPath, StatusError};

use crate::request_info::query_pairs;

/// The query string of a request. Look-ups decode as they go: a request without options costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Query<'a>(&'a str);

// === impl Query ===

impl<'a> Query<'a> {
    /// The query of this URI.
    pub(crate) fn of(uri: &'a http::Uri) -> Self {
        Self(uri.query().unwrap_or_default())
    }

    /// Whether there are no parameters at all.
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The first value of a parameter.
    pub(crate) fn first(self, name: &str) -> Option<Cow<'a, str>> {
        self.all(name).next()
    }

    /// All values of a parameter.
    pub(crate) fn all(self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        query_pairs(self.0).filter_map(move |(key, value)| (key == name).then_some(value))
    }

    /// The first value of a parameter, empty when it is absent.
    pub(crate) fn text(self, name: &str) -> Cow<'a, str> {
        self.first(name).unwrap_or_default()
    }

    /// A switch, as Kubernetes reads it: given and neither `0` nor `false`.
    pub(crate) fn switch(self, name: &str) -> Option<bool> {
        let value = self.first(name)?;
        Some(!(value == "0" || value.eq_ignore_ascii_case("false")))
    }

    /// A whole number, with Go's words when it is none.
    pub(crate) fn integer(self, name: &str) -> Result<Option<i64>, StatusError> {
        self.first(name).map(|value| parse_integer(&value)).transpose()
    }

    /// A resource version: absent or empty says nothing. A text that is no number comes back as the error list
    /// that callers word differently (`get` and `list` as 400, `watch` as 500).
    pub(crate) fn resource_version(self) -> Result<Option<u64>, ErrorList> {
        let value = self.text("resourceVersion");
        if value.is_empty() {
            return Ok(None);
        }
        value.parse().map(Some).map_err(|error| {
            let detail = format!("strconv.ParseUint: parsing {value:?}: {}", number_fault(&error));
            FieldError::invalid(FieldPath::new("resourceVersion"), value.as_ref(), detail).into()
        })
    }
}

fn parse_integer(value: &str) -> Result<i64, StatusError> {
    value.parse().map_err(|error| {
        StatusError::bad_request(format!("strconv.ParseInt: parsing {value:?}: {}", number_fault(&error)))
    })
}

/// What is wrong with a number, in Go's words.
fn number_fault(error: &std::num::ParseIntError) -> &'static str {
    use std::num::IntErrorKind;
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}
