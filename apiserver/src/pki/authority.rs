//! The certificate authorities of one installation. An authority is never replaced: before it expires a new
//! one is added, and both are trusted.

use std::fs::File;
use std::path::{Path, PathBuf};

use certificates::{parsed, pkcs8_forms};
use rcgen::{BasicConstraints, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use registry_core::durable_file::Durability;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use uuid::Uuid;

use super::parameters::parameters;
use super::validity::{Moment, Validity, days};
use super::{FileFault, KeyDirectory, Notes, PkiError, certificates, read, write_surviving};

/// The prefix of the names of generated authorities.
pub(super) const AUTHORITY_PREFIX: &str = "orlop-ca@";

/// The purpose of an authority.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthorityPurpose {
    /// The server's certificate, and those of its clients.
    Cluster,
    /// The server's certificate towards extension servers, which trust every name in a request with it. No client has a
    /// certificate of this authority.
    FrontProxy,
}
const AUTHORITY_DAYS: i64 = 3650;
/// Time before its end at which an authority stops signing, because the certificates that it has signed have
/// to be trusted for a while after.
const SIGNING_MARGIN_DAYS: i64 = 90;
/// Maximum number of authorities: more can only result from a clock that keeps jumping.
const MAX_AUTHORITIES: usize = 8;

/// The authorities, and the key of the one that signs.
pub(super) struct Authority {
    /// All authorities, the newest first.
    pub(super) trusted_pem: String,
    /// The validity of the signing one.
    pub(super) validity: Validity,
    pub(super) issuer: Issuer<'static, KeyPair>,
    /// The name of the signing one, which is unique.
    pub(super) subject: Vec<u8>,
}

/// A certificate and its key.
struct Pair {
    certificate: CertificateDer<'static>,
    subject: Vec<u8>,
    validity: Validity,
    key: KeyPair,
}

/// The files of the authorities.
struct Files {
    purpose: AuthorityPurpose,
    durability: Durability,
    certificate_path: PathBuf,
    key_path: PathBuf,
    certificate_pem: String,
    key_pem: String,
}

/// The lock of a directory's files; released when dropped.
pub(crate) struct DirectoryGuard(#[expect(dead_code, reason = "holds the lock")] File);

// === impl DirectoryGuard ===

impl DirectoryGuard {
    /// Waits until no other process changes the directory's files.
    pub(crate) fn acquire(directory: &Path) -> Result<Self, PkiError> {
        let failed = |source| PkiError::Read { path: directory.to_owned(), source };
        let file = File::open(directory).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self(file))
    }
}

// === impl AuthorityPurpose ===

impl AuthorityPurpose {
    /// Returns the name of the files, without their extension.
    fn file(self) -> &'static str {
        match self {
            Self::Cluster => "ca",
            Self::FrontProxy => "aggregator-ca",
        }
    }

    fn name_prefix(self) -> &'static str {
        match self {
            Self::Cluster => AUTHORITY_PREFIX,
            Self::FrontProxy => "orlop-aggregator-ca@",
        }
    }
}

// === impl Authority ===

impl Authority {
    /// Reads `ca.crt` and `ca.key`. Creates them if there is no certificate; adds an authority if all
    /// existing ones expire soon.
    pub(super) fn ensure(directory: &KeyDirectory, now: Moment, notes: &mut Notes) -> Result<Self, PkiError> {
        Self::ensure_for(AuthorityPurpose::Cluster, directory, now, notes)
    }

    /// The same as [`ensure`](Self::ensure), with the files of another purpose.
    pub(super) fn ensure_for(
        purpose: AuthorityPurpose,
        directory: &KeyDirectory,
        now: Moment,
        notes: &mut Notes,
    ) -> Result<Self, PkiError> {
        let mut files = Files::read(purpose, directory, notes)?;
        let mut pairs = files.pairs()?;
        let is_lasting =
            |pair: &Pair| pair.validity.holds(now) && pair.validity.end - now > days(AUTHORITY_DAYS) / 3;
        if !pairs.iter().any(is_lasting) {
            let added = files.add(now);
            let works_without = pairs.iter().any(|pair| pair.validity.holds(now));
            match added {
                Ok(()) => {
                    pairs = files.pairs()?;
                    notes.made(purpose.file());
                }
                Err(failure) if works_without => {
                    notes.warn(format!("no new certificate authority: {failure}"));
                }
                Err(failure) => return Err(failure),
            }
        }
        let signing =
            choose(pairs, now).ok_or_else(|| FileFault::NoValidAuthority.in_file(&files.certificate_path))?;
        Ok(Self {
            trusted_pem: files.certificate_pem,
            validity: signing.validity,
            issuer: Issuer::from_ca_cert_der(&signing.certificate, signing.key)?,
            subject: signing.subject,
        })
    }
}

