//! Formats of strings and numbers.
//!
//! Kubernetes concept: `k8s.io/kube-openapi/pkg/validation/strfmt`.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

use super::kind::Kind;
use crate::go_regexp;

mod mail;
mod times;
mod uri;

/// A format that schemas can demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    K8sShortName,
    K8sLongName,
}

/// Maximum length of a host name, in bytes.
const MAX_HOSTNAME_BYTES: usize = 255;
/// Maximum length of a part of a host name, and of a short name, in bytes.
const MAX_LABEL_BYTES: usize = 63;
/// Maximum length of a long name, in bytes.
const MAX_LONG_NAME_BYTES: usize = 253;

/// Maximum number of characters after the first part of a host name without dots.
const MAX_PLAIN_LETTERS: usize = 62;

/// The characters of host names except for dashes, and the characters of top-level domains.
const HOSTNAME_LETTERS: &str = r"^[a-zA-Z0-9\p{S}\p{L}]+$";
const DOMAIN_LETTERS: &str = r"^[a-zA-Z\p{L}]+$";

const CREDIT_CARD: &str = concat!(
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|",
    r"3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
);
const RGB_COLOR: &str = concat!(
    r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,",
    r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$"
);
const BASE64: &str = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
const SSN: &str = r"^\d{3}[- ]?\d{2}[- ]?\d{4}$";

// === impl Format ===

impl Format {
    /// Returns the format of this name if it is supported for values of a type.
    pub(super) fn for_kind(kind: Kind, name: &str) -> Option<Self> {
        match kind {
            Kind::Any | Kind::String | Kind::IntOrString => Self::for_text(&name.replace('-', "")),
            Kind::Integer => match name {
                "int32" => Some(Self::Int32),
                "int64" => Some(Self::Int64),
                _ => None,
            },
            Kind::Number => match name {
                "float" => Some(Self::Float),
                "double" => Some(Self::Double),
                _ => None,
            },
            Kind::Object | Kind::Array | Kind::Boolean => None,
        }
    }

    fn for_text(name: &str) -> Option<Self> {
        Some(match name {
            "bsonobjectid" => Self::BsonObjectId,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "creditcard" => Self::CreditCard,
            "ssn" => Self::Ssn,
            "hexcolor" => Self::HexColor,
            "rgbcolor" => Self::RgbColor,
            "byte" => Self::Byte,
            "password" => Self::Password,
            "date" => Self::Date,
            "duration" => Self::Duration,
            "datetime" => Self::DateTime,
            "k8sshortname" => Self::K8sShortName,
            "k8slongname" => Self::K8sLongName,
            _ => return None,
        })
    }

    /// Whether it is a format of strings.
    pub(super) const fn is_text(self) -> bool {
        !matches!(self, Self::Int32 | Self::Int64 | Self::Float | Self::Double)
    }

    /// Whether a string has this format.
    pub(super) fn accepts(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password => true,
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            Self::Uri => uri::is_request_uri(text),
            Self::Email => mail::is_address(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.contains('.') && is_ip(text),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Uuid => is_uuid(text, None, false),
            Self::Uuid3 => is_uuid(text, Some(b'3'), false),
            Self::Uuid4 => is_uuid(text, Some(b'4'), true),
            Self::Uuid5 => is_uuid(text, Some(b'5'), true),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::CreditCard => is_credit_card(text),
            Self::Ssn => text.len() == 11 && matches(&SSN_REGEX, text),
            Self::HexColor => is_hex_color(text),
            Self::RgbColor => matches(&RGB_COLOR_REGEX, text),
            Self::Byte => matches(&BASE64_REGEX, text),
            Self::Date => times::is_date(text),
            Self::Duration => times::is_duration(text),
            Self::DateTime => times::is_date_time(text),
            Self::K8sShortName => text.len() <= MAX_LABEL_BYTES && is_name_part(text),
            Self::K8sLongName => text.len() <= MAX_LONG_NAME_BYTES && text.split('.').all(is_name_part),
        }
    }
}

/// A compiled expression of this module. They are covered by tests, so they are valid.
type Lazy = LazyLock<Option<Regex>>;

static HOSTNAME_REGEX: Lazy = LazyLock::new(|| go_regexp::compile(HOSTNAME_LETTERS));
static DOMAIN_REGEX: Lazy = LazyLock::new(|| go_regexp::compile(DOMAIN_LETTERS));
static CREDIT_CARD_REGEX: Lazy = LazyLock::new(|| go_regexp::compile(CREDIT_CARD));
static RGB_COLOR_REGEX: Lazy = LazyLock::new(|| go_regexp::compile(RGB_COLOR));
static BASE64_REGEX: Lazy = LazyLock::new(|| go_regexp::compile(BASE64));
static SSN_REGEX: Lazy = LazyLock::new(|| go_regexp::compile(SSN));

