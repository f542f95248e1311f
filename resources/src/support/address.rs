//! Addresses and networks in objects.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/util/validation/ip.go`. Fields from before strict parsing are checked by
//! [`check_address`] and [`check_network`], which accept forms that are not canonical; a warning names those. Newer
//! fields must have the canonical form.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use registry_core::api::validation::{ErrorList, FieldPath};
use resource_views::Text;

const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_NETWORK: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const NO_INTERFACE: &str = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";

/// A network: an address and the number of leading bits that identify the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl Network {
    /// Parses `10.0.0.0/8` and the like; `None` if the text is not a network.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let leads_with_zero = length.len() > 1 && length.starts_with('0');
        Self::from_parts(address.parse().ok()?, length).filter(|_| !leads_with_zero)
    }

    /// Parses a network whose numbers may have leading zeros.
    fn parse_loosely(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        Self::from_parts(parse_loosely(address)?, length)
    }

    fn from_parts(address: IpAddr, length: &str) -> Option<Self> {
        let is_digits = length.bytes().all(|byte| byte.is_ascii_digit());
        let prefix_bits = length.parse().ok().filter(|bits| is_digits && *bits <= address_bits(address))?;
        Some(Self { address, prefix_bits })
    }

    /// Whether the addresses are IPv6.
    pub(crate) fn is_ipv6(self) -> bool {
        self.address.is_ipv6()
    }

    /// Whether the host bits of the address are zero.
    pub(crate) fn is_masked(self) -> bool {
        self.masked() == bits(self.address)
    }

    /// Whether another network is a proper subset of this one.
    pub(crate) fn strictly_contains(self, other: Self) -> bool {
        let one_family = self.address.is_ipv4() == other.address.is_ipv4();
        let inside = Self { prefix_bits: self.prefix_bits, ..other };
        one_family && self.prefix_bits < other.prefix_bits && inside.masked() == self.masked()
    }

    fn masked(self) -> u128 {
        let free_bits = u32::from(address_bits(self.address) - self.prefix_bits);
        u128::MAX.checked_shl(free_bits).unwrap_or_default() & bits(self.address)
    }

    /// Returns the canonical form of the network, without host bits.
    fn canonical(self) -> String {
        match self.address {
            IpAddr::V4(_) => {
                let address = Ipv4Addr::from(u32::try_from(self.masked()).unwrap_or_default());
                format!("{address}/{}", self.prefix_bits)
            }
            IpAddr::V6(_) => self.with_address(Ipv6Addr::from(self.masked())),
        }
    }

    /// Returns an IPv6 address with the length of the prefix, both as IPv4 if the address stands for one.
    fn with_address(self, address: Ipv6Addr) -> String {
        match address.to_ipv4_mapped() {
            Some(four) => format!("{four}/{}", self.prefix_bits.saturating_sub(96)),
            None => format!("{address}/{}", self.prefix_bits),
        }
    }
}

fn address_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(four.to_bits()),
        IpAddr::V6(six) => six.to_bits(),
    }
}

/// Parses an address whose IPv4 numbers may have leading zeros.
pub(crate) fn parse_loosely(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (head, tail) = text.rsplit_once(':').map_or(("", text), |(head, _)| text.split_at(head.len() + 1));
    let shortened: Vec<&str> = tail
        .split('.')
        .map(|part| match part.trim_start_matches('0') {
            "" if !part.is_empty() => "0",
            rest => rest,
        })
        .collect();
    if shortened.len() == 1 {
        return None;
    }
    format!("{head}{}", shortened.join(".")).parse().ok()
}

/// Whether the address in a text is IPv6; one that stands for an IPv4 address is not. `None` if it is not an address.
pub(crate) fn is_ipv6(text: &str) -> Option<bool> {
    parse_loosely(text).map(|address| address.to_canonical().is_ipv6())
}

/// Returns the canonical form of an address; one that stands for an IPv4 address is written as that.
fn canonical(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some())
}

// === addresses ===

