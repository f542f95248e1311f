//! IP addresses and networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Call, Foreign, Native};
use crate::value::{Evaluated, EvaluationError, Value, fail};

/// A network: an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix_length: u8,
}

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "ip" => ip,
        "isIP" => is_ip,
        "ip.isCanonical" => is_canonical,
        "family" => family,
        "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast" => is_kind,
        "cidr" => cidr,
        "isCIDR" => is_cidr,
        "containsIP" => contains_ip,
        "containsCIDR" => contains_cidr,
        "masked" => masked,
        "prefixLength" => prefix_length,
        _ => return None,
    })
}

// === impl Cidr ===

impl Cidr {
    pub(crate) fn prefix_length(&self) -> u8 {
        self.prefix_length
    }

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
    fn masked(&self) -> Self {
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

    fn contains(&self, address: IpAddr) -> bool {
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

fn parse_ip(text: &str) -> Result<IpAddr, Box<EvaluationError>> {
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

fn parse_cidr(text: &str) -> Result<Cidr, Box<EvaluationError>> {
    let cidr = Cidr::parse(text).or_else(|error| {
        fail(format!("network address parse error during conversion from string: {error}"))
    })?;
    if is_mapped(&cidr.address) {
        return fail(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(cidr)
}

fn ip_value<'a>(address: IpAddr) -> Value<'a> {
    Value::foreign(Foreign::Ip(address))
}

fn ip<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => parse_ip(text.as_str()).map(ip_value),
        [Value::Foreign(_)] => Ok(ip_value(receiver_cidr(call)?.address)),
        _ => call.no_such_overload(),
    }
}

fn is_ip<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::Bool(parse_ip(text.as_str()).is_ok())),
        _ => call.no_such_overload(),
    }
}

fn is_canonical<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => {
            parse_ip(text.as_str()).map(|address| Value::Bool(address.to_string() == text.as_str()))
        }
        _ => call.no_such_overload(),
    }
}

fn receiver_ip(call: &Call<'_, '_>) -> Result<IpAddr, Box<EvaluationError>> {
    match call.args.first() {
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Ip(address) => Ok(*address),
            _ => call.no_such_overload(),
        },
        _ => call.no_such_overload(),
    }
}

fn receiver_cidr(call: &Call<'_, '_>) -> Result<Cidr, Box<EvaluationError>> {
    match call.args.first() {
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Cidr(cidr) => Ok(*cidr),
            _ => call.no_such_overload(),
        },
        _ => call.no_such_overload(),
    }
}

fn family<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    Ok(Value::Int(if receiver_ip(call)?.is_ipv4() { 4 } else { 6 }))
}

fn is_kind<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let address = receiver_ip(call)?;
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    Ok(Value::Bool(match call.function {
        "isUnspecified" => address.is_unspecified(),
        "isLoopback" => address.is_loopback(),
        "isLinkLocalUnicast" => is_link_local,
        "isLinkLocalMulticast" => match address {
            IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
            IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        },
        _ => {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()
                || is_link_local
                || is_broadcast)
        }
    }))
}

fn cidr<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => match parse_cidr(text.as_str()) {
            Ok(cidr) => Ok(Value::foreign(Foreign::Cidr(cidr))),
            // The conversion wraps the message of the parser, which wraps it itself.
            Err(message) => {
                fail(format!("network address parse error during conversion from string: {message}"))
            }
        },
        _ => call.no_such_overload(),
    }
}

fn is_cidr<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::Bool(parse_cidr(text.as_str()).is_ok())),
        _ => call.no_such_overload(),
    }
}

fn contains_ip<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let cidr = receiver_cidr(call)?;
    let address = match call.args.get(1) {
        Some(Value::String(text)) => parse_ip(text.as_str())?,
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Ip(address) => *address,
            _ => return call.no_such_overload(),
        },
        _ => return call.no_such_overload(),
    };
    Ok(Value::Bool(cidr.contains(address)))
}

fn contains_cidr<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let cidr = receiver_cidr(call)?;
    let other = match call.args.get(1) {
        Some(Value::String(text)) => match parse_cidr(text.as_str()) {
            Ok(other) => other,
            Err(message) => {
                return fail(format!("network address parse error during conversion from string: {message}"));
            }
        },
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Cidr(other) => *other,
            _ => return call.no_such_overload(),
        },
        _ => return call.no_such_overload(),
    };
    Ok(Value::Bool(cidr.prefix_length <= other.prefix_length && cidr.contains(other.address)))
}

fn masked<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    Ok(Value::foreign(Foreign::Cidr(receiver_cidr(call)?.masked())))
}

fn prefix_length<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    Ok(Value::Int(i64::from(receiver_cidr(call)?.prefix_length)))
}
