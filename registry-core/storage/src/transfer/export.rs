//! The file of an export: lines of JSON.
//!
//! | line | content |
//! |---|---|
//! | first | `{"format":"orlop-export","version":1,"prefix":"/registry/","revision":7,"server":"…","written":"…"}` |
//! | a key | `{"key":"…","create":3,"mod":5,"expires":1767225600,"value":{…}}` |
//! | last | `{"end":true,"keys":1,"sha256":"…"}`, the checksum of all lines before |
//!
//! Keys ascend. `create` and `mod` are revisions; `expires`, in seconds since 1970, is there for keys with a time to live. `value`
//! is the stored value, byte for byte, if it is JSON on one line; any other is `base64`. A file that has been cut short has no last
//! line; one that has been edited does not match its checksum (`head -n -1 FILE | sha256sum`).

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::digest::{Context, SHA256};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{MAX_REVISION, Revision};
use crate::durable_file::DurableFile;
use crate::moving_key::MovingKey;

const FORMAT: &str = "orlop-export";
/// The version of the format that is written, and the newest one that is read.
const VERSION: u64 = 1;
/// Maximum length of a line, in bytes. Longer ones are damage.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Number of keys of a page.
const PAGE_KEYS: usize = 128;
/// The last field of a key whose value is JSON, and of another one.
const JSON_FIELD: &[u8] = b",\"value\":";
const BASE64_FIELD: &[u8] = b",\"base64\":\"";
/// Beginning of the last line.
const END: &[u8] = b"{\"end\":";

/// Where and when a file was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFrom {
    /// The prefix of the keys, such as `/registry/`.
    pub prefix: String,
    /// The newest revision of the store.
    pub revision: Revision,
    /// The program and its version.
    pub server: String,
    /// The time, in RFC 3339.
    pub written: String,
}

/// An exported file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The operating system returned an error. Retryable, once its cause is removed.
    #[error("{}: {source}{}", path.display(), hint(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is another one. Not retryable.
    #[error("{} is no export of a store: `apiserver storage export` writes one, and a backup is read by `apiserver storage restore`", .0.display())]
    OtherFile(PathBuf),
    /// A newer version of the program has written the file. Not retryable.
    #[error("{} is an export of format {version}, and this program reads up to format {VERSION}: import it with the version that wrote it ({server})", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version of the format.
        version: u64,
        /// The program that wrote it, as it says.
        server: String,
    },
    /// The file has no end. Not retryable.
    #[error("{} is cut short: it has no last line with a checksum. Export the store again", .0.display())]
    CutShort(PathBuf),
    /// The file has been changed. Not retryable.
    #[error("{}, line {line}: {reason}. The file is not as it was written: export the store again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u64,
        /// The reason.
        reason: Damage,
    },
}

/// The way in which a file differs from what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A line is not as this program writes it.
    #[error("the line cannot be read")]
    Line,
    /// A line is too long.
    #[error("the line is too long")]
    TooLong,
    /// Keys do not ascend.
    #[error("the key does not come after that of the line before")]
    Order,
    /// A key without the prefix.
    #[error("the key does not have the prefix of the first line")]
    Prefix,
    /// Revisions that cannot be.
    #[error("the revisions contradict each other")]
    Revisions,
    /// The number of keys.
    #[error("the number of keys is another one")]
    Count,
    /// The checksum.
    #[error("the lines do not match their checksum")]
    Checksum,
    /// Something after the end.
    #[error("lines follow the last one")]
    Remainder,
}

#[derive(Serialize, Deserialize)]
struct FirstLine {
    format: String,
    version: u64,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    revision: Revision,
    #[serde(default)]
    server: String,
    #[serde(default)]
    written: String,
}

/// The beginning of a key's line, up to its value.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    key: String,
    create: Revision,
    #[serde(rename = "mod")]
    modified: Revision,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LastLine {
    end: bool,
    keys: u64,
    sha256: String,
}

/// Writes a file.
pub(super) struct Writer {
    path: PathBuf,
    file: BufWriter<DurableFile>,
    checksum: Context,
    line: Vec<u8>,
    keys: u64,
}

/// Reads a file, and verifies it on the way.
pub(super) struct Reader {
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

/// Returns the remedy for an error of the operating system.
fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            ": free some space there, or write the file elsewhere"
        }
        _ => "",
    }
}

