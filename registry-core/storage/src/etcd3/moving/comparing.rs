//! The difference between the keys of a source and those that an import has written, key by key in the order of the keys, with a
//! page of each in memory.

use std::cmp::Ordering;
use std::collections::VecDeque;

use etcd_client::KeyValue;

use super::super::unsigned;
use super::{BATCH_BYTES, BATCH_KEYS, EtcdImport, EtcdMoveError, EtcdReader, text_key};
use crate::moving_key::{KeyPages, MovingKey};

/// The newest state: the destination is written while it is read, behind the place that is read.
const NEWEST: crate::Revision = 0;

/// The keys of the destination that differ from the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The number of keys of the source.
    pub keys: u64,
    /// The number of keys that are missing, surplus, or another value.
    pub different: u64,
    /// The first of them.
    pub first: Option<String>,
}

/// A step of a comparison.
enum Step {
    Same,
    /// The destination does not have the key, or has another value of it.
    Put(MovingKey, Lacking),
    /// The source does not have the key.
    Surplus(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lacking {
    Key,
    Value,
}

struct Comparison<'s, Source> {
    source: &'s mut Source,
    destination: EtcdReader,
    left: VecDeque<MovingKey>,
    right: VecDeque<KeyValue>,
}

// === impl Differences ===

impl Differences {
    fn note(&mut self, key: &str) {
        self.different += 1;
        self.first.get_or_insert_with(|| key.to_owned());
    }
}

// === impl EtcdImport ===

impl EtcdImport {
    /// Writes what differs from the source and removes what it does not have. Returns what differed.
    ///
    /// # Errors
    /// Fails if etcd does, if the source's revision was compacted, or if another import was started over this one.
    pub async fn reconcile<Source: KeyPages<Error: From<EtcdMoveError>>>(
        &mut self,
        source: &mut Source,
        on_progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Differences, Source::Error> {
        let mut differences = Differences::default();
        let mut puts = Vec::new();
        let mut bytes = 0;
        let mut comparison = self.comparison(source);
        while let Some(step) = comparison.next().await? {
            match step {
                Step::Same => differences.keys += 1,
                Step::Put(put, _) => {
                    differences.keys += 1;
                    differences.note(&put.key);
                    bytes += put.size_bytes();
                    puts.push(put);
                }
                Step::Surplus(key) => {
                    differences.note(&key);
                    self.delete(&key).await?;
                }
            }
            if puts.len() >= BATCH_KEYS || bytes >= BATCH_BYTES {
                self.write(&puts).await?;
                puts.clear();
                bytes = 0;
                on_progress(differences.keys);
            }
        }
        self.write(&puts).await?;
        on_progress(differences.keys);
        Ok(differences)
    }

    /// Returns what differs from the source. A key with a time to live may have been deleted already.
    ///
    /// # Errors
    /// Fails if etcd does, or if the source's revision was compacted.
    pub async fn compare<Source: KeyPages<Error: From<EtcdMoveError>>>(
        &self,
        source: &mut Source,
        on_progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Differences, Source::Error> {
        let mut differences = Differences::default();
        let mut comparison = self.comparison(source);
        on_progress(0);
        while let Some(step) = comparison.next().await? {
            match step {
                Step::Same => differences.keys += 1,
                Step::Put(put, lacking) => {
                    differences.keys += 1;
                    if lacking == Lacking::Value || put.expires_at_seconds.is_none() {
                        differences.note(&put.key);
                    }
                }
                Step::Surplus(key) => differences.note(&key),
            }
            if differences.keys % 1024 == 0 {
                on_progress(differences.keys);
            }
        }
        Ok(differences)
    }

    fn comparison<'s, Source>(&self, source: &'s mut Source) -> Comparison<'s, Source> {
        let destination = EtcdReader::at(self.etcd.clone(), &self.prefix, NEWEST);
        Comparison { source, destination, left: VecDeque::new(), right: VecDeque::new() }
    }
}

// === impl Comparison ===

impl<Source: KeyPages<Error: From<EtcdMoveError>>> Comparison<'_, Source> {
    async fn next(&mut self) -> Result<Option<Step>, Source::Error> {
        if self.left.is_empty() {
            self.left = self.source.next_page().await?.into();
        }
        if self.right.is_empty() {
            self.right = self.destination.read_page().await?.into();
        }
        let order = match (self.left.front(), self.right.front()) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.key.as_bytes().cmp(right.key()),
        };
        let left = if order == Ordering::Greater { None } else { self.left.pop_front() };
        let right = if order == Ordering::Less { None } else { self.right.pop_front() };
        Ok(match (left, right) {
            (Some(left), Some(right)) if is_same(&left, &right) => Some(Step::Same),
            (Some(left), Some(_)) => Some(Step::Put(left, Lacking::Value)),
            (Some(left), None) => Some(Step::Put(left, Lacking::Key)),
            (None, Some(right)) => Some(Step::Surplus(text_key(right.key())?)),
            (None, None) => None,
        })
    }
}

/// Whether a key arrived. Its revision must not be smaller than in the source: clients could know that one as another state.
fn is_same(sent: &MovingKey, there: &KeyValue) -> bool {
    sent.value == there.value()
        && sent.expires_at_seconds.is_some() == (there.lease() != 0)
        && unsigned(there.mod_revision()) >= sent.mod_revision
}
