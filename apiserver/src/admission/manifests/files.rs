//! The files of a directory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use registry_core::metrics::content_hash;

/// Maximum size of all files of a directory.
const MAX_BYTES: u64 = 16 << 20;
/// The endings of the files that are read, in any case.
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];

/// The files with objects in a directory, by name, without empty ones. Directories in it are not read.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ManifestFiles(Arc<Vec<ManifestFile>>);

/// A file with objects.
#[derive(PartialEq, Eq)]
pub(super) struct ManifestFile {
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
}

// === impl ManifestFiles ===

impl ManifestFiles {
    /// Reads the files of a directory.
    ///
    /// # Errors
    /// Fails if the directory or one of its files cannot be read, or if the files are too large together; the text names the
    /// path.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let named = |error: io::Error| {
            let directory = directory.display();
            io::Error::new(error.kind(), format!("failed to read manifest directory {directory}: {error}"))
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(directory).map_err(named)? {
            let entry = entry.map_err(named)?;
            let is_directory = entry.file_type().map_err(named)?.is_dir();
            if !is_directory && has_ending(&entry.path()) {
                paths.push(entry.path());
            }
        }
        paths.sort();
        let (mut files, mut bytes_left) = (Vec::new(), MAX_BYTES);
        for path in paths {
            let content = read_file(&path, &mut bytes_left).map_err(|error| {
                io::Error::new(error.kind(), format!("failed to read file {}: {error}", path.display()))
            })?;
            if !content.is_empty() {
                files.push(ManifestFile { path, content });
            }
        }
        Ok(Self(Arc::new(files)))
    }

    /// Returns the files.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ManifestFile> {
        self.0.iter()
    }

    /// Returns the hash of the contents; an empty text if there are none.
    pub(super) fn hash(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut contents = Vec::new();
        for file in self.iter() {
            contents.extend_from_slice(&file.content);
            contents.push(0);
        }
        content_hash(&contents)
    }
}

fn has_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
}

/// Reads a file of at most this size, and takes its size from that.
fn read_file(path: &Path, bytes_left: &mut u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(*bytes_left + 1).read_to_end(&mut content)?;
    let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
    *bytes_left = bytes_left.checked_sub(size).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the directory has more than {MAX_BYTES} bytes; remove files that are not manifests"),
        )
    })?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash is Kubernetes', so that servers of both can be compared.
    #[test]
    fn files_are_read_by_name_and_hashed_with_their_ends() {
        let directory = tempfile::tempdir().unwrap();
        let read = || ManifestFiles::read(directory.path()).unwrap();
        assert_eq!(read().hash(), "");
        for (name, content) in [("b.yaml", "second"), ("a.JSON", "first"), ("c.yml", ""), ("d.txt", "other")]
        {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let files = read();
        let contents: Vec<&[u8]> = files.iter().map(|file| file.content.as_slice()).collect();
        assert_eq!(contents, [b"first".as_slice(), b"second"]);
        assert_eq!(files.hash(), content_hash(b"first\0second\0"));
    }
}
