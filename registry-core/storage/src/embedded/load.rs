//! Rebuilds the state in memory from a log's records and detects damage. Used when a store is opened, checked and
//! restored.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use bytes::Bytes;

use super::Revision;
use super::index::{Index, Superseded};
use super::log::Log;
use super::log_error::LogError;
use super::record::{Damage, FORMAT_VERSION, Kind, META_REVISION, Record};
use super::state::Expiry;

/// The state rebuilt from the records read so far.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) index: Index,
    pub(super) current: Revision,
    pub(super) compacted: Revision,
    pub(super) superseded: VecDeque<Superseded>,
    pub(super) expiries: Vec<Expiry>,
    pub(super) records: u64,
}

// === impl Loaded ===

impl Loaded {
    /// Loads a whole log.
    pub(super) fn from_log(log: &dyn Log) -> Result<Self, LogError> {
        let mut loaded = Self::default();
        let mut damage = None;
        log.scan(
            META_REVISION..=Revision::MAX,
            &mut |revision, bytes| match loaded.take(revision, &bytes) {
                Ok(()) => ControlFlow::Continue(()),
                Err(problem) => {
                    damage = Some(problem);
                    ControlFlow::Break(())
                }
            },
        )?;
        if let Some(problem) = damage {
            return Err(problem.into());
        }
        loaded.finish(log.acknowledged()?)?;
        Ok(loaded)
    }

    /// Applies the next record. After an error the record counts as read, so that a check can continue.
    pub(super) fn take(&mut self, revision: Revision, bytes: &Bytes) -> Result<(), Damage> {
        let expected = self.current + 1;
        self.records += u64::from(revision != META_REVISION);
        self.current = self.current.max(revision);
        let record = Record::decode(revision, bytes)?;
        if revision == META_REVISION {
            if record.kind != Kind::Meta {
                return Err(Damage::CompactionPointKind);
            }
            if let Some(format) = record.format().filter(|format| *format > FORMAT_VERSION) {
                return Err(Damage::NewerFormat(format));
            }
            self.compacted = record.create_revision;
            self.current = self.current.max(record.create_revision);
            return Ok(());
        }
        if self.compacted == 0 {
            return Err(Damage::NoCompactionPoint);
        }
        let before = self.index.get(&record.key).map_or(0, |present| present.mod_revision);
        let key = self.index.apply(&record, bytes.len(), &mut self.superseded);
        if record.expires_at_seconds != 0 {
            self.expiries.push(Expiry { at_seconds: record.expires_at_seconds, revision, key });
        }
        // Up to the compaction revision, missing revisions are expected.
        if revision <= self.compacted {
            return Ok(());
        }
        if revision != expected {
            return Err(Damage::Missing { first: expected, last: revision - 1 });
        }
        if record.previous_revision != before {
            let replaced = record.previous_revision;
            return Err(Damage::Replaces { revision, replaced, newest: before });
        }
        Ok(())
    }

    /// Runs the checks that need the complete log.
    pub(super) fn finish(&self, acknowledged: Revision) -> Result<(), Damage> {
        if self.current < acknowledged {
            return Err(Damage::Lost {
                end: self.current,
                acknowledged,
                writes: acknowledged - self.current,
            });
        }
        if self.compacted == 0 {
            return Err(Damage::NoCompactionPoint);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::record::EMPTY_REVISION;

    #[test]
    fn a_newer_format_is_another_version_and_no_damage() {
        let newer = Record { previous_revision: FORMAT_VERSION + 1, ..Record::meta(EMPTY_REVISION) };
        let refused = Loaded::default().take(META_REVISION, &newer.encode()).unwrap_err();
        assert_eq!(refused, Damage::NewerFormat(FORMAT_VERSION + 1));
        let LogError::OtherVersion(text) = refused.into() else { panic!("it is called damaged") };
        assert_eq!(text, "its format has version 1, and this program reads up to version 0");
        let present = Record::meta(EMPTY_REVISION).encode();
        assert_eq!(Loaded::default().take(META_REVISION, &present), Ok(()));
    }
}