/// Chooses the signing authority: of those that are valid long enough the one that ends first, which clients
/// have known longest.
fn choose(pairs: Vec<Pair>, now: Moment) -> Option<Pair> {
    let mut usable: Vec<Pair> = pairs.into_iter().filter(|pair| pair.validity.holds(now)).collect();
    usable.sort_by_key(|pair| pair.validity.end);
    let margin = now + days(SIGNING_MARGIN_DAYS);
    let first = usable.iter().position(|pair| pair.validity.end > margin);
    let index = first.or_else(|| usable.len().checked_sub(1))?;
    Some(usable.swap_remove(index))
}

// === impl Files ===

impl Files {
    fn read(
        purpose: AuthorityPurpose,
        directory: &KeyDirectory,
        notes: &mut Notes,
    ) -> Result<Self, PkiError> {
        let certificate_path = directory.path().join(format!("{}.crt", purpose.file()));
        let key_path = directory.path().join(format!("{}.key", purpose.file()));
        let (certificate_pem, key_pem) = match (certificate_path.exists(), key_path.exists()) {
            (true, true) => (read(&certificate_path)?, super::read_private(&key_path, notes)?),
            (true, false) => {
                return Err(FileFault::NoKey(key_path).in_file(&certificate_path));
            }
            // A key without a certificate is left by an interrupted start.
            (false, _) => (String::new(), String::new()),
        };
        let durability = directory.durability();
        Ok(Self { purpose, durability, certificate_path, key_path, certificate_pem, key_pem })
    }

    /// Returns the certificates whose keys are present.
    fn pairs(&self) -> Result<Vec<Pair>, PkiError> {
        if self.certificate_pem.is_empty() {
            return Ok(Vec::new());
        }
        let mut keys = Vec::new();
        for key in PrivateKeyDer::pem_slice_iter(self.key_pem.as_bytes()) {
            let key = key.map_err(|error| FileFault::Pem(error).in_file(&self.key_path))?;
            // The library that issues certificates reads only this form.
            let pair = pkcs8_forms(&key).iter().find_map(|form| KeyPair::try_from(form).ok());
            keys.push(pair.ok_or_else(|| FileFault::KeyType.in_file(&self.key_path))?);
        }
        let mut pairs = Vec::new();
        for certificate in certificates(&self.certificate_path, &self.certificate_pem)? {
            let parsed = parsed(&certificate)
                .map_err(|error| FileFault::NotX509(error).in_file(&self.certificate_path))?;
            let public = parsed.public_key().subject_public_key.data.to_vec();
            let subject = parsed.subject().as_raw().to_vec();
            let validity = Validity::from_certificate(&parsed);
            if let Some(index) = keys.iter().position(|key| key.public_key_raw() == public) {
                pairs.push(Pair { certificate, subject, validity, key: keys.swap_remove(index) });
            }
        }
        if pairs.is_empty() {
            return Err(FileFault::OtherKey(self.purpose.file()).in_file(&self.certificate_path));
        }
        Ok(pairs)
    }

    /// Adds an authority. Its key is written first: without its certificate it is ignored.
    fn add(&mut self, now: Moment) -> Result<(), PkiError> {
        if self.certificate_pem.matches("-----BEGIN CERTIFICATE-----").count() >= MAX_AUTHORITIES {
            return Err(FileFault::TooManyAuthorities.in_file(&self.certificate_path));
        }
        let name = format!("{}{}", self.purpose.name_prefix(), Uuid::new_v4());
        let mut parameters = parameters(&name, now, now + days(AUTHORITY_DAYS));
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = parameters.self_signed(&key)?.pem();
        if !self.certificate_pem.is_empty() {
            tracing::warn!(
                path = %self.certificate_path.display(),
                "added a certificate authority, because those there were end soon or are not valid now: clients that \
                 trust only one of the others need the new one too"
            );
        }
        let key_pem = key.serialize_pem() + &self.key_pem;
        write_surviving(self.durability, &self.key_path, &key_pem)?;
        self.key_pem = key_pem;
        let certificate_pem = certificate + &self.certificate_pem;
        write_surviving(self.durability, &self.certificate_path, &certificate_pem)?;
        self.certificate_pem = certificate_pem;
        Ok(())
    }
}
