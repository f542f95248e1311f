//! Verifies fjall's journals before fjall reads them. fjall treats a batch that does not parse as the end of the
//! journal and truncates the file there. After a crash that is correct: the batch being written is torn, and nothing
//! follows it. If whole batches follow, the file is damaged, and truncation would destroy the remaining data.
//!
//! The format (3, little-endian): a batch is `1`, item count (4), sequence number (8); items, each `2`, type (1),
//! compression (1), keyspace (8), key length (2), value length (4), length at rest (4), key, value; or `4`, keyspace
//! (8); and the end, `3`, XXH3 of the items (8), `FJL\x03`. Journals are preallocated with zeros.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::embedded::log_error::{AccessError, LogError};

const TRAILER: &[u8] = b"FJL\x03";

/// Maximum size of a batch with its neighbours, in bytes: the distance searched for further batches after a broken
/// one.
const SEARCH_BYTES: usize = 16 * 1024 * 1024;

/// Size of the blocks in which zeros are skipped, in bytes.
const BLOCK_BYTES: usize = 4096;

/// Size of one read of a journal, in bytes.
const READ_BYTES: usize = 256 * 1024;

/// Returns the journals that are missing, or broken before their end. Changes nothing.
pub(super) fn problems(database: &Path) -> Vec<LogError> {
    let mut numbers = match numbers(database) {
        Ok(numbers) => numbers,
        Err(error) => return vec![error],
    };
    numbers.sort_unstable();
    if numbers.is_empty() {
        return vec![LogError::Damaged(format!("{} has no journal", database.display()))];
    }
    let path = |number: u64| database.join(format!("{number}.jnl"));
    let mut problems: Vec<LogError> =
        numbers.iter().filter_map(|number| verify_journal(&path(*number)).err()).collect();
    // Journals are created at the end and removed from the start.
    let gaps = numbers.iter().zip(numbers.iter().skip(1)).filter(|(number, next)| **number + 1 != **next);
    problems.extend(
        gaps.map(|(number, _)| LogError::Damaged(format!("{} is missing", path(number + 1).display()))),
    );
    problems
}

/// Returns the numbers of the journals.
fn numbers(database: &Path) -> Result<Vec<u64>, LogError> {
    let io = |error| LogError::Io(AccessError::file(database, error));
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(database).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
            let belongs = number.filter(|number| path.ends_with(format!("{number}.jnl")));
            let foreign = || LogError::Damaged(format!("{} belongs to no store", path.display()));
            numbers.push(belongs.ok_or_else(foreign)?);
        }
    }
    Ok(numbers)
}

/// Writes what the journals contain once more, at the same places, and flushes it to disk.
///
/// After a flush that failed, the operating system shows what it was given, but counts it as flushed: it may be on the disk or not,
/// and later flushes succeed without it.
pub(super) fn write_again(database: &Path) -> Result<(), LogError> {
    for number in numbers(database)? {
        let path = database.join(format!("{number}.jnl"));
        rewrite(&path).map_err(|error| LogError::Io(AccessError::file(&path, error)))?;
    }
    Ok(())
}

fn rewrite(path: &Path) -> std::io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut block = vec![0; READ_BYTES];
    let mut offset = 0;
    loop {
        let read = match file.read_at(&mut block, offset) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(part) = block.get(..read).filter(|part| !part.is_empty()) else { break };
        // Zeros were there before anything was written.
        if !is_zero(part) {
            file.write_all_at(part, offset)?;
        }
        offset += read as u64;
    }
    file.sync_all()
}

fn verify_journal(path: &Path) -> Result<(), LogError> {
    let outcome = File::open(path).map_err(Problem::Io).and_then(verify_batches);
    outcome.map_err(|problem| match problem {
        Problem::Io(error) => LogError::Io(AccessError::file(path, error)),
        Problem::Damage(problem) => LogError::Damaged(format!("{} {problem}", path.display())),
    })
}

/// Reads a journal without the zeros at its end.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    File::open(path).and_then(read_written)
}