/// Returns why a text is not an address. Leading zeros are refused, because some parsers read them as octal.
pub(crate) fn complaint(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(address) if is_mapped(address) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => None,
        Err(_) if parse_loosely(text).is_some() => Some("must not have leading 0s"),
        Err(_) => Some(NO_ADDRESS),
    }
}

/// Adds an error if the text is not an address.
pub(crate) fn check_address(field: &Text<'_, '_>, errors: &mut ErrorList) {
    if let Some(complaint) = complaint(field.text()) {
        errors.push(field.invalid_text(complaint));
    }
}

/// Adds an error if the text is not an address in canonical form.
pub(crate) fn check_canonical_address(field: &Text<'_, '_>, errors: &mut ErrorList) {
    check_address(field, errors);
    if let Ok(address) = field.text().parse::<IpAddr>()
        && !is_mapped(address)
    {
        check_form(field, &canonical(address), errors);
    }
}

/// Adds an error if the text is not an address and was not accepted before.
pub(crate) fn check_new_address(field: &Text<'_, '_>, accepted: &HashSet<&str>, errors: &mut ErrorList) {
    if !accepted.contains(field.text()) {
        check_address(field, errors);
    }
}

fn check_form(field: &Text<'_, '_>, form: &str, errors: &mut ErrorList) {
    if field.text() != form {
        errors.push(field.invalid_text(format!("must be in canonical form ({form:?})")));
    }
}

