//! Addresses and networks in objects.

use std::net::IpAddr;

use registry_core::api::validation::ErrorList;

use crate::field::Field;

/// Notes when the text is no address.
pub(crate) fn check_address(field: &Field<'_, '_>, errors: &mut ErrorList) {
    if field.text().parse::<IpAddr>().is_err() {
        errors.push(field.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
}

/// Notes when the text is no network: an address and the length of its prefix.
pub(crate) fn check_network(field: &Field<'_, '_>, errors: &mut ErrorList) {
    if !is_network(field.text()) {
        errors.push(field.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    }
}

fn is_network(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.parse::<u8>().is_ok_and(|length| length <= most)
}