/// Reads a journal without the zeros at its end, usually tens of megabytes.
fn read_written(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut written = Vec::new();
    let mut block = vec![0; READ_BYTES];
    let mut zeros = 0;
    loop {
        let read = match file.read(&mut block) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(part) = block.get(..read).filter(|part| !part.is_empty()) else { return Ok(written) };
        if is_zero(part) {
            zeros += read;
        } else {
            written.resize(written.len() + std::mem::take(&mut zeros), 0);
            written.extend_from_slice(part);
        }
    }
}

/// Whether all bytes are zero, without a branch per byte.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

/// Reads one batch at a time: a journal may be larger than the server's memory.
fn verify_batches(source: impl Read) -> Result<(), Problem> {
    let mut window = Window::over(source);
    let mut sequence = None;
    loop {
        if let Some((number, behind)) = split_batch(window.rest()) {
            if sequence.is_some_and(|before| number <= before) {
                return Err(Problem::Damage(format!("is out of order at byte {}", window.offset)));
            }
            sequence = Some(number);
            let batch_bytes = window.rest().len() - behind.len();
            window.consume(batch_bytes);
        } else if !window.may_be_batch() || !window.read_more()? {
            break;
        }
    }
    let broken_at = window.offset;
    while window.read_more()? {
        if is_zero(window.rest()) {
            window.consume(window.rest().len());
        }
        if window.offset - broken_at + window.rest().len() >= SEARCH_BYTES {
            break;
        }
    }
    if has_batch(window.rest()) {
        return Err(Problem::Damage(format!(
            "is broken at byte {broken_at}, with whole batches behind that"
        )));
    }
    Ok(())
}

/// The problem of a journal.
#[derive(Debug)]
enum Problem {
    Io(std::io::Error),
    Damage(String),
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// The part of a journal being examined.
struct Window<R> {
    source: R,
    bytes: Vec<u8>,
    /// Number of the bytes examined.
    consumed: usize,
    /// The offset of the rest in the journal.
    offset: usize,
}

// === impl Window ===

impl<R: Read> Window<R> {
    fn over(source: R) -> Self {
        Self { source, bytes: Vec::new(), consumed: 0, offset: 0 }
    }

    /// Returns the bytes that are read and not yet examined.
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.consumed..).unwrap_or_default()
    }

    /// Whether the rest may become a batch with more bytes.
    fn may_be_batch(&self) -> bool {
        self.rest().first().is_none_or(|first| *first == 1) && self.rest().len() < SEARCH_BYTES
    }

    fn consume(&mut self, bytes: usize) {
        self.consumed += bytes;
        self.offset += bytes;
    }

    /// Reads more bytes; `false` at the end.
    fn read_more(&mut self) -> std::io::Result<bool> {
        self.bytes.drain(..std::mem::take(&mut self.consumed));
        let before = self.bytes.len();
        self.source.by_ref().take(READ_BYTES as u64).read_to_end(&mut self.bytes)?;
        Ok(self.bytes.len() > before)
    }
}

/// Splits off a complete and valid batch: returns its sequence number, and the bytes after it.
fn split_batch(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (count, rest) = bytes.strip_prefix(&[1])?.split_first_chunk::<4>()?;
    let (sequence, items) = rest.split_first_chunk::<8>()?;
    let mut rest = items;
    for _ in 0..u32::from_le_bytes(*count) {
        rest = skip_item(rest)?;
    }
    let items = items.get(..items.len() - rest.len())?;
    let (checksum, rest) = rest.strip_prefix(&[3])?.split_first_chunk::<8>()?;
    let behind = rest.strip_prefix(TRAILER)?;
    let is_sound = xxh3_64(items) == u64::from_le_bytes(*checksum);
    is_sound.then_some((u64::from_le_bytes(*sequence), behind))
}

fn skip_item(bytes: &[u8]) -> Option<&[u8]> {
    if let Some(cleared) = bytes.strip_prefix(&[4]) {
        return cleared.get(8..);
    }
    let rest = bytes.strip_prefix(&[2])?.get(1 + 1 + 8..)?;
    let (key_length, rest) = rest.split_first_chunk::<2>()?;
    let (length_at_rest, rest) = rest.get(4..)?.split_first_chunk::<4>()?;
    let value_length = usize::try_from(u32::from_le_bytes(*length_at_rest)).ok()?;
    rest.get(usize::from(u16::from_le_bytes(*key_length)).checked_add(value_length)?..)
}

