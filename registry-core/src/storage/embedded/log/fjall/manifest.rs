//! Looks at fjall's manifests before fjall does: it writes their checksums but does not hold them against the files, and
//! takes table lists and lengths out of a damaged one at face value.
//!
//! Per keyspace, `current` names the manifest: version (8, little-endian), XXH3 with 128 bits of the file `v<version>`
//! (16), and the checksum's type (1).

use std::io::ErrorKind;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::storage::embedded::log::LogError;

/// Refuses a directory with a keyspace whose manifest is not the one that was written. Changes nothing.
pub(super) fn verify_manifests(directory: &Path) -> Result<(), LogError> {
    let io = |error: std::io::Error| LogError::Io(format!("{}: {error}", directory.display()));
    let keyspaces = match std::fs::read_dir(directory.join("keyspaces")) {
        Ok(keyspaces) => keyspaces,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    for keyspace in keyspaces {
        verify_manifest(&keyspace.map_err(io)?.path())?;
    }
    Ok(())
}

fn verify_manifest(keyspace: &Path) -> Result<(), LogError> {
    let io = |error: std::io::Error| LogError::Io(format!("{}: {error}", keyspace.display()));
    let current = match std::fs::read(keyspace.join("current")) {
        Ok(current) => current,
        // A crash while it was made left it behind.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    let damaged = |what: &str| Err(LogError::Damaged(format!("{} {what}", keyspace.display())));
    let Some((version, checksum)) = current.split_first_chunk::<8>() else {
        return damaged("names no manifest");
    };
    let manifest = match std::fs::read(keyspace.join(format!("v{}", u64::from_le_bytes(*version)))) {
        Ok(manifest) => manifest,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return damaged("names a manifest that is missing");
        }
        Err(error) => return Err(io(error)),
    };
    if checksum.strip_suffix(&[0]) != Some(&xxh3_128(&manifest).to_le_bytes()[..]) {
        return damaged("has a manifest that does not match its checksum");
    }
    Ok(())
}
