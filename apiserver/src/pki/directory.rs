//! The directory of generated keys and certificates.

use std::path::{Path, PathBuf};

use registry_core::durable_file::{self, Durability};

use crate::options::Options;

use super::{PkiError, create_private_directory};

/// The directory of generated keys and certificates.
#[derive(Clone, Debug)]
pub(crate) struct KeyDirectory {
    path: PathBuf,
    durability: Durability,
}

// === impl KeyDirectory ===

impl KeyDirectory {
    /// Returns the directory that the options name.
    pub(crate) fn from_options(options: &Options) -> Self {
        Self { path: options.certificate_directory(), durability: options.locations.durability() }
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the events that its files must survive.
    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    /// Creates the directory, accessible to its owner only. An existing one is unchanged.
    pub(super) fn create(&self) -> Result<(), PkiError> {
        create_private_directory(&self.path)
    }

    /// Writes a file that only its owner can read, atomically.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), PkiError> {
        write_surviving(self.durability, path, text)
    }
}

/// Writes a file that only its owner can read, atomically, and that survives these events.
pub(crate) fn write_surviving(durability: Durability, path: &Path, text: &str) -> Result<(), PkiError> {
    durable_file::write_surviving(durability, path, text.as_bytes())
        .map_err(|source| PkiError::Write { path: path.to_owned(), source })
}
