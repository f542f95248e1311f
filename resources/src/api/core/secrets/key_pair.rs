//! Whether PEM texts contain a certificate and a private key.
//!
//! The messages are those of Go's `tls.X509KeyPair`.

/// Returns the problem of a pair; `None` if both texts are as expected.
pub(super) fn complaint(certificate: &[u8], key: &[u8]) -> Option<String> {
    let certificates = block_types(certificate);
    if !certificates.iter().any(|kind| kind == "CERTIFICATE") {
        let switched = matches!(certificates.as_slice(), [only] if only.ends_with("PRIVATE KEY"));
        return Some(match certificates.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            _ if switched => "tls: failed to find certificate PEM data in certificate input, but did find a \
                 private key; PEM inputs may have been switched"
                .to_owned(),
            others => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks \
                 of the following types: [{}]",
                others.join(" ")
            ),
        });
    }
    let keys = block_types(key);
    if keys.iter().any(|kind| kind.ends_with("PRIVATE KEY")) {
        return None;
    }
    Some(match keys.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [only] if only == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        others => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
             blocks of the following types: [{}]",
            others.join(" ")
        ),
    })
}

/// Returns the types of the terminated blocks in a PEM text.
fn block_types(pem: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(pem);
    let mut types = Vec::new();
    let mut open: Option<&str> = None;
    for line in text.lines().map(str::trim_end) {
        if let Some(kind) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) {
            open = Some(kind);
        } else if let Some(kind) = line.strip_prefix("-----END ").and_then(|rest| rest.strip_suffix("-----"))
            && open.take() == Some(kind)
        {
            types.push(kind.to_owned());
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_told() {
        let block = |kind: &str| format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n").into_bytes();
        let certificate = block("CERTIFICATE");
        let key = block("RSA PRIVATE KEY");
        assert_eq!(complaint(&certificate, &key), None);
        let starts = |certificate: &[u8], key: &[u8], text: &str| {
            let found = complaint(certificate, key).unwrap();
            assert!(found.starts_with(text), "{found}");
        };
        starts(b"a", &key, "tls: failed to find any PEM data in certificate input");
        starts(&key, &certificate, "tls: failed to find certificate PEM data");
        starts(&certificate, b"", "tls: failed to find any PEM data in key input");
        starts(&certificate, &certificate, "tls: found a certificate rather than a key");
        starts(&certificate, &block("X"), "tls: failed to find PEM block with type ending in");
        starts(b"-----BEGIN CERTIFICATE-----", &key, "tls: failed to find any PEM data in certificate input");
    }
}
