//! URLs, as Go reads them.

use std::collections::BTreeMap;
use std::fmt;

use crate::value::{EvaluationError, fail};

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) path: String,
    query: String,
}

// === impl Url ===

impl Url {
    /// Reads an absolute URL or an absolute path. The message of an error is Go's.
    pub(crate) fn parse_request(text: &str) -> Result<Self, Box<EvaluationError>> {
        Self::parse(text).or_else(|reason| fail(format!("parse {text:?}: {reason}")))
    }

    fn parse(text: &str) -> Result<Self, Box<EvaluationError>> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return fail("net/url: invalid control character in URL");
        }
        if text.is_empty() {
            return fail("empty url");
        }
        let (scheme, rest) = split_scheme(text)?;
        if scheme.is_empty() && !rest.starts_with('/') {
            return fail("invalid URI for request");
        }
        if !rest.starts_with('/') {
            // The rest after the scheme is opaque.
            let scheme = scheme.to_lowercase();
            let empty = String::new;
            return Ok(Self { text: text.to_owned(), scheme, host: empty(), path: empty(), query: empty() });
        }
        let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) if !scheme.is_empty() => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            _ => ("", rest),
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        check_host(host)?;
        check_escapes(path)?;
        Ok(Self {
            text: text.to_owned(),
            scheme: scheme.to_lowercase(),
            host: unescape(host),
            path: escape_path(path),
            query: query.to_owned(),
        })
    }

    pub(crate) fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => self.host.rsplit_once(':').map_or(self.host.as_str(), |(name, _)| name),
        }
    }

    pub(crate) fn port(&self) -> &str {
        let after = self.host.rsplit_once(']').map_or(self.host.as_str(), |(_, after)| after);
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }

    pub(crate) fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut parsed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if check_escapes(key).is_ok() && check_escapes(value).is_ok() {
                let key = unescape(&key.replace('+', " "));
                let value = unescape(&value.replace('+', " "));
                parsed.entry(key).or_default().push(value);
            }
        }
        parsed
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), Box<EvaluationError>> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return fail("missing protocol scheme"),
            b':' => return Ok((text.get(..at).unwrap_or(""), text.get(at + 1..).unwrap_or(""))),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn check_host(host: &str) -> Result<(), Box<EvaluationError>> {
    let after = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((_, after)) => after,
            None => return fail("missing ']' in host"),
        },
        None => host.find(':').and_then(|at| host.get(at..)).unwrap_or(""),
    };
    if let Some(port) = after.strip_prefix(':')
        && !port.bytes().all(|byte| byte.is_ascii_digit())
    {
        return fail(format!("invalid port {after:?} after host"));
    }
    if let Some(bad) = host.chars().find(|character| " \"<>\\^`{|}".contains(*character)) {
        return fail(format!("invalid character {:?} in host name", bad.to_string()));
    }
    check_escapes(host)
}

fn check_escapes(text: &str) -> Result<(), Box<EvaluationError>> {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('%') {
        let digits = bytes.get(at + 1..at + 3).unwrap_or_default();
        if digits.len() < 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            let end = (at + 3).min(text.len());
            return fail(format!("invalid URL escape {:?}", text.get(at..end).unwrap_or("%")));
        }
    }
    Ok(())
}

fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A path with everything escaped that has to be.
fn escape_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]%".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(|digit| {
                char::from(b"0123456789ABCDEF".get(usize::from(digit)).copied().unwrap_or(b'0'))
            }));
        }
    }
    out
}
