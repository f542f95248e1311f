//! An engine that fails, dawdles, and commits without saying so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;

use crate::storage::Revision;
use crate::storage::mvcc::{ChangeStream, Committed, Got, Mvcc, MvccError, RangeRequest, Ranged};

/// How often which fault happens, in thousandths of all calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultPlan {
    /// The call fails; nothing was done.
    pub fail: u64,
    /// A write is made, and an error is told.
    pub lose_answer: u64,
    /// The call takes a little longer (up to 5 ms).
    pub delay: u64,
    /// A watch breaks off after a batch.
    pub break_watch: u64,
}

/// A decorator over an engine. Which call meets which fault follows from the seed and the order of calls.
pub struct FaultyMvcc {
    engine: Arc<dyn Mvcc>,
    plan: FaultPlan,
    dice: Dice,
}

/// A seeded sequence of numbers (SplitMix64).
#[derive(Clone)]
struct Dice {
    state: Arc<AtomicU64>,
}

// === impl Dice ===

impl Dice {
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn falls(&self, thousandths: u64) -> bool {
        self.next() % 1_000 < thousandths
    }
}

// === impl FaultyMvcc ===

impl FaultyMvcc {
    /// The same engine, with faults.
    pub fn new(engine: Arc<dyn Mvcc>, plan: FaultPlan, seed: u64) -> Self {
        Self { engine, plan, dice: Dice { state: Arc::new(AtomicU64::new(seed)) } }
    }

    /// Before a call: it may take longer, or fail.
    async fn before(&self) -> Result<(), MvccError> {
        if self.dice.falls(self.plan.delay) {
            tokio::time::sleep(Duration::from_micros(self.dice.next() % 5_000)).await;
        }
        if self.dice.falls(self.plan.fail) { Err(fault("nothing was done")) } else { Ok(()) }
    }

    /// After a write: its answer may get lost.
    fn after<T>(&self, answer: Result<T, MvccError>) -> Result<T, MvccError> {
        if self.dice.falls(self.plan.lose_answer) { Err(fault("the answer was lost")) } else { answer }
    }
}

fn fault(what: &str) -> MvccError {
    MvccError::Unavailable(format!("injected: {what}").into())
}

#[async_trait]
impl Mvcc for FaultyMvcc {
    async fn get(&self, key: &str) -> Result<Got, MvccError> {
        self.before().await?;
        self.engine.get(key).await
    }

    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        self.before().await?;
        self.engine.range(range).await
    }

    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        self.before().await?;
        self.engine.count(start, end).await
    }

    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        self.before().await?;
        self.after(self.engine.put_if(key, expected, value, ttl).await)
    }

    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError> {
        self.before().await?;
        self.after(self.engine.delete_if(key, expected).await)
    }

    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError> {
        self.before().await?;
        let changes = self.engine.watch(start, end, after).await?;
        let (dice, often) = (self.dice.clone(), self.plan.break_watch);
        Ok(stream::unfold((changes, false), move |(mut changes, broken)| {
            let dice = dice.clone();
            async move {
                if broken {
                    return None;
                }
                if dice.falls(often) {
                    return Some((Err(fault("the watch broke off")), (changes, true)));
                }
                let item = changes.next().await?;
                Some((item, (changes, false)))
            }
        })
        .boxed())
    }

    async fn request_progress(&self) -> Result<(), MvccError> {
        self.before().await?;
        self.engine.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, MvccError> {
        self.before().await?;
        self.engine.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), MvccError> {
        self.before().await?;
        self.engine.compact(revision).await
    }

    async fn health(&self) -> Result<(), String> {
        self.engine.health().await
    }
}