/// Returns a warning about an address that is not in canonical form.
pub(crate) fn warning(path: &FieldPath, text: &str) -> Option<String> {
    let address = parse_loosely(text)?;
    if text.parse::<IpAddr>().is_err() || is_mapped(address) {
        let form = canonical(address);
        return Some(format!("{path}: non-standard IP address {text:?} is invalid: use {form:?}"));
    }
    let form = address.is_ipv6().then(|| address.to_string()).filter(|form| form != text)?;
    Some(format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({form:?})"))
}

/// Adds an error if the text is not an address of an endpoint: one that another machine can reach.
pub(crate) fn check_endpoint(field: &Text<'_, '_>, errors: &mut ErrorList) {
    if parse_loosely(field.text()).is_none() {
        errors.push(field.invalid_text("must be a valid IP address"));
    } else {
        check_reachable(field, errors);
    }
}

/// Adds an error if the text is not an address that another machine can reach.
pub(crate) fn check_reachable(field: &Text<'_, '_>, errors: &mut ErrorList) {
    let Some(address) = parse_loosely(field.text()) else {
        errors.push(field.invalid_text(NO_ADDRESS));
        return;
    };
    let address = address.to_canonical();
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(four) => (four.is_link_local(), four.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(six) => (
            six.is_unicast_link_local(),
            six.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        ),
    };
    if address.is_unspecified() {
        errors.push(field.invalid_text(format!("may not be unspecified ({})", field.text())));
    }
    if address.is_loopback() {
        errors.push(field.invalid_text("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    if link_local {
        errors.push(field.invalid_text("may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
    if link_local_multicast {
        errors.push(
            field.invalid_text("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        );
    }
}

// === networks ===

/// Returns why a text is not a network.
pub(crate) fn network_complaint(text: &str) -> Option<&'static str> {
    if Network::parse_loosely(text).is_none() {
        return Some(NO_NETWORK);
    }
    match Network::parse(text) {
        None => Some("must not have leading 0s in IP or prefix length"),
        Some(network) if is_mapped(network.address) => Some("must not have an IPv4-mapped IPv6 address"),
        Some(network) if !network.is_masked() => Some("must not have bits set beyond the prefix length"),
        Some(_) => None,
    }
}

/// Adds an error if the text is not a network: an address without host bits, and the length of its prefix.
pub(crate) fn check_network(field: &Text<'_, '_>, errors: &mut ErrorList) {
    if let Some(complaint) = network_complaint(field.text()) {
        errors.push(field.invalid_text(complaint));
    }
}

/// Adds an error if the text is not a network in canonical form.
pub(crate) fn check_canonical_network(field: &Text<'_, '_>, errors: &mut ErrorList) {
    if let Some(complaint) = network_complaint(field.text()) {
        errors.push(field.invalid_text(complaint));
        return;
    }
    let form = Network::parse(field.text()).map(Network::canonical).unwrap_or_default();
    check_form(field, &form, errors);
}

/// Adds an error if the text is not an address of an interface, with the length of its network's prefix, in canonical form.
pub(crate) fn check_interface_address(field: &Text<'_, '_>, errors: &mut ErrorList) {
    let Some(network) = Network::parse_loosely(field.text()) else {
        errors.push(field.invalid_text(NO_INTERFACE));
        return;
    };
    let form = match network.address {
        IpAddr::V4(four) => format!("{four}/{}", network.prefix_bits),
        IpAddr::V6(six) => network.with_address(six),
    };
    check_form(field, &form, errors);
}

/// Warns of a network that is not in canonical form.
pub(crate) fn warn_of_network(path: &FieldPath, text: &str, warnings: &mut Vec<String>) {
    let Some(network) = Network::parse_loosely(text) else { return };
    let before = warnings.len();
    let form = network.canonical();
    if !network.is_masked() {
        let single = format!("{}/{}", canonical(network.address), address_bits(network.address));
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be {form:?} or {single:?}?)"
        ));
    }
    if Network::parse(text).is_none() || is_mapped(network.address) {
        warnings.push(format!("{path}: non-standard CIDR value {text:?} is invalid: use {form:?}"));
    }
    if warnings.len() == before && network.is_ipv6() && form != text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({form:?})"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_plainly() {
        assert_eq!((complaint("10.0.0.1"), complaint("fe80::1")), (None, None));
        for text in ["10.00.0.01", "::ffff:010.0.0.1"] {
            assert_eq!(complaint(text), Some("must not have leading 0s"));
        }
        assert_eq!(complaint("::ffff:1.2.3.4"), Some("must not be an IPv4-mapped IPv6 address"));
        for text in ["10.0.0", "10.0.0.", "", "a.b.c.d", "fe80::1%eth0"] {
            assert_eq!(complaint(text), Some(NO_ADDRESS), "{text}");
        }
    }

    #[test]
    fn other_forms_are_warned_of() {
        let warnings = |text: &str| {
            let mut warnings = Vec::new();
            warnings.extend(warning(&FieldPath::new("a"), text));
            warn_of_network(&FieldPath::new("a"), text, &mut warnings);
            warnings
        };
        assert_eq!(
            warnings("010.0.0.1"),
            ["a: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""]
        );
        assert_eq!(
            warnings("::ffff:1.2.3.4"),
            ["a: non-standard IP address \"::ffff:1.2.3.4\" is invalid: use \"1.2.3.4\""]
        );
        assert_eq!(
            warnings("2001:DB8:0::1"),
            ["a: IPv6 address \"2001:DB8:0::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")"]
        );
        assert_eq!(
            warnings("10.0.0.1/8"),
            [
                "a: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
            ]
        );
        assert_eq!(
            warnings("::ffff:10.0.0.0/104"),
            ["a: non-standard CIDR value \"::ffff:10.0.0.0/104\" is invalid: use \"10.0.0.0/8\""]
        );
        assert_eq!(warnings("10.0.0.0/8").len() + warnings("::1").len(), 0);
    }

    #[test]
    fn networks_are_read_and_compared() {
        let network = |text| Network::parse(text).unwrap();
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "x/8", "::/129", "10.0.0.0/08"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
        assert!(network("10.0.0.0/8").is_masked() && network("0.0.0.0/0").is_masked());
        assert!(!network("10.1.0.0/8").is_masked() && !network("::1/0").is_masked());
        assert!(network("10.1.0.0/16").strictly_contains(network("10.1.2.0/24")));
        assert!(network("::/0").strictly_contains(network("fe80::/10")));
        for (outer, inner) in
            [("10.1.0.0/16", "10.2.0.0/24"), ("10.1.0.0/16", "10.1.0.0/16"), ("0.0.0.0/0", "::/64")]
        {
            assert!(!network(outer).strictly_contains(network(inner)), "{outer} {inner}");
        }
    }
}
