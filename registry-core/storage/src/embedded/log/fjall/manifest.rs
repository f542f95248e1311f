//! Checks that the files of a fjall database are complete before fjall opens them.
//!
//! fjall treats a missing file as a creation that a crash interrupted: it removes a keyspace without `current`, and
//! all keyspaces if the keyspace that lists them is missing. It writes the checksums of its manifests but does not
//! verify them, and trusts the table lists and lengths of a damaged manifest. A log is created under another name and
//! renamed when it is complete, so that here every missing file is damage.
//!
//! | file | content |
//! |---|---|
//! | `version` | `FJL\x03` |
//! | `lock` | nothing; locked while the database is open |
//! | `<number>.jnl` | journals, numbered without a gap; see [`journal`](super::journal) |
//! | `keyspaces/0/` | the names of the other keyspaces |
//! | `keyspaces/<number>/` | the log's only keyspace |
//! | `keyspaces/*/current` | names the manifest: version (8, little-endian), XXH3 with 128 bits of the manifest (16), checksum type (1) |
//! | `keyspaces/*/v<version>` | the manifest: an archive whose section `tables` lists the tables |
//! | `keyspaces/*/tables/<number>` | a table |

use std::io::{Cursor, ErrorKind};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::embedded::log_error::{AccessError, LogError};

/// The beginning of the file `version`, and the version of the format, which follows it.
const FORMAT: &[u8] = b"FJL";
const FORMAT_VERSION: u8 = 3;

/// The keyspace with the names of the others.
const META_KEYSPACE: u64 = 0;

/// Bytes of a table in a manifest: its number (8), checksum type (1), checksum (16), sequence number (8).
const TABLE_BYTES: usize = 8 + 1 + 16 + 8;

/// Returns the files of the database that are missing or differ from what was written. Changes nothing.
pub(super) fn problems(database: &Path) -> Vec<LogError> {
    let mut problems: Vec<LogError> = verify_version(database).err().into_iter().collect();
    let mut keyspaces = match keyspaces(&database.join("keyspaces")) {
        Ok(keyspaces) => keyspaces,
        Err(error) => {
            problems.push(error);
            return problems;
        }
    };
    keyspaces.sort();
    match &keyspaces[..] {
        [(META_KEYSPACE, _), _] => {}
        [(META_KEYSPACE, _), _, (_, path), ..] => problems.push(damaged(path, "belongs to no store")),
        [(META_KEYSPACE, _)] => {
            problems.push(damaged(&database.join("keyspaces"), "lacks the keyspace with the records"));
        }
        _ => problems.push(damaged(&database.join("keyspaces/0"), "is missing")),
    }
    for (_, path) in keyspaces {
        match listed_tables(&path) {
            Ok(tables) => problems.extend(tables.iter().filter_map(|table| verify_table(table).err())),
            Err(error) => problems.push(error),
        }
    }
    problems
}

fn verify_version(database: &Path) -> Result<(), LogError> {
    let version = database.join("version");
    match read(&version)?.strip_prefix(FORMAT) {
        Some([FORMAT_VERSION]) => Ok(()),
        Some([other]) => {
            let version = version.display();
            Err(LogError::OtherVersion(format!("{version} names format {other} instead of {FORMAT_VERSION}")))
        }
        _ => Err(damaged(&version, "has not the content that it was written with")),
    }
}

fn keyspaces(directory: &Path) -> Result<Vec<(u64, PathBuf)>, LogError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| failed(directory, error))? {
        let path = entry.map_err(|error| failed(directory, error))?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let Some(number) = number {
            found.push((number, path));
        } else {
            return Err(damaged(&path, "belongs to no store"));
        }
    }
    Ok(found)
}

