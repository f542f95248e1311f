//! Questions of a move about the store that it follows, and their answers: a page of keys at a revision, or the changes after one.
//!
//! A question and an answer are a length of 4 bytes and that many bytes:
//!
//! | bytes of a question | content |
//! |---|---|
//! | 1 | its kind: 0 a page, 1 changes |
//! | 8 | the revision that is read, 0 for the newest one; or the revision after which changes are wanted |
//! | 4 | the time for which changes are waited for, in milliseconds |
//! | 4 + … | the key that the range begins with |
//! | 4 + … | the key that ends the range |
//!
//! | bytes of an answer | content |
//! |---|---|
//! | 1 | 0 found, 1 compacted, 2 failed; the reason follows as text |
//! | 8 | the revision that is read; or the one up to which all changes have been returned |
//! | 8 | the newest revision of the store |
//! | 8 + 4 + … | per record: its revision, its length, its bytes |
//!
//! All numbers are big-endian. An answer has about a megabyte, or one record: further keys and changes are asked for.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::super::index::Found as FoundKeys;
use super::super::log_error::LogError;
use super::super::record::Record;
use super::super::state::SharedEngine;
use super::super::{MvccError, Revision};

/// Number of keys that are examined for a page at once.
const PAGE_KEYS: usize = 512;
/// Size of the records of a page at which it ends, in bytes.
const PAGE_BYTES: usize = 1024 * 1024;
/// Maximum length of a question, in bytes: its keys are no longer than a record.
const MAX_QUESTION_BYTES: u32 = 8 * 1024 * 1024;
/// Maximum length of an answer, in bytes; a longer one is damage.
const MAX_ANSWER_BYTES: u32 = 1 << 30;

/// A question of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Question {
    pub(super) kind: QuestionKind,
    pub(super) start: String,
    pub(super) end: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionKind {
    /// The keys at a revision, 0 for the newest one; none if the range has no more.
    Page { at: Revision },
    /// The changes after a revision, which are waited for.
    Changes { after: Revision, wait: Duration },
}

/// The answer to a question.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Answer {
    Found(Found),
    /// The history that is needed was compacted, or the store is another one.
    Compacted,
    /// The store cannot be read.
    Failed(String),
}

/// Records that were found.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Found {
    pub(super) revision: Revision,
    pub(super) newest: Revision,
    pub(super) records: Vec<Record<String>>,
}

/// Answers a question about a store.
pub(in super::super) async fn answer(shared: &Arc<SharedEngine>, question: Question) -> Answer {
    if let QuestionKind::Changes { after, wait } = question.kind {
        let mut head = shared.head.subscribe();
        // Without changes the answer says so.
        let _ = timeout(wait, head.wait_for(|head| head.revision > after || head.is_closed)).await;
    }
    let shared = shared.clone();
    let found = tokio::task::spawn_blocking(move || match question.kind {
        QuestionKind::Page { at } => shared.moving_page(&question.start, &question.end, at),
        QuestionKind::Changes { after, .. } => shared.moving_changes(&question.start, &question.end, after),
    });
    match found.await {
        Ok(Ok(found)) => Answer::Found(found),
        Ok(Err(MvccError::Compacted { .. } | MvccError::FutureRevision { .. })) => Answer::Compacted,
        Ok(Err(error)) => Answer::Failed(error.to_string()),
        Err(panic) => Answer::Failed(panic.to_string()),
    }
}

// === impl SharedEngine ===

impl SharedEngine {
    /// Reads the first keys of a range at a revision.
    fn moving_page(&self, start: &str, end: &str, at: Revision) -> Result<Found, MvccError> {
        let newest = self.read().current;
        let at = if at == 0 { newest } else { at };
        if at > newest {
            return Err(MvccError::FutureRevision { requested: at, current: newest });
        }
        let mut found = FoundKeys::at_most(0);
        let mut last = None;
        loop {
            let from = last.as_deref().map_or(Bound::Included(start), Bound::Excluded);
            let state = self.read();
            state.refuse_compacted(at)?;
            let next = state.index.find(from, end, at, PAGE_KEYS, &mut found);
            drop(state);
            if next.is_none() || !found.keys.is_empty() {
                break;
            }
            last = next;
        }
        let (mut records, mut bytes) = (Vec::new(), 0);
        for (key, revision) in found.keys {
            let Some(record) = self.record(revision)? else {
                self.read().refuse_compacted(at)?;
                return Err(LogError::Damaged(format!("the record of {key} is missing")).into());
            };
            bytes += record.key.len() + record.value.len();
            records.push(record);
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(Found { revision: at, newest, records })
    }

    /// Reads the first changes of a range after a revision.
    fn moving_changes(&self, start: &str, end: &str, after: Revision) -> Result<Found, MvccError> {
        let newest = self.read().current;
        if after > newest {
            return Err(MvccError::FutureRevision { requested: after, current: newest });
        }
        self.read().refuse_compacted(after)?;
        if after == newest {
            return Ok(Found { revision: after, newest, records: Vec::new() });
        }
        let (revision, records) = self.records_after(after, newest, start, end)?;
        Ok(Found { revision, newest, records })
    }
}

// === impl Question ===

impl Question {
    /// Reads the next question; `None` at the end.
    pub(in super::super) async fn read(stream: &mut UnixStream) -> std::io::Result<Option<Self>> {
        let bytes = match read_frame(stream, MAX_QUESTION_BYTES).await {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            bytes => bytes?,
        };
        Self::decode(&bytes).map(Some).ok_or_else(|| malformed("question"))
    }

