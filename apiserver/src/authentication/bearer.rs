//! Tokens of `Authorization: Bearer …` headers.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication/request/bearertoken`.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use registry_core::api::StatusError;

use super::unauthorized;

/// The warning about a token that is not looked at because there is more than one space before it.
pub(super) const IGNORED_TOKEN: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// The content of an `Authorization` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearer<'h> {
    /// A token.
    Token(&'h str),
    /// A token that is not looked at, of which the client is warned.
    Ignored,
    /// No token: there is no header, or it has another scheme.
    Nothing,
}

// === impl Bearer ===

impl<'h> Bearer<'h> {
    /// Returns what the headers show.
    ///
    /// # Errors
    /// 400 if the header is repeated. 401 if the token is not UTF-8: no valid one is.
    pub(super) fn shown(headers: &'h HeaderMap) -> Result<Self, StatusError> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Ok(Self::Nothing) };
        if values.next().is_some() {
            return Err(StatusError::bad_request("the header \"authorization\" must not be repeated"));
        }
        match std::str::from_utf8(value.as_bytes()) {
            Ok(value) => Ok(Self::parse(value)),
            Err(_) => match Bearer::parse(&String::from_utf8_lossy(value.as_bytes())) {
                Bearer::Token(_) => Err(unauthorized()),
                Bearer::Ignored => Ok(Self::Ignored),
                Bearer::Nothing => Ok(Self::Nothing),
            },
        }
    }

    /// Returns what the value of a header shows. What follows the token after a space is not looked at.
    fn parse(value: &'h str) -> Self {
        let mut parts = value.trim().splitn(3, ' ');
        let (scheme, token, has_more) = (parts.next(), parts.next(), parts.next().is_some());
        if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer")) {
            return Self::Nothing;
        }
        match token {
            Some("") if has_more => Self::Ignored,
            None | Some("") => Self::Nothing,
            Some(token) => Self::Token(token),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_word_after_the_scheme_and_one_space() {
        for (value, shown) in [
            ("Bearer a", Bearer::Token("a")),
            ("bEARER a", Bearer::Token("a")),
            (" \tBearer a\t ", Bearer::Token("a")),
            ("Bearer a b c", Bearer::Token("a")),
            ("Bearer a  ", Bearer::Token("a")),
            ("Bearer a,b=c", Bearer::Token("a,b=c")),
            ("Bearer \ta", Bearer::Token("\ta")),
            ("Bearer  a", Bearer::Ignored),
            ("Bearer   a", Bearer::Ignored),
            ("Bearer", Bearer::Nothing),
            ("Bearer ", Bearer::Nothing),
            ("Bearer  ", Bearer::Nothing),
            ("", Bearer::Nothing),
            ("a", Bearer::Nothing),
            ("Bearer\ta", Bearer::Nothing),
            ("Bearers a", Bearer::Nothing),
            ("Basic YTpi", Bearer::Nothing),
            ("Digest username=\"a\", realm=\"b\"", Bearer::Nothing),
        ] {
            assert_eq!(Bearer::parse(value), shown, "{value:?}");
        }
    }
}
