//! The file of an export: lines of JSON.
//!
//! | line | content |
//! |---|---|
//! | first | `{"format":"orlop-export","version":1,"prefix":"/registry/","revision":7,"server":"…","written":"…"}` |
//! | a key | `{"key":"…","create":3,"mod":5,"expires":1767225600,"value":{…}}` |
//! | last | `{"end":true,"keys":1,"sha256":"…"}`, the checksum of all lines before |
//!
//! Keys ascend. `create` and `mod` are revisions; `expires`, in seconds since 1970, is there for keys with a time to live. `value`
//! is the stored value, byte for byte, if it is JSON on one line; any other is `base64`, also JSON with a line feed at its end, by
//! which servers recognise what Go's encoder wrote. A file that has been cut short has no last line; one that has been edited does
//! not match its checksum (`head -n -1 FILE | sha256sum`).

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::Revision;

mod reader;
mod writer;

pub(super) use reader::Reader;
pub(super) use writer::Writer;

const FORMAT: &str = "orlop-export";
/// The version of the format that is written, and the newest one that is read.
const VERSION: u64 = 1;
/// The last field of a key whose value is JSON, and of another one.
const JSON_FIELD: &[u8] = b",\"value\":";
const BASE64_FIELD: &[u8] = b",\"base64\":\"";

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
    #[error("{} is not an export of a store: `apiserver storage export` writes one, and a backup is read by `apiserver storage restore`", .0.display())]
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bytes::Bytes;
    use ring::digest::SHA256;

    use super::*;
    use crate::moving_key::MovingKey;

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
            ("orlop-export", "other", Some("is not an export of a store")),
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
        let without_a_line = lines.join("\n") + "\n";
        for (text, expected) in [
            (without_a_line, "line 3: the number of keys is another one"),
            (format!("{whole}{{}}\n"), "line 4: lines follow the last one"),
            ("ORLOPBK1\0\0".to_owned(), "a backup is read by `apiserver storage restore`"),
            (String::new(), "is not an export of a store"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
