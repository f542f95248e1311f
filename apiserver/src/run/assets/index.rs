//! The index of archives that setup-envtest and envtest read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;

use registry_core::codec::{DecodeError, Limits, yaml};
use registry_core::durable_file;
use serde_json::Value;

use crate::run::error::CommandError;

/// An archive in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Archive {
    /// Its SHA-512 in hexadecimal digits.
    pub(super) hash: String,
    /// Its URL.
    pub(super) link: String,
}

/// Archives by version and name.
type Releases = BTreeMap<String, BTreeMap<String, Archive>>;

/// An index, as it is in a file.
pub(super) struct Index {
    path: PathBuf,
    releases: Releases,
}

// === impl Index ===

impl Index {
    /// Reads an index, which is empty if there is no file.
    ///
    /// # Errors
    /// Fails if the file is not an index, or cannot be read.
    pub(super) fn open(path: PathBuf) -> Result<Self, CommandError> {
        let releases = match std::fs::read(&path) {
            Ok(text) => read(&text)
                .map_err(|error| CommandError::Index { path: path.clone(), source: error.into() })?,
            Err(error) if error.kind() == ErrorKind::NotFound => Releases::new(),
            Err(source) => return Err(CommandError::Read { path, source }),
        };
        Ok(Self { path, releases })
    }

    /// Adds an archive, and writes the file. Archives of other versions and platforms stay.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn add(mut self, version: &str, name: &str, archive: Archive) -> Result<(), CommandError> {
        self.releases.entry(version.to_owned()).or_default().insert(name.to_owned(), archive);
        let written = durable_file::write(&self.path, text(&self.releases).as_bytes());
        written.map_err(CommandError::write(&self.path))
    }
}

/// Error of a file that is not an index.
#[derive(Debug, thiserror::Error)]
enum IndexError {
    #[error(transparent)]
    Syntax(#[from] DecodeError),
    #[error("it is not an index of archives")]
    NoIndex,
    #[error("an archive has no hash or selfLink")]
    NoHash,
}

fn read(text: &[u8]) -> Result<Releases, IndexError> {
    let index = yaml::decode(text, &Limits::default())?.value;
    let entries = |value: &Value| value.as_object().cloned().ok_or(IndexError::NoIndex);
    let mut releases = Releases::new();
    for (version, archives) in entries(index.get("releases").unwrap_or(&Value::Null))? {
        let release = releases.entry(version).or_default();
        for (name, archive) in entries(&archives)? {
            let field = |name: &str| archive.get(name).and_then(Value::as_str).map(str::to_owned);
            let (hash, link) = field("hash").zip(field("selfLink")).ok_or(IndexError::NoHash)?;
            release.insert(name, Archive { hash, link });
        }
    }
    Ok(releases)
}

fn text(releases: &Releases) -> String {
    let mut text = "releases:\n".to_owned();
    // A text of JSON is one of YAML too. Writing to a string cannot fail.
    let quoted = |text: &str| Value::from(text).to_string();
    for (version, archives) in releases {
        let _ = writeln!(text, "  {}:", quoted(version));
        for (name, Archive { hash, link }) in archives {
            let (name, hash, link) = (quoted(name), quoted(hash), quoted(link));
            let _ = writeln!(text, "    {name}:\n      hash: {hash}\n      selfLink: {link}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_added_to_an_index_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("envtest-releases.yaml");
        let archive = |hash: &str, link: &str| Archive { hash: hash.to_owned(), link: link.to_owned() };
        for (version, name, archive) in [
            ("v1.36.2", "a.tar.gz", archive("00", "http://127.0.0.1/\"a: b")),
            ("v1.36.2", "b.tar.gz", archive("01", "b")),
            ("v1.36.3", "a.tar.gz", archive("02", "c")),
            ("v1.36.2", "b.tar.gz", archive("03", "d")),
        ] {
            Index::open(path.clone()).unwrap().add(version, name, archive).unwrap();
        }
        let releases = read(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(releases["v1.36.2"]["a.tar.gz"], archive("00", "http://127.0.0.1/\"a: b"));
        assert_eq!(releases["v1.36.2"]["b.tar.gz"], archive("03", "d"));
        assert_eq!(releases["v1.36.3"].len(), 1);
    }

    #[test]
    fn a_file_that_is_no_index_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("envtest-releases.yaml");
        for text in ["", "[]", "releases: 1", "releases: {v1: {a: {hash: b}}}", "a: [", "releases: {v1: []}"]
        {
            std::fs::write(&path, text).unwrap();
            assert!(Index::open(path.clone()).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