/// Returns the paths of the tables that the manifest of a keyspace lists.
fn listed_tables(keyspace: &Path) -> Result<Vec<PathBuf>, LogError> {
    let current = keyspace.join("current");
    let content = read(&current)?;
    let Some((version, checksum)) = content.split_first_chunk::<8>() else {
        return Err(damaged(&current, "is cut short"));
    };
    let path = keyspace.join(format!("v{}", u64::from_le_bytes(*version)));
    let manifest = read(&path)?;
    if checksum.strip_suffix(&[0]) != Some(&xxh3_128(&manifest).to_le_bytes()[..]) {
        let text = format!("does not match its checksum in {}", current.display());
        return Err(damaged(&path, &text));
    }
    let tables = tables(&manifest).ok_or_else(|| damaged(&path, "cannot be read"))?;
    Ok(tables.into_iter().map(|number| keyspace.join(format!("tables/{number}"))).collect())
}

fn verify_table(table: &Path) -> Result<(), LogError> {
    let metadata = table.metadata().map_err(|error| failed(table, error))?;
    if metadata.is_file() && metadata.len() > 0 { Ok(()) } else { Err(damaged(table, "is empty")) }
}

/// Returns the numbers of the tables that a manifest lists: per level its runs, per run its tables.
fn tables(manifest: &[u8]) -> Option<Vec<u64>> {
    let archive = sfa::Reader::from_reader(&mut Cursor::new(manifest)).ok()?;
    let section = archive.toc().section(b"tables")?;
    let rest = manifest.get(usize::try_from(section.pos()).ok()?..)?;
    let (levels, mut rest) = rest.split_first()?;
    let mut numbers = Vec::new();
    for _ in 0..*levels {
        let (runs, behind) = rest.split_first()?;
        rest = behind;
        for _ in 0..*runs {
            let (tables, behind) = rest.split_first_chunk::<4>()?;
            rest = behind;
            for _ in 0..u32::from_le_bytes(*tables) {
                numbers.push(u64::from_le_bytes(*rest.first_chunk::<8>()?));
                rest = rest.get(TABLE_BYTES..)?;
            }
        }
    }
    Some(numbers)
}

fn read(path: &Path) -> Result<Vec<u8>, LogError> {
    std::fs::read(path).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: std::io::Error) -> LogError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            damaged(path, "is missing")
        }
        _ => LogError::Io(AccessError::file(path, error)),
    }
}

fn damaged(path: &Path, what: &str) -> LogError {
    LogError::Damaged(format!("{} {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::log::Log as _;

    #[test]
    fn all_damaged_files_are_named() {
        let home = tempfile::tempdir().unwrap();
        super::super::tests::log_with_tables(home.path()).close();
        let database = home.path().join("log");
        assert!(problems(&database).is_empty(), "{:?}", problems(&database));
        let [table, ..] = &listed_tables(&database.join("keyspaces/1")).unwrap()[..] else {
            panic!("no table")
        };
        std::fs::write(table, "").unwrap();
        std::fs::remove_file(database.join("version")).unwrap();
        std::fs::write(database.join("keyspaces/0/current"), "short").unwrap();
        let found: Vec<String> = problems(&database).iter().map(ToString::to_string).collect();
        let ends = ["version is missing", "keyspaces/0/current is cut short", " is empty"];
        assert!(
            found.len() == 3 && found.iter().zip(ends).all(|(text, end)| text.ends_with(end)),
            "{found:?}"
        );
    }

    #[test]
    fn manifests_of_fjall_are_read() {
        let home = tempfile::tempdir().unwrap();
        let log = super::super::tests::log_with_tables(home.path());
        let keyspace = home.path().join("log/keyspaces/1");
        let read = || {
            let current = std::fs::read(keyspace.join("current")).unwrap();
            let version = u64::from_le_bytes(current[..8].try_into().unwrap());
            let manifest = std::fs::read(keyspace.join(format!("v{version}"))).ok()?;
            let mut listed = tables(&manifest).unwrap();
            listed.sort_unstable();
            let mut present: Vec<u64> = std::fs::read_dir(keyspace.join("tables"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
                .collect();
            present.sort_unstable();
            Some((listed, present))
        };
        // The log compacts its tables in the background: they may change between two reads.
        let begun = std::time::Instant::now();
        loop {
            let seen = read();
            if seen.as_ref().is_some_and(|(listed, present)| !listed.is_empty() && listed == present) {
                break;
            }
            assert!(begun.elapsed() < std::time::Duration::from_secs(10), "listed and present: {seen:?}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        log.close();
    }
}
