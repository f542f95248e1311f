//! Users of client certificates: the common name is the user, the organizations are the groups.

use registry_core::context::UserInfo;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::AUTHENTICATED;

/// Where audit logs find which credential was used.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Whom a certificate names; `None` when it has no common name or is none. Whether it is to be believed is
/// the TLS verifier's business.
pub fn user_of_certificate(der: &[u8]) -> Option<UserInfo> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    if name.is_empty() {
        return None;
    }
    let organizations = subject.iter_organization().filter_map(|one| one.as_str().ok());
    let mut groups: Vec<String> = organizations.map(str::to_owned).collect();
    if !groups.iter().any(|group| group == AUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    let fingerprint = ring::digest::digest(&ring::digest::SHA256, der);
    let credential = format!("X509SHA256={}", hex(fingerprint.as_ref()));
    Some(UserInfo {
        name: name.to_owned(),
        uid: String::new(),
        groups,
        extra: vec![(CREDENTIAL_ID.to_owned(), vec![credential])],
    })
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