/// Whether there is a complete batch at any offset.
fn has_batch(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (block, behind) = rest.split_at(BLOCK_BYTES.min(rest.len()));
        if !is_zero(block) && (0..block.len()).any(|at| rest.get(at..).and_then(split_batch).is_some()) {
            return true;
        }
        rest = behind;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(sequence: u64, value: &[u8]) -> Vec<u8> {
        let mut item = vec![2, 0, 0];
        item.extend_from_slice(&1_u64.to_le_bytes());
        item.extend_from_slice(&3_u16.to_le_bytes());
        let length = u32::try_from(value.len()).unwrap().to_le_bytes();
        item.extend_from_slice(&[length, length].concat());
        item.extend_from_slice(b"key");
        item.extend_from_slice(value);
        let head = [&[1, 1, 0, 0, 0], &sequence.to_le_bytes()[..]].concat();
        [&head[..], &item, &[3], &xxh3_64(&item).to_le_bytes(), TRAILER].concat()
    }

    #[test]
    fn a_torn_end_is_fine_and_anything_broken_before_it_is_not() {
        let first = batch(1, &[b'x'; 500]);
        let second = batch(2, b"second");
        let whole = [&first[..], &second, &[0; 1000]].concat();
        verify_batches(&whole[..]).unwrap();
        for cut in 0..first.len() + second.len() {
            verify_batches(&whole[..cut]).unwrap();
            let torn = [&whole[..cut], &vec![0; whole.len() - cut][..]].concat();
            verify_batches(&torn[..]).unwrap();
        }
        // The sequence number of a batch has no checksum, only its order.
        for at in (0..first.len()).filter(|at| !(5..13).contains(at)) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x20;
            assert!(verify_batches(&flipped[..]).is_err(), "byte {at}");
        }
        assert!(verify_batches(&[&second[..], &first].concat()[..]).is_err());
    }

    #[test]
    fn journals_are_written_again_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let content = [&batch(1, &vec![b'x'; READ_BYTES])[..], &vec![0; 3 * READ_BYTES], b"torn"].concat();
        let paths = ["3.jnl", "4.jnl"].map(|name| directory.path().join(name));
        for path in &paths {
            std::fs::write(path, &content).unwrap();
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        write_again(directory.path()).unwrap();
        for path in &paths {
            assert_eq!(std::fs::read(path).unwrap(), content);
            assert_ne!(path.metadata().unwrap().modified().unwrap(), long_ago, "the system has to flush it");
        }
    }

    #[test]
    fn every_missing_journal_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let found = || problems(directory.path()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(found()[0].contains("has no journal"), "{:?}", found());
        for number in [3, 4, 6, 9] {
            std::fs::write(directory.path().join(format!("{number}.jnl")), "").unwrap();
        }
        let [five, seven] = &found()[..] else { panic!("{:?}", found()) };
        assert!(five.ends_with("5.jnl is missing") && seven.ends_with("7.jnl is missing"), "{five} {seven}");
        for number in [5, 7, 8] {
            std::fs::write(directory.path().join(format!("{number}.jnl")), "").unwrap();
        }
        assert!(found().is_empty(), "{:?}", found());
    }

    /// The parser matches the format that this version of fjall writes.
    #[test]
    fn a_journal_of_fjall_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let options = super::super::FjallOptions {
            block_cache_bytes: 1 << 20,
            memtable_bytes: 1 << 20,
            reclaim_bytes_min: 1 << 20,
        };
        let database = directory.path().join("log");
        let open = super::super::Handles::create(&database, options).unwrap();
        for number in 0_u64..20 {
            let mut batch = open.database.batch().durability(Some(fjall::PersistMode::SyncData));
            batch.insert(&open.keyspace, number.to_be_bytes(), vec![b'x'; 3000]);
            batch.remove(&open.keyspace, (number / 2).to_be_bytes());
            batch.commit().unwrap();
        }
        let bytes = std::fs::read(directory.path().join("log/0.jnl")).unwrap();
        let mut rest = &bytes[..];
        let mut batches = 0;
        while let Some((_, behind)) = split_batch(rest) {
            (rest, batches) = (behind, batches + 1);
        }
        assert!(batches >= 20, "{batches}");
        assert!(rest.iter().all(|byte| *byte == 0));
    }
}
