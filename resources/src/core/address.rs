//! Addresses and networks in objects.

use std::net::IpAddr;

use registry_core::api::FieldPath;
use registry_core::api::validation::ErrorList;

use crate::support::field::Field;

/// A network: an address and the number of leading bits that identify the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl Network {
    /// Parses `10.0.0.0/8` and the like; `None` if the text is no network.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let is_digits = length.bytes().all(|byte| byte.is_ascii_digit());
        let prefix_bits = length.parse().ok().filter(|bits| is_digits && *bits <= address_bits(address))?;
        Some(Self { address, prefix_bits })
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

/// Returns a text without zeros at the beginning of its decimal numbers.
fn without_leading_zeros(text: &str) -> String {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty();
    let shorten = |part| {
        if is_number(part) {
            Some(part.trim_start_matches('0')).filter(|rest| !rest.is_empty()).unwrap_or("0")
        } else {
            part
        }
    };
    text.split('.').map(shorten).collect::<Vec<_>>().join(".")
}

/// Whether a text is an address of the sixth version; `None` if it is no address. Leading zeros are ignored.
pub(crate) fn is_ipv6(text: &str) -> Option<bool> {
    match without_leading_zeros(text).parse().ok()? {
        IpAddr::V4(_) => Some(false),
        IpAddr::V6(six) => Some(six.to_ipv4_mapped().is_none()),
    }
}

/// Returns why a text is no address. Leading zeros are refused, because some parsers read them as octal.
pub(crate) fn complaint(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            return Some("must not be an IPv4-mapped IPv6 address");
        }
        Ok(_) => return None,
        Err(_) => {}
    }
    Some(if without_leading_zeros(text).parse::<IpAddr>().is_ok() {
        "must not have leading 0s"
    } else {
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    })
}

/// Returns a warning about an address that is not in canonical form.
pub(crate) fn warning(path: &FieldPath, text: &str) -> Option<String> {
    let address: IpAddr = without_leading_zeros(text).parse().ok()?;
    let canonical = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    if text.parse::<IpAddr>().is_err() || canonical != address {
        return Some(format!("{path}: non-standard IP address {text:?} is invalid: use \"{canonical}\""));
    }
    let is_canonical = address.is_ipv4() || address.to_string() == text;
    (!is_canonical).then(|| {
        format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format (\"{address}\")")
    })
}

/// Adds an error if the text is no address.
pub(crate) fn check_address(field: &Field<'_, '_>, errors: &mut ErrorList) {
    if let Some(complaint) = complaint(field.text()) {
        errors.push(field.invalid_text(complaint));
    }
}

/// Adds an error if the text is no address that another machine can reach.
pub(crate) fn check_reachable(field: &Field<'_, '_>, errors: &mut ErrorList) {
    let Ok(address) = field.text().parse::<IpAddr>() else {
        errors.push(field.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
        return;
    };
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(four) => (four.is_link_local(), four.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(six) => (six.is_unicast_link_local(), six.segments().first() == Some(&0xff02)),
    };
    if address.is_unspecified() {
        errors.push(field.invalid(format!("may not be unspecified ({address})")));
    }
    if address.is_loopback() {
        errors.push(field.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    if link_local {
        errors.push(field.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
    if link_local_multicast {
        errors.push(field.invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
    }
}

/// Adds an error if the text is no network: an address and the length of its prefix.
pub(crate) fn check_network(field: &Field<'_, '_>, errors: &mut ErrorList) {
    check_parsed(field, Network::parse(field.text()), errors);
}

/// Adds an error if the text is no network in canonical form.
pub(crate) fn check_strict_network(field: &Field<'_, '_>, errors: &mut ErrorList) {
    let network = Network::parse(field.text());
    check_parsed(field, network, errors);
    if network.is_some_and(|network| !network.is_masked()) {
        errors.push(field.invalid("must not have bits set beyond the prefix length"));
    }
}

fn check_parsed(field: &Field<'_, '_>, network: Option<Network>, errors: &mut ErrorList) {
    if network.is_none() {
        errors.push(field.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_plainly() {
        assert_eq!((complaint("10.0.0.1"), complaint("fe80::1")), (None, None));
        assert_eq!(complaint("10.00.0.01"), Some("must not have leading 0s"));
        assert_eq!(complaint("::ffff:10.0.0.1"), Some("must not be an IPv4-mapped IPv6 address"));
        assert!(complaint("10.0.0").is_some_and(|text| text.starts_with("must be a valid IP address")));
    }

    #[test]
    fn networks_are_read_and_compared() {
        let network = |text| Network::parse(text).unwrap();
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "x/8", "::/129"] {
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
