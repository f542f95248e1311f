//! Client certificates of the generated authority, for `apiserver kubeconfig`.

use std::time::Duration;

use rcgen::{DnType, ExtendedKeyUsagePurpose, KeyPair};

use crate::options::Options;

use super::authority::Authority;
use super::parameters::parameters_until;
use super::{CertifiedKey, DirectoryGuard, FileFault, KeyDirectory, Moment, Notes, PkiError};

/// Issues a certificate of this user, with these groups, that is valid for this time from now on.
///
/// # Errors
/// Fails if there is no authority yet, or if it ends before the certificate would.
pub(crate) fn issue_client(
    options: &Options,
    user: &str,
    groups: &[String],
    lifetime: Duration,
    now: Moment,
) -> Result<CertifiedKey, PkiError> {
    let directory = KeyDirectory::from_options(options);
    let path = directory.path().join("ca.crt");
    if !path.exists() {
        return Err(FileFault::Absent.in_file(&path));
    }
    let _guard = DirectoryGuard::acquire(directory.path())?;
    let authority = Authority::ensure(&directory, now, &mut Notes::default())?;
    let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
    let end = now.saturating_add(seconds);
    if end > authority.validity.end {
        return Err(FileFault::AuthorityEnds.in_file(&path));
    }
    let mut parameters = parameters_until(user, now, end);
    for group in groups {
        parameters.distinguished_name.push(DnType::OrganizationName, group.as_str());
    }
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    let certificate_pem = parameters.signed_by(&key, &authority.issuer)?.pem();
    Ok(CertifiedKey { certificate_pem, key_pem: key.serialize_pem() })
}
