//! Names of images.
//!
//! Concept: `ParseNormalizedNamed` in `github.com/distribution/reference`.

const MAX_PATH_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;

/// Returns how an image is pulled if its container does not say: `Always` if it has the tag `latest`, by name or because it
/// has neither a tag nor a digest, and else `IfNotPresent`.
pub(super) fn pull_policy(image: &str) -> &'static str {
    match parse(image) {
        Some((Some("latest"), _) | (None, None)) => "Always",
        _ => "IfNotPresent",
    }
}

/// Returns the tag and the digest of an image; `None` if it is malformed.
fn parse(image: &str) -> Option<(Option<&str>, Option<&str>)> {
    if image.len() == 64 && image.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let (domain, rest) = split_domain(name);
    let (path, tag) = match rest.rsplit_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (rest, None),
    };
    let is_valid = domain.is_none_or(is_domain)
        && path.len() <= MAX_PATH_BYTES
        && path.split('/').all(is_component)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest);
    is_valid.then_some((tag, digest))
}

/// Splits off the host of a registry.
fn split_domain(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first =>
        {
            (Some(first), rest)
        }
        _ => (None, name),
    }
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && !domain.ends_with(']') => (host, Some(port)),
        _ => (domain, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => {
            !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        }
        None => host.split('.').all(is_label),
    };
    is_host && port.is_none_or(is_port)
}

/// Whether it is a part of a path: words, separated by a dot, one or two underscores, or dashes.
fn is_component(part: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends_in_words =
        part.bytes().next().is_some_and(is_word) && part.bytes().next_back().is_some_and(is_word);
    let mut separators = part.split(|letter: char| letter.is_ascii() && is_word(letter as u8));
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    ends_in_words && separators.all(is_separator)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= MAX_TAG_BYTES
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hash)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hash.len() == length && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_tag() {
        let digest = format!("@sha256:{}", "0123456789abcdef".repeat(4));
        for always in ["nginx", "nginx:latest", "host:5000/nginx", "host:5000/a/nginx:latest", "Host/nginx"] {
            assert_eq!(pull_policy(always), "Always", "{always}");
        }
        assert_eq!(pull_policy(&format!("nginx:latest{digest}")), "Always");
        assert_eq!(pull_policy(&format!("nginx{digest}")), "IfNotPresent");
        let malformed =
            ["", " ", "Nginx", "nginx ", "a//b", "a:b:c", "nginx@sha256:abc", "-a/b.c", "a/b_-c", "a:"];
        for present in ["nginx:1", "host:5000/nginx:1", "a__b/c---d.e:x"].iter().chain(&malformed) {
            assert_eq!(pull_policy(present), "IfNotPresent", "{present}");
        }
    }
}
