//! Names of drivers, pools, devices, attributes and the like.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, FieldPath, names};
use resource_views::Text;

/// Maximum length of a driver's name, in bytes.
const MAX_DRIVER_BYTES: usize = 63;
/// Maximum length of a pool's name, in bytes.
const MAX_POOL_BYTES: usize = 253;
/// Maximum length of a name of an attribute or of a capacity without its domain, in bytes.
const MAX_IDENTIFIER_BYTES: usize = 32;
/// Maximum length of the name of an attribute or of a capacity in the path of an error.
pub(super) const MAX_SHOWN_NAME_BYTES: usize = 63 + 1 + MAX_IDENTIFIER_BYTES;

const NO_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

/// Checks the name of a driver.
pub(super) fn check_driver(driver: &Text<'_, '_>, errors: &mut ErrorList) {
    check_driver_name(&driver.path(), driver.text(), errors);
}

/// Checks the name of a driver that is a part of a value.
fn check_driver_name(path: &FieldPath, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    if name.len() > MAX_DRIVER_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_DRIVER_BYTES));
    }
    for complaint in names::dns_subdomain(&name.to_lowercase()) {
        errors.push(FieldError::invalid(path.clone(), name, complaint));
    }
}

/// Checks the name of a pool: subdomains between slashes.
pub(super) fn check_pool(pool: &Text<'_, '_>, errors: &mut ErrorList) {
    if !pool.check_present(errors) {
        return;
    }
    pool.check_length(MAX_POOL_BYTES, errors);
    for part in pool.text().split('/') {
        for complaint in names::dns_subdomain(part) {
            errors.push(FieldError::invalid(pool.path(), part, complaint));
        }
    }
}

/// Checks the name of an attribute or of a capacity; it may have a domain. Errors are about the map that has it.
pub(super) fn check_qualified(path: &FieldPath, name: &str, errors: &mut ErrorList) {
    let mut parts = name.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(identifier), None, _) => check_identifier(path, identifier, errors),
        (Some(domain), Some(identifier), None) => {
            if domain.is_empty() {
                errors.push(FieldError::invalid(path.clone(), "", "the domain must not be empty"));
            } else {
                check_driver_name(path, domain, errors);
            }
            if identifier.is_empty() {
                errors.push(FieldError::invalid(path.clone(), "", "the name must not be empty"));
            } else {
                check_identifier(path, identifier, errors);
            }
        }
        // Kubernetes accepts names with more slashes.
        _ => {}
    }
}

/// Checks the name of an attribute that must have a domain.
pub(super) fn check_fully_qualified(name: &Text<'_, '_>, errors: &mut ErrorList) {
    check_qualified(&name.path(), name.text(), errors);
    if !name.text().contains('/') {
        errors.push(
            name.invalid_text("a fully qualified name must be a domain and a name separated by a slash"),
        );
    }
}

fn check_identifier(path: &FieldPath, name: &str, errors: &mut ErrorList) {
    if name.len() > MAX_IDENTIFIER_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_IDENTIFIER_BYTES));
    }
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_good = name.as_bytes().first().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit());
    if !is_good {
        errors.push(FieldError::invalid(path.clone(), name, NO_IDENTIFIER));
    }
}

/// Shortens the key of a map in the middle for paths of errors.
pub(super) fn shown_key(key: &str, most_bytes: usize) -> String {
    if key.len() <= most_bytes {
        return key.to_owned();
    }
    let kept = most_bytes - "...".len();
    let head = key.floor_char_boundary(kept.div_ceil(2));
    let tail = key.ceil_char_boundary(key.len() - kept / 2);
    let (head, tail) = (key.get(..head).unwrap_or_default(), key.get(tail..).unwrap_or_default());
    format!("{head}...{tail}")
}

/// Checks the uid of a share of a device.
pub(super) fn check_uid(uid: &Text<'_, '_>, errors: &mut ErrorList) {
    let text = uid.text();
    if let Some(complaint) = uid_complaint(text) {
        errors.push(uid.invalid_text(format!("error validating uid: {complaint}")));
    } else if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        errors.push(uid.invalid_text("uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"));
    }
}

/// Returns why a text is not a uid. Some forms are read that are not canonical.
fn uid_complaint(text: &str) -> Option<String> {
    const MALFORMED: &str = "invalid UUID format";
    let is_hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let plain = match text.len() {
        36 => text,
        45 => match text.split_at_checked(9) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("urn:uuid:") => rest,
            Some((prefix, _)) => return Some(format!("invalid urn prefix: {prefix:?}")),
            None => return Some(MALFORMED.to_owned()),
        },
        38 => match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) => inner,
            None => return Some("invalid bracketed UUID format".to_owned()),
        },
        32 => return (!is_hexadecimal(text)).then(|| MALFORMED.to_owned()),
        length => return Some(format!("invalid UUID length: {length}")),
    };
    let groups: Vec<&str> = plain.split('-').collect();
    let is_good = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| is_hexadecimal(group));
    (!is_good).then(|| MALFORMED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_read_as_upstream_reads_them() {
        let uid = "550e8400-e29b-41d4-a716-446655440001";
        assert_eq!(uid_complaint(uid), None);
        assert_eq!(uid_complaint(&format!("{{{uid}}}")), None);
        assert_eq!(uid_complaint(&format!("urn:uuid:{uid}")), None);
        assert_eq!(uid_complaint("x").as_deref(), Some("invalid UUID length: 1"));
        assert_eq!(uid_complaint(&uid.replace('5', "g")).as_deref(), Some("invalid UUID format"));
        assert_eq!(uid_complaint(&uid.replace('-', "0")).as_deref(), Some("invalid UUID format"));
        assert_eq!(
            uid_complaint(&format!("urn:uuix:{uid}")).as_deref(),
            Some("invalid urn prefix: \"urn:uuix:\"")
        );
    }

    #[test]
    fn long_keys_are_cut_in_the_middle() {
        assert_eq!(shown_key("abcdefghijklmnopqrstuvwxyz", 16), "abcdefg...uvwxyz");
        assert_eq!(shown_key("short", 16), "short");
        assert_eq!(shown_key(&"ü".repeat(20), 17), "üüü...üüü");
    }
}
