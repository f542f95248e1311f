//! Reads and verifies the file of an export.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::{
    BASE64_FIELD, Damage, ExportError, ExportedFrom, FORMAT, FirstLine, Head, JSON_FIELD, LastLine, VERSION,
    hexadecimal, is_json_line,
};
use crate::moving_key::{MAX_REVISION, MovingKey};

/// Maximum length of a line, in bytes. Longer ones are damage.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Number of keys of a page.
const PAGE_KEYS: usize = 128;
/// Beginning of the last line.
const END: &[u8] = b"{\"end\":";

/// Reads a file, and verifies it on the way.
pub(in super::super) struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    from: ExportedFrom,
    checksum: Context,
    line: Vec<u8>,
    line_number: u64,
    last_key: String,
    keys: u64,
    is_over: bool,
}

// === impl Reader ===

impl Reader {
    /// Opens a file and reads its first line.
    pub(in super::super) fn open(path: &Path) -> Result<Self, ExportError> {
        let failed = |source| ExportError::Io { path: path.to_owned(), source };
        let mut reader = Self {
            path: path.to_owned(),
            file: BufReader::new(File::open(path).map_err(failed)?),
            from: ExportedFrom {
                prefix: String::new(),
                revision: 0,
                server: String::new(),
                written: String::new(),
            },
            checksum: Context::new(&SHA256),
            line: Vec::new(),
            line_number: 0,
            last_key: String::new(),
            keys: 0,
            is_over: false,
        };
        reader.read_first_line()?;
        Ok(reader)
    }

    fn read_first_line(&mut self) -> Result<(), ExportError> {
        let path = || self.path.clone();
        // A first line is short: another file is not read as one.
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(64 * 1024).read_until(b'\n', &mut bytes);
        read.map_err(|source| ExportError::Io { path: path(), source })?;
        let first: FirstLine = serde_json::from_slice(&bytes).map_err(|_| ExportError::OtherFile(path()))?;
        if first.format != FORMAT {
            return Err(ExportError::OtherFile(path()));
        }
        if first.version != VERSION {
            let FirstLine { version, server, .. } = first;
            return Err(ExportError::NewerFormat { path: path(), version, server });
        }
        self.checksum.update(&bytes);
        self.line_number = 1;
        if first.revision == 0 || first.revision > MAX_REVISION {
            return Err(self.damaged(Damage::Revisions));
        }
        if !first.prefix.starts_with('/') || !first.prefix.ends_with('/') {
            return Err(self.damaged(Damage::Prefix));
        }
        let FirstLine { prefix, revision, server, written, .. } = first;
        self.from = ExportedFrom { prefix, revision, server, written };
        Ok(())
    }

    pub(in super::super) fn from(&self) -> &ExportedFrom {
        &self.from
    }

    /// Begins again with the first key. The file is opened anew and verified again.
    pub(in super::super) fn rewind(&mut self) -> Result<(), ExportError> {
        let again = Self::open(&self.path)?;
        if again.from != self.from {
            return Err(again.damaged(Damage::Checksum));
        }
        *self = again;
        Ok(())
    }

    /// Returns the next keys; none at the end, which is verified.
    pub(in super::super) fn next_page(&mut self) -> Result<Vec<MovingKey>, ExportError> {
        let mut page = Vec::new();
        while page.len() < PAGE_KEYS && !self.is_over {
            self.read_line()?;
            if self.line.starts_with(END) {
                self.read_end()?;
                self.is_over = true;
            } else {
                page.push(self.read_key()?);
                self.checksum.update(&self.line);
                self.keys += 1;
            }
        }
        Ok(page)
    }

    /// Reads a line with the character that ends it.
    fn read_line(&mut self) -> Result<(), ExportError> {
        self.line.clear();
        self.line_number += 1;
        let read = self.file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line);
        read.map_err(|source| ExportError::Io { path: self.path.clone(), source })?;
        if self.line.ends_with(b"\n") {
            return Ok(());
        }
        if self.line.len() as u64 == MAX_LINE_BYTES {
            return Err(self.damaged(Damage::TooLong));
        }
        Err(ExportError::CutShort(self.path.clone()))
    }

    fn read_key(&mut self) -> Result<MovingKey, ExportError> {
        let (head, value) = parse_key(&self.line).ok_or_else(|| self.damaged(Damage::Line))?;
        if head.key <= self.last_key {
            return Err(self.damaged(Damage::Order));
        }
        if !head.key.starts_with(&self.from.prefix) {
            return Err(self.damaged(Damage::Prefix));
        }
        if head.create == 0 || head.create > head.modified || head.modified > self.from.revision {
            return Err(self.damaged(Damage::Revisions));
        }
        self.last_key.clone_from(&head.key);
        Ok(MovingKey {
            key: head.key,
            value,
            create_revision: head.create,
            mod_revision: head.modified,
            expires_at_seconds: head.expires.filter(|seconds| *seconds != 0),
        })
    }

    fn read_end(&mut self) -> Result<(), ExportError> {
        let last: LastLine = serde_json::from_slice(&self.line).map_err(|_| self.damaged(Damage::Line))?;
        if last.keys != self.keys {
            return Err(self.damaged(Damage::Count));
        }
        if last.sha256 != hexadecimal(self.checksum.clone().finish().as_ref()) {
            return Err(self.damaged(Damage::Checksum));
        }
        let mut next = [0];
        match self.file.read(&mut next) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged(Damage::Remainder)),
            Err(source) => Err(ExportError::Io { path: self.path.clone(), source }),
        }
    }

    fn damaged(&self, reason: Damage) -> ExportError {
        ExportError::Damaged { path: self.path.clone(), line: self.line_number, reason }
    }
}

/// Splits the line of a key. In the head, no string can contain what begins the value: a quotation mark in a key is written with a
/// backslash before it.
fn parse_key(line: &[u8]) -> Option<(Head, Bytes)> {
    let line = line.strip_suffix(b"}\n")?;
    let find = |field: &[u8]| line.windows(field.len()).position(|window| window == field);
    let (at, length, is_json) = match (find(JSON_FIELD), find(BASE64_FIELD)) {
        (Some(json), Some(base64)) if base64 < json => (base64, BASE64_FIELD.len(), false),
        (Some(json), _) => (json, JSON_FIELD.len(), true),
        (None, Some(base64)) => (base64, BASE64_FIELD.len(), false),
        (None, None) => return None,
    };
    let head = [line.get(..at)?, b"}"].concat();
    let head: Head = serde_json::from_slice(&head).ok()?;
    let value = line.get(at + length..)?;
    if is_json {
        return is_json_line(value).then(|| (head, Bytes::copy_from_slice(value)));
    }
    let value = STANDARD.decode(value.strip_suffix(b"\"")?).ok()?;
    Some((head, value.into()))
}
