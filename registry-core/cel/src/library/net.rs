//! IP addresses and networks.

use std::net::{IpAddr, Ipv4Addr};

use super::{Call, Native};
use crate::value::foreign::net::{Cidr, parse_cidr, parse_ip};
use crate::value::{Evaluated, EvaluationError, Foreign, Value, fail};

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
    match call.foreign(0) {
        Some(Foreign::Ip(address)) => Ok(*address),
        _ => call.no_such_overload(),
    }
}

fn receiver_cidr(call: &Call<'_, '_>) -> Result<Cidr, Box<EvaluationError>> {
    match call.foreign(0) {
        Some(Foreign::Cidr(cidr)) => Ok(*cidr),
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