fn matches(regex: &Lazy, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

// === names and addresses ===

fn is_hostname(text: &str) -> bool {
    text.len() <= MAX_HOSTNAME_BYTES
        && text.split('.').all(|part| part.len() <= MAX_LABEL_BYTES)
        && (is_plain_hostname(text) || is_domain(text))
}

/// Whether the text is a host name without dots, in which only the second character can be a dash.
fn is_plain_hostname(text: &str) -> bool {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return false };
    let rest = letters.as_str();
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let is_sound = |text: &str| matches(&HOSTNAME_REGEX, text);
    is_sound(first.encode_utf8(&mut [0; 4]))
        && (rest.is_empty() || (rest.chars().count() <= MAX_PLAIN_LETTERS && is_sound(rest)))
}

/// Whether the text consists of labels and a top-level domain.
fn is_domain(text: &str) -> bool {
    let Some((labels, top)) = text.rsplit_once('.') else { return false };
    let is_label = |label: &str| {
        let without_dashes = label.replace('-', "");
        !label.starts_with('-') && !label.ends_with('-') && matches(&HOSTNAME_REGEX, &without_dashes)
    };
    top.chars().count() >= 2 && matches(&DOMAIN_REGEX, top) && labels.split('.').all(is_label)
}

fn is_name_part(text: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().all(|byte| is_end(byte) || byte == b'-')
        && text.bytes().next().is_some_and(is_end)
        && text.bytes().last().is_some_and(is_end)
}

/// Whether the text is an IP address. The parts of IPv4 addresses can start with zeros, as in old versions of Go.
fn is_ip(text: &str) -> bool {
    if !text.contains(':') {
        return is_loose_ipv4(text);
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return true;
    }
    // The last part can be an IPv4 address.
    let Some((before, last)) = text.rsplit_once(':') else { return false };
    is_loose_ipv4(last) && format!("{before}:0.0.0.0").parse::<Ipv6Addr>().is_ok()
}

fn is_loose_ipv4(text: &str) -> bool {
    let part = |part: &str| {
        let digits = part.trim_start_matches('0');
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number && (digits.is_empty() || digits.parse::<u8>().is_ok())
    };
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = if address.contains(':') { 128 } else { 32 };
    let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_ip(address) && is_number && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// Whether the text is a MAC address of 6, 8 or 20 bytes: `01:23:45:67:89:ab`, `01-23-…`, or `0123.4567.89ab`.
fn is_mac(text: &str) -> bool {
    let all = |separator: char, digits: usize, counts: [usize; 3]| {
        let mut count = 0;
        let is_sound = text.split(separator).all(|part| {
            count += 1;
            part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        is_sound && counts.contains(&count)
    };
    all(':', 2, [6, 8, 20]) || all('-', 2, [6, 8, 20]) || all('.', 4, [3, 4, 10])
}

// === identifiers ===

/// Whether the text is a UUID, in which the dashes can be left off.
fn is_uuid(text: &str, version: Option<u8>, of_variant: bool) -> bool {
    let mut digits = Vec::with_capacity(32);
    let mut bytes = text.bytes().peekable();
    for group in [8, 4, 4, 4, 12] {
        if group != 8 {
            bytes.next_if_eq(&b'-');
        }
        for _ in 0..group {
            match bytes.next() {
                Some(byte) if byte.is_ascii_hexdigit() => digits.push(byte),
                _ => return false,
            }
        }
    }
    let digit = |place: usize| digits.get(place).map(u8::to_ascii_lowercase);
    bytes.next().is_none()
        && version.is_none_or(|version| digit(12) == Some(version))
        && (!of_variant || matches!(digit(16), Some(b'8' | b'9' | b'a' | b'b')))
}

fn without_spaces_and_dashes(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'-')).collect()
}

fn digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(10)
}

fn is_isbn10(text: &str) -> bool {
    let letters = without_spaces_and_dashes(text);
    let value = |(place, byte): (usize, &u8)| match byte {
        b'X' if place == 9 => Some(10),
        byte => digit(*byte),
    };
    let digits: Option<Vec<u32>> = letters.iter().enumerate().map(value).collect();
    let Some(digits) = digits.filter(|digits| digits.len() == 10) else { return false };
    (1..).zip(digits).map(|(weight, digit): (u32, u32)| weight * digit).sum::<u32>() % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits: Option<Vec<u32>> = without_spaces_and_dashes(text).into_iter().map(digit).collect();
    let Some(digits) = digits.filter(|digits| digits.len() == 13) else { return false };
    [1, 3].iter().cycle().zip(digits).map(|(weight, digit)| weight * digit).sum::<u32>() % 10 == 0
}

/// Whether the digits of the text are the number of a credit card, with its check digit.
fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let weigh = |(place, digit): (usize, u32)| match digit * 2 {
        _ if place % 2 == 0 => digit,
        twice if twice >= 10 => twice % 10 + 1,
        twice => twice,
    };
    matches(&CREDIT_CARD_REGEX, &digits)
        && digits.bytes().rev().filter_map(digit).enumerate().map(weigh).sum::<u32>() % 10 == 0
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
