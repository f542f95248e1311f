//! An engine that fails, delays, and commits without reporting it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream;

use crate::mvcc::{ChangeStream, Committed, Mvcc, MvccError};

use super::hooked::{Call, EngineHooks, Hooked};

/// The rate of each fault, in thousandths of all calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultPlan {
    /// The call fails without effect.
    pub fail: u64,
    /// A write is committed, but an error is returned.
    pub lose_answer: u64,
    /// The call is delayed (up to 5 ms).
    pub delay: u64,
    /// A watch breaks after a batch.
    pub break_watch: u64,
}

/// An engine with faults. The seed and the order of calls determine which call fails how.
pub type FaultyMvcc = Hooked<Faults>;

/// Injects the faults.
pub struct Faults {
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
    /// Wraps an engine with faults.
    pub fn new(engine: Arc<dyn Mvcc>, plan: FaultPlan, seed: u64) -> Arc<Self> {
        Self::over(engine, Faults { plan, dice: Dice { state: Arc::new(AtomicU64::new(seed)) } })
    }
}

#[async_trait]
impl EngineHooks for Faults {
    /// Delays the call or lets it fail.
    async fn before(&self, _: Call) -> Result<(), MvccError> {
        if self.dice.falls(self.plan.delay) {
            tokio::time::sleep(Duration::from_micros(self.dice.next() % 5_000)).await;
        }
        if self.dice.falls(self.plan.fail) { Err(fault("nothing was done")) } else { Ok(()) }
    }

    /// Loses the result of a write.
    fn written(&self, answer: Result<Committed, MvccError>) -> Result<Committed, MvccError> {
        if self.dice.falls(self.plan.lose_answer) { Err(fault("the answer was lost")) } else { answer }
    }

    fn watched(&self, changes: ChangeStream) -> ChangeStream {
        let dice = self.dice.clone();
        let often = self.plan.break_watch;
        stream::unfold((changes, false), move |(mut changes, broken)| {
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
        .boxed()
    }
}

fn fault(what: &str) -> MvccError {
    MvccError::Unavailable(format!("injected: {what}").into())
}