/// Whether a value can be a part of a line as it is.
fn is_json_line(value: &[u8]) -> bool {
    value.starts_with(b"{")
        && value.ends_with(b"}")
        && !value.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
        && str::from_utf8(value).is_ok()
        && serde_json::from_slice::<IgnoredAny>(value).is_ok()
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

// === impl Writer ===

impl Writer {
    /// Begins a file, under a temporary name in its directory.
    pub(super) fn create(path: &Path, from: &ExportedFrom) -> Result<Self, ExportError> {
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

    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    pub(super) fn write(&mut self, key: &MovingKey) -> Result<(), ExportError> {
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
    pub(super) fn finish(mut self) -> Result<u64, ExportError> {
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

// === impl Reader ===

impl Reader {
    /// Opens a file and reads its first line.
    pub(super) fn open(path: &Path) -> Result<Self, ExportError> {
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

    pub(super) fn from(&self) -> &ExportedFrom {
        &self.from
    }

    /// Begins again with the first key. The file is opened anew and verified again.
    pub(super) fn rewind(&mut self) -> Result<(), ExportError> {
        let again = Self::open(&self.path)?;
        if again.from != self.from {
            return Err(again.damaged(Damage::Checksum));
        }
        *self = again;
        Ok(())
    }

    /// Returns the next keys; none at the end, which is verified.
    pub(super) fn next_page(&mut self) -> Result<Vec<MovingKey>, ExportError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str, value: &[u8]) -> MovingKey {
        MovingKey {
            key: key.to_owned(),
            value: Bytes::copy_from_slice(value),
            create_revision: 2,
            mod_revision: 7,
            expires_at_seconds: None,
        }
    }

    fn written(path: &Path, keys: &[MovingKey]) -> String {
        let from = ExportedFrom {
            prefix: "/registry/".to_owned(),
            revision: 9,
            server: "test".to_owned(),
            written: "2026-01-02T03:04:05Z".to_owned(),
        };
        let mut writer = Writer::create(path, &from).unwrap();
        for key in keys {
            writer.write(key).unwrap();
        }
        writer.finish().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    fn read(path: &Path) -> Result<Vec<MovingKey>, ExportError> {
        let mut reader = Reader::open(path)?;
        let mut all = Vec::new();
        loop {
            let page = reader.next_page()?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    #[test]
    fn every_value_comes_back_byte_for_byte() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("export");
        let values: [&[u8]; 14] = [
            b"{}",
            b"{ \"a\": 1.0, \"a\": 1e400, \"b\":\"\\u00e9\" }",
            "{\"snow\":\"☃\"}".as_bytes(),
            b"{\"a\":{\"b\":[1,2,{\"base64\":\"eA==\"}]},\"value\":{}}",
            b"{\"a\":1}\n",
            b"{\n}",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":1",
            b"[1]",
            b"",
            b"k8s\x00\x0a\x00",
            b"k8s:enc:aescbc:v1:key:\x00\x01\x02",
            b"{\"a\":1}}",
            b"{\"a\":1},{\"b\":2}",
        ];
        let mut keys: Vec<MovingKey> = values
            .iter()
            .enumerate()
            .map(|(number, value)| key(&format!("/registry/x/{number:02}"), value))
            .collect();
        keys.push(MovingKey { expires_at_seconds: Some(1_767_225_600), ..key("/registry/y", b"{}") });
        keys.push(key("/registry/z,\"value\":{}\\", b"{}"));
        keys.push(key("/registry/z,\"value\":{}\\,", b"plain"));
        let text = written(&path, &keys);
        assert_eq!(read(&path).unwrap(), keys);
        assert!(text.contains(r#"{"key":"/registry/x/00","create":2,"mod":7,"value":{}}"#), "{text}");
        assert!(text.contains(r#""mod":7,"expires":1767225600,"value":{}}"#), "{text}");
        assert!(text.contains(r#"{"key":"/registry/x/09","create":2,"mod":7,"base64":""}"#), "{text}");
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_seen() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("export");
        let text = written(&path, &[key("/registry/a", b"{\"a\":1}"), key("/registry/b", b"plain")]);
        for at in 0..text.len() {
            std::fs::write(&path, &text[..at]).unwrap();
            assert!(read(&path).is_err(), "cut at {at}");
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            std::fs::write(&path, flipped).unwrap();
            assert!(read(&path).is_err(), "flipped byte {at}: {}", &text[at..]);
        }
    }

    /// Changes a file and corrects its checksum, as an operator who edits it can.
    fn edited(path: &Path, change: impl Fn(&str) -> String) {
        let text = std::fs::read_to_string(path).unwrap();
        let (lines, last) = text.trim_end().rsplit_once('\n').unwrap();
        let lines = change(&format!("{lines}\n"));
        let digest = ring::digest::digest(&SHA256, lines.as_bytes());
        let (front, _) = last.split_once("\"sha256\"").unwrap();
        let last = format!("{front}\"sha256\":\"{}\"}}\n", hexadecimal(digest.as_ref()));
        std::fs::write(path, lines + &last).unwrap();
    }

    #[test]
    fn impossible_lines_are_refused_even_with_the_right_checksum() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("export");
        let keys = [key("/registry/a", b"{\"a\":1}"), key("/registry/b", b"plain")];
        let change = |from: &'static str, to: &'static str| move |text: &str| text.replace(from, to);
        for (from, to, expected) in [
            ("\"a\":1", "\"a\":2", None),
            ("/registry/b", "/registry/a", Some("line 3: the key does not come after")),
            ("/registry/a", "/other/a", Some("line 2: the key does not have the prefix")),
            ("\"revision\":9", "\"revision\":6", Some("line 2: the revisions contradict")),
            ("\"create\":2", "\"create\":8", Some("line 2: the revisions contradict")),
            ("\"revision\":9", "\"revision\":9223372036854775808", Some("line 1: the revisions")),
            ("\"create\"", "\"new\":1,\"create\"", Some("line 2: the line cannot be read")),
            ("{\"key\":\"/registry/a\"", "{\"key\":\"/registry/a", Some("line 2: the line cannot be read")),
            (
                "\"version\":1",
                "\"version\":2",
                Some("is an export of format 2, and this program reads up to format 1"),
            ),
            ("orlop-export", "other", Some("is no export of a store")),
        ] {
            written(&path, &keys);
            edited(&path, change(from, to));
            match (read(&path), expected) {
                (Ok(_), None) => {}
                (Err(error), Some(expected)) => {
                    assert!(error.to_string().contains(expected), "{to}: {error}");
                }
                (outcome, _) => panic!("{to}: {outcome:?}"),
            }
        }
        let whole = written(&path, &keys);
        let lines: Vec<&str> = whole.lines().filter(|line| !line.contains("/b")).collect();
        let without_a_line = lines.join(
            "
",
        ) + "
";
        for (text, expected) in [
            (without_a_line, "line 3: the number of keys is another one"),
            (format!("{whole}{{}}\n"), "line 4: lines follow the last one"),
            ("ORLOPBK1\0\0".to_owned(), "a backup is read by `apiserver storage restore`"),
            (String::new(), "is no export of a store"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
