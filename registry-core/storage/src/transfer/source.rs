//! Where keys come from.

use std::path::Path;
#[cfg(feature = "etcd3")]
use std::sync::Arc;

use super::export::Reader;
use super::{MaintenanceError, Revision, TransferError};
use crate::embedded::maintenance::Report;
use crate::embedded::moving::StoreReader;
#[cfg(feature = "etcd3")]
use crate::etcd3::{Etcd3, moving::EtcdReader};
use crate::moving_key::MovingKey;

/// Where keys come from.
pub struct Source {
    prefix: String,
    kind: Kind,
}

enum Kind {
    Embedded(StoreReader),
    #[cfg(feature = "etcd3")]
    Etcd(EtcdReader),
    File(Reader),
}

// === impl Source ===

impl Source {
    /// Opens an embedded store that no process uses. Its keys are those below a prefix such as `/registry/`.
    ///
    /// # Errors
    /// Fails if there is no store, if a process uses it, or if it is damaged.
    pub fn embedded(directory: &Path, prefix: &str) -> Result<Self, MaintenanceError> {
        let reader = StoreReader::open(directory, prefix)?;
        Ok(Self { prefix: prefix.to_owned(), kind: Kind::Embedded(reader) })
    }

    /// Opens an embedded store, damaged or not, and returns the problems of its records too. Those that cannot be read are passed
    /// over.
    ///
    /// # Errors
    /// Fails if there is no store, if a process uses it, or if its files cannot be opened.
    pub fn embedded_to_check(directory: &Path, prefix: &str) -> Result<(Self, Report), MaintenanceError> {
        let (reader, report) = StoreReader::open_to_check(directory, prefix)?;
        Ok((Self { prefix: prefix.to_owned(), kind: Kind::Embedded(reader) }, report))
    }

    /// Begins to read an etcd at its newest revision. Its keys are those below a prefix such as `/registry/`.
    ///
    /// # Errors
    /// Fails if etcd does, or if an import into it has not finished.
    #[cfg(feature = "etcd3")]
    pub async fn etcd(etcd: Arc<Etcd3>, prefix: &str) -> Result<Self, TransferError> {
        let reader = EtcdReader::open(etcd, prefix).await?;
        Ok(Self { prefix: prefix.to_owned(), kind: Kind::Etcd(reader) })
    }

    /// Opens an exported file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is not an export that this program knows.
    pub fn file(path: &Path) -> Result<Self, TransferError> {
        let reader = Reader::open(path)?;
        Ok(Self { prefix: reader.from().prefix.clone(), kind: Kind::File(reader) })
    }

    /// Returns the prefix of the keys, such as `/registry/`.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the newest revision.
    pub fn revision(&self) -> Revision {
        match &self.kind {
            Kind::Embedded(reader) => reader.revision(),
            #[cfg(feature = "etcd3")]
            Kind::Etcd(reader) => reader.revision(),
            Kind::File(reader) => reader.from().revision,
        }
    }

    /// Returns the number of keys that are left out because they do not have the prefix; 0 if it is not known.
    pub fn other_keys(&self) -> u64 {
        match &self.kind {
            Kind::Embedded(reader) => reader.other_keys(),
            #[cfg(feature = "etcd3")]
            Kind::Etcd(_) => 0,
            Kind::File(_) => 0,
        }
    }

    /// Returns the next keys, in order; none at the end.
    ///
    /// # Errors
    /// Fails if the source does, or is damaged; in particular, at the end of a file, if the file is not complete.
    pub async fn next_page(&mut self) -> Result<Vec<MovingKey>, TransferError> {
        match &mut self.kind {
            Kind::Embedded(reader) => Ok(reader.next_page()?),
            #[cfg(feature = "etcd3")]
            Kind::Etcd(reader) => Ok(reader.next_page().await?),
            Kind::File(reader) => Ok(reader.next_page()?),
        }
    }

    /// Begins again with the first key.
    pub(super) fn rewind(&mut self) -> Result<(), TransferError> {
        match &mut self.kind {
            Kind::Embedded(reader) => reader.rewind(),
            #[cfg(feature = "etcd3")]
            Kind::Etcd(reader) => reader.rewind(),
            Kind::File(reader) => reader.rewind()?,
        }
        Ok(())
    }
}
