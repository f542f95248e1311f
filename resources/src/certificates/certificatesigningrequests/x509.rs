//! Requests for certificates (PKCS #10), and certificates, as they are checked before they are stored.

use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use super::pem;

/// What a request asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The name of the user that the certificate is for.
    pub(crate) common_name: String,
    /// The groups of that user.
    pub(crate) organizations: Vec<String>,
}

/// Reads the subject of a PEM request.
///
/// # Errors
/// The text is no request; the text of the error is the reason.
pub(crate) fn subject_of(text: &[u8]) -> Result<Subject, String> {
    parsed(text, |request| {
        let subject = &request.certification_request_info.subject;
        let read = |name: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            let text = name.as_str().map(str::to_owned);
            text.map_err(|_| "x509: the subject has a name that is no text".to_owned())
        };
        let mut common_name = String::new();
        // The last one counts, as in Go.
        for name in subject.iter_common_name() {
            common_name = read(name)?;
        }
        let organizations = subject.iter_organization().map(read).collect::<Result<_, _>>()?;
        Ok(Subject { common_name, organizations })
    })
}

/// Checks that a PEM text is a request, signed by the key that it is for.
///
/// # Errors
/// It is not; the text of the error is the reason.
pub(super) fn check_request(text: &[u8]) -> Result<(), String> {
    parsed(text, |request| {
        request.verify_signature().map_err(|error| format!("x509: the signature cannot be verified: {error}"))
    })
}

/// Checks that a PEM text consists of certificates only.
///
/// # Errors
/// It does not; the text of the error is the reason.
pub(super) fn check_certificates(text: &[u8]) -> Result<(), String> {
    let blocks = pem::blocks(text);
    for block in &blocks {
        if block.label != "CERTIFICATE" {
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found {:?}", block.label));
        }
        if block.has_headers {
            return Err("no PEM block headers are permitted".to_owned());
        }
        if block.content.is_empty() {
            return Err("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
        let mut rest = block.content.as_slice();
        while !rest.is_empty() {
            let (after, _) =
                X509Certificate::from_der(rest).map_err(|_| "x509: malformed certificate".to_owned())?;
            rest = after;
        }
    }
    if blocks.is_empty() {
        return Err("must contain at least one CERTIFICATE PEM block".to_owned());
    }
    Ok(())
}

/// Calls `read` with the request in a PEM text.
fn parsed<T>(
    text: &[u8],
    read: impl FnOnce(&X509CertificationRequest<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let first = pem::blocks(text).into_iter().next();
    let block = first
        .filter(|block| block.label == "CERTIFICATE REQUEST")
        .ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    match X509CertificationRequest::from_der(&block.content) {
        Ok(([], request)) => read(&request),
        Ok(_) => Err("asn1: syntax error: trailing data".to_owned()),
        Err(_) => Err("asn1: structure error: the request is malformed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, PublicKeyData as _};

    fn request(user: &str, groups: &[&str]) -> (String, KeyPair) {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        let key = KeyPair::generate().unwrap();
        (params.serialize_request(&key).unwrap().pem().unwrap(), key)
    }

    #[test]
    fn the_subject_is_the_user_and_the_groups() {
        let (text, _) = request("system:node:a", &["system:nodes"]);
        let subject = subject_of(text.as_bytes()).unwrap();
        assert_eq!(subject.common_name, "system:node:a");
        assert_eq!(subject.organizations, ["system:nodes"]);
        assert!(check_request(text.as_bytes()).is_ok());
        let refused = subject_of(b"zork").unwrap_err();
        assert_eq!(refused, "PEM block type must be CERTIFICATE REQUEST");
        let disguised = text.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        assert!(subject_of(disguised.as_bytes()).is_err());
    }

    #[test]
    fn a_request_for_another_key_is_refused() {
        let (text, key) = request("alice", &[]);
        let der = pem::blocks(text.as_bytes()).remove(0).content;
        let (_, other) = request("alice", &[]);
        let position = der.windows(key.der_bytes().len()).position(|part| part == key.der_bytes()).unwrap();
        let mut forged = der;
        forged.splice(position..position + key.der_bytes().len(), other.der_bytes().iter().copied());
        let text = as_pem("CERTIFICATE REQUEST", &forged);
        let refused = check_request(text.as_bytes()).unwrap_err();
        assert!(refused.contains("signature"), "{refused}");
        // Nothing may follow the request.
        forged.push(0);
        let refused = check_request(as_pem("CERTIFICATE REQUEST", &forged).as_bytes()).unwrap_err();
        assert!(refused.contains("trailing data"), "{refused}");
    }

    #[test]
    fn only_certificates_are_issued() {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        let good = certificate.pem();
        assert!(check_certificates(good.as_bytes()).is_ok());
        assert!(check_certificates(format!("{good}{good}").as_bytes()).is_ok());
        let refusal = |text: String| check_certificates(text.as_bytes()).unwrap_err();
        assert_eq!(refusal("x".to_owned()), "must contain at least one CERTIFICATE PEM block");
        assert!(refusal(format!("{good}{}", key.serialize_pem())).contains("only CERTIFICATE PEM blocks"));
        assert_eq!(refusal(as_pem("CERTIFICATE", b"x")), "x509: malformed certificate");
        assert!(refusal(as_pem("CERTIFICATE", b"")).contains("containing 0 certificates"));
        let headed = good.replace("CERTIFICATE-----\nMII", "CERTIFICATE-----\na: b\n\nMII");
        assert_ne!(headed, good);
        assert_eq!(refusal(headed), "no PEM block headers are permitted");
    }

    fn as_pem(label: &str, content: &[u8]) -> String {
        use base64::Engine as _;
        let digits = base64::engine::general_purpose::STANDARD.encode(content);
        format!("-----BEGIN {label}-----\n{digits}\n-----END {label}-----\n")
    }
}
