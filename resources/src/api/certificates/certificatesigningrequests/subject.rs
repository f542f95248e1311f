//! The user and the groups that a request asks a certificate for.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};

use crate::api::certificates::pem;

/// The subject of a requested certificate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The name of the user that the certificate is for.
    pub(crate) common_name: String,
    /// The groups of that user.
    pub(crate) organizations: Vec<String>,
    /// Whether the certificate is for names or addresses of hosts too.
    pub(crate) has_hosts: bool,
    /// Whether it is for mail addresses or URIs too.
    pub(crate) has_other_names: bool,
}

/// Error of a request without a subject that can be read. The texts are Go's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubjectError {
    #[error("{0}")]
    NoRequest(&'static str),
    #[error("x509: the subject has a name that is not text")]
    NoText,
}

/// Reads the subject of a PEM request.
///
/// # Errors
/// The text is no request; the text of the error is the reason.
pub(crate) fn subject_of(text: &[u8]) -> Result<Subject, SubjectError> {
    pem::with_request(text, |request| {
        let subject = &request.certification_request_info.subject;
        let read = |name: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            let text = name.as_str().map(str::to_owned);
            text.map_err(|_| SubjectError::NoText)
        };
        let mut common_name = String::new();
        // The last one counts, as in Go.
        for name in subject.iter_common_name() {
            common_name = read(name)?;
        }
        let organizations = subject.iter_organization().map(read).collect::<Result<_, _>>()?;
        let has = |wanted: fn(&GeneralName<'_>) -> bool| alternative_names(request).any(wanted);
        Ok(Subject {
            common_name,
            organizations,
            has_hosts: has(|name| matches!(name, GeneralName::DNSName(_) | GeneralName::IPAddress(_))),
            has_other_names: has(|name| matches!(name, GeneralName::RFC822Name(_) | GeneralName::URI(_))),
        })
    })
    .map_err(SubjectError::NoRequest)?
}

/// Returns the other names that a request asks a certificate for.
fn alternative_names<'r>(
    request: &'r X509CertificationRequest<'_>,
) -> impl Iterator<Item = &'r GeneralName<'r>> {
    let extensions = request.requested_extensions().into_iter().flatten();
    let names = extensions.filter_map(|extension| match extension {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    names.flatten()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    #[test]
    fn the_subject_is_the_user_and_the_groups() {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "system:node:a");
        params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        let key = KeyPair::generate().unwrap();
        let text = params.serialize_request(&key).unwrap().pem().unwrap();
        let subject = subject_of(text.as_bytes()).unwrap();
        assert_eq!(subject.common_name, "system:node:a");
        assert_eq!(subject.organizations, ["system:nodes"]);
        assert_eq!(
            subject_of(b"zork").unwrap_err().to_string(),
            "PEM block type must be CERTIFICATE REQUEST"
        );
        let disguised = text.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        assert!(subject_of(disguised.as_bytes()).is_err());
    }
}
