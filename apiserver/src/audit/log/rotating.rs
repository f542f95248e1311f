//! A file that is renamed and begun again when it has reached its maximum size.
//!
//! Kubernetes concept: `gopkg.in/natefinch/lumberjack.v2`, whose names of files these are.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::options::Retention;

use super::backups::Backups;

/// Maximum size of a buffer that is kept between writes.
const MAX_BUFFER_BYTES: usize = 256 * 1024;

/// An open log file.
pub(super) struct RotatingFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    backups: Backups,
    /// Whether the last line may be incomplete, because a write failed.
    is_torn: bool,
    /// The lines of one write; kept to reuse its allocation.
    buffer: Vec<u8>,
}

// === impl RotatingFile ===

impl RotatingFile {
    /// Opens a file to append to it, or creates it with its directory, for its owner only.
    pub(super) fn open(path: &Path, retention: Retention) -> io::Result<Self> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let file = open(path)?;
        let bytes = file.metadata()?.len();
        let backups = Backups::new(path, retention);
        backups.tidy();
        Ok(Self { path: path.to_owned(), file, bytes, backups, is_torn: false, buffer: Vec::new() })
    }

    /// Returns whether it is a regular file, rather than a device or a pipe.
    pub(super) fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// Appends lines. None of them is divided between files.
    pub(super) fn write<'l>(&mut self, lines: impl Iterator<Item = &'l [u8]>) -> io::Result<()> {
        let max_bytes = self.backups.retention().max_bytes.unwrap_or(u64::MAX);
        let mut piece = std::mem::take(&mut self.buffer);
        piece.clear();
        for line in lines {
            let so_far = self.bytes.saturating_add(length(&piece));
            if so_far > 0 && so_far.saturating_add(length(line)) > max_bytes {
                self.append(&piece)?;
                piece.clear();
                self.rotate()?;
            }
            piece.extend_from_slice(line);
        }
        let written = self.append(&piece);
        if piece.capacity() <= MAX_BUFFER_BYTES {
            self.buffer = piece;
        }
        written
    }

    fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        if self.is_torn {
            self.file.write_all(b"\n")?;
            self.bytes += 1;
            self.is_torn = false;
        }
        let written = self.file.write_all(piece);
        if written.is_ok() {
            self.bytes = self.bytes.saturating_add(length(piece));
        } else {
            // A part of it may have been written.
            self.bytes = self.file.metadata().map_or(self.bytes, |metadata| metadata.len());
            self.is_torn = true;
        }
        written
    }

    /// Renames the file, and begins a new one.
    fn rotate(&mut self) -> io::Result<()> {
        std::fs::rename(&self.path, self.backups.free_name(Timestamp::now()))?;
        self.file = open(&self.path)?;
        self.bytes = self.file.metadata()?.len();
        self.is_torn = false;
        self.backups.tidy();
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
