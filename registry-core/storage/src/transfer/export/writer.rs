//! Writes the file of an export.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use serde::Serialize;

use super::{
    BASE64_FIELD, ExportError, ExportedFrom, FORMAT, FirstLine, Head, JSON_FIELD, LastLine, VERSION,
    hexadecimal, is_json_line,
};
use crate::durable_file::DurableFile;
use crate::moving_key::MovingKey;

/// Writes a file.
pub(in super::super) struct Writer {
    path: PathBuf,
    file: BufWriter<DurableFile>,
    checksum: Context,
    line: Vec<u8>,
    keys: u64,
}

// === impl Writer ===

impl Writer {
    /// Begins a file, under a temporary name in its directory.
    pub(in super::super) fn create(path: &Path, from: &ExportedFrom) -> Result<Self, ExportError> {
        let failed = |source| ExportError::Io { path: path.to_owned(), source };
        let file = BufWriter::new(DurableFile::create(path).map_err(failed)?);
        let checksum = Context::new(&SHA256);
        let mut writer = Self { path: path.to_owned(), file, checksum, line: Vec::new(), keys: 0 };
        let first = FirstLine {
            format: FORMAT.to_owned(),
            version: VERSION,
            prefix: from.prefix.clone(),
            revision: from.revision,
            server: from.server.clone(),
            written: from.written.clone(),
        };
        writer.serialize(&first)?;
        writer.end_line()?;
        Ok(writer)
    }

    pub(in super::super) fn keys(&self) -> u64 {
        self.keys
    }

    pub(in super::super) fn write(&mut self, key: &MovingKey) -> Result<(), ExportError> {
        let head = Head {
            key: key.key.clone(),
            create: key.create_revision,
            modified: key.mod_revision,
            expires: key.expires_at_seconds,
        };
        self.serialize(&head)?;
        // The value takes the place of the brace that ends the head.
        self.line.pop();
        if is_json_line(&key.value) {
            self.line.extend_from_slice(JSON_FIELD);
            self.line.extend_from_slice(&key.value);
        } else {
            self.line.extend_from_slice(BASE64_FIELD);
            self.line.extend_from_slice(STANDARD.encode(&key.value).as_bytes());
            self.line.push(b'"');
        }
        self.line.push(b'}');
        self.keys += 1;
        self.end_line()
    }

    /// Ends the file and gives it its name. Returns the number of keys.
    pub(in super::super) fn finish(mut self) -> Result<u64, ExportError> {
        let sha256 = hexadecimal(self.checksum.clone().finish().as_ref());
        let (path, keys) = (self.path.clone(), self.keys);
        let failed = |source| ExportError::Io { path, source };
        self.serialize(&LastLine { end: true, keys, sha256 })?;
        self.end_line()?;
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        file.and_then(DurableFile::publish).map_err(failed)?;
        Ok(keys)
    }

    fn serialize(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        let serialized = serde_json::to_writer(&mut self.line, value);
        serialized.map_err(|error| self.failed(error.into()))
    }

    fn end_line(&mut self) -> Result<(), ExportError> {
        self.line.push(b'\n');
        self.checksum.update(&self.line);
        let written = self.file.write_all(&self.line);
        self.line.clear();
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: std::io::Error) -> ExportError {
        ExportError::Io { path: self.path.clone(), source }
    }
}
