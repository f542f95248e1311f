//! The trace that a request belongs to.
//!
//! [W3C trace context](https://www.w3.org/TR/trace-context/).

use std::fmt;

use http::HeaderMap;

/// The header of the context.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// Length of the header in version 00.
const LENGTH: usize = 55;
const SAMPLED: u8 = 1;

/// A trace, and the span in it that a request was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    pub(crate) is_sampled: bool,
}

// === impl TraceContext ===

impl TraceContext {
    /// Returns the context in the headers of a request, if there is exactly one that is valid.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (only, None) = (values.next()?, values.next()) else { return None };
        Self::parse(only.to_str().ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = hexadecimal(parts.next()?, 2)?;
        let trace_id = hexadecimal(parts.next()?, 32)?;
        let span_id = u64::try_from(hexadecimal(parts.next()?, 16)?).ok()?;
        let flags = u8::try_from(hexadecimal(parts.next()?, 2)?).ok()?;
        // A later version may have further parts.
        let is_known = version == 0 && text.len() == LENGTH || (1..255).contains(&version);
        let is_valid = is_known && trace_id != 0 && span_id != 0;
        is_valid.then_some(Self { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
    }
}

impl fmt::Display for TraceContext {
    /// Writes the header.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace_id, span_id, is_sampled } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", u8::from(*is_sampled))
    }
}

/// Returns the value of lowercase hexadecimal digits, if there are this many.
fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != digits || !text.bytes().all(is_digit) {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_headers_are_contexts() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = TraceContext::parse(header).unwrap();
        assert!(context.is_sampled);
        assert_eq!(context.to_string(), header);
        let unsampled = TraceContext::parse(&header.replace("-01", "-02")).unwrap();
        assert!(!unsampled.is_sampled, "another flag");
        assert!(TraceContext::parse(&format!("cc{}-what", &header[2..])).is_some(), "a later version");
        for invalid in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(invalid), None, "{invalid}");
        }
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, header.parse().unwrap());
        assert_eq!(TraceContext::from_headers(&headers), Some(context));
        headers.append(TRACEPARENT, header.parse().unwrap());
        assert_eq!(TraceContext::from_headers(&headers), None, "two of them");
    }
}