    fn encode(&self) -> std::io::Result<Vec<u8>> {
        let (kind, revision, wait) = match self.kind {
            QuestionKind::Page { at } => (0, at, Duration::ZERO),
            QuestionKind::Changes { after, wait } => (1, after, wait),
        };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&revision.to_be_bytes());
        bytes.extend_from_slice(&u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).to_be_bytes());
        for text in [&self.start, &self.end] {
            bytes.extend_from_slice(&length(text.len())?.to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (revision, rest) = rest.split_first_chunk()?;
        let (wait, rest) = rest.split_first_chunk()?;
        let revision = Revision::from_be_bytes(*revision);
        let wait = Duration::from_millis(u32::from_be_bytes(*wait).into());
        let kind = match kind {
            0 => QuestionKind::Page { at: revision },
            1 => QuestionKind::Changes { after: revision, wait },
            _ => return None,
        };
        let (start, rest) = split_counted(rest)?;
        let (end, rest) = split_counted(rest)?;
        let text = |bytes: &[u8]| str::from_utf8(bytes).ok().map(str::to_owned);
        rest.is_empty().then_some(Self { kind, start: text(start)?, end: text(end)? })
    }

    /// Asks it at the other end of a connection.
    pub(super) async fn ask(&self, stream: &mut UnixStream) -> std::io::Result<Answer> {
        write_frame(stream, &self.encode()?).await?;
        let bytes = Bytes::from(read_frame(stream, MAX_ANSWER_BYTES).await?);
        Answer::decode(&bytes).ok_or_else(|| malformed("answer"))
    }
}

// === impl Answer ===

impl Answer {
    pub(in super::super) async fn write(&self, stream: &mut UnixStream) -> std::io::Result<()> {
        write_frame(stream, &self.encode()?).await
    }

    fn encode(&self) -> std::io::Result<Vec<u8>> {
        let found = match self {
            Self::Found(found) => found,
            Self::Compacted => return Ok(vec![1]),
            Self::Failed(reason) => return Ok([&[2], reason.as_bytes()].concat()),
        };
        let mut bytes = vec![0];
        bytes.extend_from_slice(&found.revision.to_be_bytes());
        bytes.extend_from_slice(&found.newest.to_be_bytes());
        for record in &found.records {
            let encoded = record.encode();
            bytes.extend_from_slice(&record.revision.to_be_bytes());
            bytes.extend_from_slice(&length(encoded.len())?.to_be_bytes());
            bytes.extend_from_slice(&encoded);
        }
        Ok(bytes)
    }

    fn decode(bytes: &Bytes) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            0 => {}
            1 => return rest.is_empty().then_some(Self::Compacted),
            2 => return Some(Self::Failed(String::from_utf8_lossy(rest).into_owned())),
            _ => return None,
        }
        let (revision, rest) = rest.split_first_chunk()?;
        let (newest, mut rest) = rest.split_first_chunk()?;
        let mut records = Vec::new();
        while !rest.is_empty() {
            let (revision, after) = rest.split_first_chunk()?;
            let (record, after) = split_counted(after)?;
            let record = Record::decode(Revision::from_be_bytes(*revision), &bytes.slice_ref(record));
            records.push(record.ok()?);
            rest = after;
        }
        let (revision, newest) = (Revision::from_be_bytes(*revision), Revision::from_be_bytes(*newest));
        Some(Self::Found(Found { revision, newest, records }))
    }
}

/// Returns the bytes behind their number, and the rest.
fn split_counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn length(bytes: usize) -> std::io::Result<u32> {
    u32::try_from(bytes).map_err(std::io::Error::other)
}

async fn write_frame(stream: &mut UnixStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(&length(bytes.len())?.to_be_bytes()).await?;
    stream.write_all(bytes).await
}

async fn read_frame(stream: &mut UnixStream, max_bytes: u32) -> std::io::Result<Vec<u8>> {
    let length = stream.read_u32().await?;
    if length > max_bytes {
        return Err(malformed("length"));
    }
    let mut bytes = Vec::new();
    // Grows with the actual content.
    let read = stream.take(length.into()).read_to_end(&mut bytes).await?;
    if read as u64 == u64::from(length) { Ok(bytes) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

fn malformed(part: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, format!("the {part} is malformed"))
}

#[cfg(test)]
mod tests {
    use super::super::super::record::Kind;
    use super::*;

    #[test]
    fn questions_and_answers_survive_the_way_and_parts_of_them_are_refused() {
        for kind in [
            QuestionKind::Page { at: 7 },
            QuestionKind::Changes { after: 1 << 40, wait: Duration::from_millis(200) },
        ] {
            let question = Question { kind, start: "/registry/".to_owned(), end: "/registry0".to_owned() };
            let bytes = question.encode().unwrap();
            assert_eq!(Question::decode(&bytes), Some(question));
            assert!((0..bytes.len()).all(|cut| Question::decode(&bytes[..cut]).is_none()));
        }
        let record = Record {
            kind: Kind::Put,
            revision: 7,
            create_revision: 5,
            previous_revision: 6,
            expires_at_seconds: 0,
            key: "/registry/a".to_owned(),
            value: Bytes::from_static(b"value"),
        };
        let found = Answer::Found(Found { revision: 7, newest: 9, records: vec![record.clone(), record] });
        for answer in [found, Answer::Compacted, Answer::Failed("reason".to_owned())] {
            let bytes = Bytes::from(answer.encode().unwrap());
            assert_eq!(Answer::decode(&bytes).as_ref(), Some(&answer));
            let is_text = matches!(answer, Answer::Failed(_));
            // A part that ends with a record is an answer too; the length before it says that it is none.
            let parts = (0..bytes.len()).filter(|cut| Answer::decode(&bytes.slice(..*cut)).is_some());
            assert!(parts.count() <= if is_text { bytes.len() } else { 2 });
        }
    }
}
