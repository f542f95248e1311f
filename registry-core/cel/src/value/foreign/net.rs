//! IP addresses and networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::value::{EvaluationError, fail};

/// A network: an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub(crate) address: IpAddr,
    pub(crate) prefix_length: u8,
}

// === impl Cidr ===

impl Cidr {
    fn parse(text: &str) -> Result<Self, Box<EvaluationError>> {
        let no = |reason: &str| fail(format!("netip.ParsePrefix({text:?}): {reason}"));
        let Some((address, length)) = text.rsplit_once('/') else {
            return no("no '/'");
        };
        let address = match parse_go_address(address) {
            Ok(address) => address,
            Err(reason) => return no(&reason.to_string()),
        };
        if length.is_empty() || length.len() > 3 || (length.len() > 1 && length.starts_with('0')) {
            return no(&format!("bad bits after slash: {length:?}"));
        }
        let Ok(bits) = length.parse::<u16>() else {
            return no(&format!("bad bits after slash: {length:?}"));
        };
        let width = if address.is_ipv4() { 32 } else { 128 };
        match u8::try_from(bits) {
            Ok(prefix_length) if bits <= width => Ok(Self { address, prefix_length }),
            _ => no("prefix length out of range"),
        }
    }

    /// The address with all bits after the prefix cleared.
    pub(crate) fn masked(&self) -> Self {
        let clear = |width: u32| width.saturating_sub(u32::from(self.prefix_length));
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(clear(32)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(clear(128)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self { address, ..*self }
    }

    /// Whether an address is one of the network.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && Self { address, ..*self }.masked().address == self.masked().address
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

fn is_mapped(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Reads an address. The message of an error equals the message of Go's `netip.ParseAddr`.
fn parse_go_address(text: &str) -> Result<IpAddr, Box<EvaluationError>> {
    text.parse().or_else(|_| {
        let reason = if text.contains(':') {
            "invalid IPv6 address"
        } else if text.contains('.') {
            return fail(go_ipv4_error(text));
        } else {
            "unable to parse IP"
        };
        fail(format!("ParseAddr({text:?}): {reason}"))
    })
}

fn go_ipv4_error(text: &str) -> String {
    let parts: Vec<_> = text.split('.').collect();
    let reason =
        if let Some(bad) = text.chars().find(|character| !character.is_ascii_digit() && *character != '.') {
            let at = text.find(bad).and_then(|at| text.get(at..)).unwrap_or(text);
            return format!("ParseAddr({text:?}): unexpected character (at {at:?})");
        } else if parts.iter().any(|part| part.is_empty()) {
            let at = text.find("..").and_then(|at| text.get(at + 1..)).unwrap_or(text);
            return format!("ParseAddr({text:?}): IPv4 field must have at least one digit (at {at:?})");
        } else if parts.iter().any(|part| part.len() > 1 && part.starts_with('0')) {
            "IPv4 field has octet with leading zero"
        } else if parts.iter().any(|part| part.parse::<u8>().is_err()) {
            "IPv4 field has value >255"
        } else if parts.len() > 4 {
            "IPv4 address too long"
        } else {
            "IPv4 address too short"
        };
    format!("ParseAddr({text:?}): {reason}")
}

/// Reads an address as Kubernetes accepts it: without a zone, and not as an IPv4 address in IPv6.
pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, Box<EvaluationError>> {
    if let Some((address, _)) = text.split_once('%')
        && address.parse::<Ipv6Addr>().is_ok()
    {
        return fail(format!("IP address {text:?} with zone value is not allowed"));
    }
    let address = parse_go_address(text).or_else(|error| {
        fail(format!("IP Address {text:?} parse error during conversion from string: {error}"))
    })?;
    if is_mapped(&address) {
        return fail(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(address)
}

/// Reads a network as Kubernetes accepts it.
pub(crate) fn parse_cidr(text: &str) -> Result<Cidr, Box<EvaluationError>> {
    let cidr = Cidr::parse(text).or_else(|error| {
        fail(format!("network address parse error during conversion from string: {error}"))
    })?;
    if is_mapped(&cidr.address) {
        return fail(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(cidr)
}
