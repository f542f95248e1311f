//! Named formats that texts are validated against.

use base64::Engine;

use super::url::Url;
use crate::value::Timestamp;
use registry_meta::validation::names::{self, NameRule};

/// A named format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFormat {
    /// The name without `format.`.
    id: &'static str,
}

const FORMATS: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

// === impl NamedFormat ===

impl NamedFormat {
    pub(crate) fn find(id: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| *format == id).map(|id| Self { id })
    }

    pub(crate) fn name(self) -> &'static str {
        match self.id {
            "dns1123Label" => "DNS1123Label",
            "dns1123Subdomain" => "DNS1123Subdomain",
            "dns1035Label" => "DNS1035Label",
            "qualifiedName" => "QualifiedName",
            "dns1123LabelPrefix" => "DNS1123LabelPrefix",
            "dns1123SubdomainPrefix" => "DNS1123SubdomainPrefix",
            "dns1035LabelPrefix" => "DNS1035LabelPrefix",
            "labelValue" => "LabelValue",
            "uri" => "URI",
            other => other,
        }
    }

    /// The length of the regular expression that validation is charged for.
    pub(crate) fn regex_size(self) -> u64 {
        match self.id {
            "dns1123Label" | "dns1035Label" | "dns1123LabelPrefix" | "dns1035LabelPrefix" => 30,
            "dns1123Subdomain" | "qualifiedName" | "dns1123SubdomainPrefix" => 60,
            "labelValue" => 40,
            "uri" => 1014,
            "uuid" => 77,
            "byte" => 84,
            _ => 171,
        }
    }

    pub(crate) fn complaints(self, text: &str) -> Vec<String> {
        let check =
            |holds: bool, complaint: &str| if holds { Vec::new() } else { vec![complaint.to_owned()] };
        match self.id {
            "dns1123Label" => names::dns_label(text),
            "dns1123Subdomain" => names::dns_subdomain(text),
            "dns1035Label" => names::dns_1035_label(text),
            "qualifiedName" => names::qualified_name(text),
            "dns1123LabelPrefix" => NameRule::DnsLabel.check_prefix(text),
            "dns1123SubdomainPrefix" => NameRule::DnsSubdomain.check_prefix(text),
            "dns1035LabelPrefix" => NameRule::Dns1035Label.check_prefix(text),
            "labelValue" => names::label_value(text),
            "uri" => Url::parse_request(text).err().map(|error| error.to_string()).into_iter().collect(),
            "uuid" => check(is_uuid(text), "does not match the UUID format"),
            "byte" => check(is_base64(text), "invalid base64"),
            "date" => check(is_date(text), "invalid date"),
            _ => check(is_date_time(text), "invalid datetime"),
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    let dashes: Vec<_> = text.match_indices('-').map(|(at, _)| at).collect();
    digits.len() == 32
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (dashes.is_empty() || dashes == [8, 13, 18, 23])
}

fn is_base64(text: &str) -> bool {
    !text.is_empty() && base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

fn is_date(text: &str) -> bool {
    Timestamp::parse(&format!("{text}T00:00:00Z")).is_some()
}

fn is_date_time(text: &str) -> bool {
    Timestamp::parse(&text.to_uppercase()).is_some()
}
