//! URIs as Go's `url.ParseRequestURI` accepts them.

/// The place of a part in a URI. Each place has its own characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Host,
    Zone,
    User,
}

/// Whether the text is an absolute URI or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        // What follows the scheme is opaque, as in `mailto:someone`.
        return !scheme.is_empty();
    }
    let Some(authority) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) else {
        return is_escaped(rest, Place::Path);
    };
    let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
    is_authority(authority) && is_escaped(path, Place::Path)
}

/// Splits off the scheme, which may be absent; `None` if it is missing before a colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if place > 0 => {}
            b':' if place == 0 => return None,
            b':' => return Some((text.get(..place)?, text.get(place + 1..)?)),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(authority: &str) -> bool {
    let Some((user, host)) = authority.rsplit_once('@') else { return is_host(authority) };
    let is_user_letter =
        |letter: char| letter.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(letter);
    user.chars().all(is_user_letter) && is_escaped(user, Place::User) && is_host(host)
}

fn is_host(host: &str) -> bool {
    let Some(address) = host.strip_prefix('[') else {
        let port = host.rfind(':').and_then(|colon| host.get(colon..)).unwrap_or_default();
        return is_port(port) && is_escaped(host, Place::Host);
    };
    let Some((address, port)) = address.rsplit_once(']') else { return false };
    // A zone follows an escaped percent sign.
    let (address, zone) = address.split_once("%25").unwrap_or((address, ""));
    is_port(port) && is_escaped(address, Place::Host) && is_escaped(zone, Place::Zone)
}

fn is_port(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else { return text.is_empty() };
    port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether percent signs start escapes, and the other characters are allowed at this place.
fn is_escaped(text: &str, place: Place) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let hex = |offset: usize| bytes.get(at + offset).filter(|byte| byte.is_ascii_hexdigit());
            let (Some(high), Some(low)) = (hex(1), hex(2)) else { return false };
            // In hosts only characters outside of ASCII are escaped.
            let is_ascii = high.is_ascii_digit() && *high < b'8';
            if is_ascii && place == Place::Host && (*high, *low) != (b'2', b'5') {
                return false;
            }
            at += 3;
            continue;
        }
        if matches!(place, Place::Host | Place::Zone) && byte.is_ascii() && !is_host_byte(*byte) {
            return false;
        }
        at += 1;
    }
    true
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}
