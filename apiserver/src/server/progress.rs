//! Whether a client takes its answer.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Time after which a stream, or an HTTP/1.1 connection, is ended whose client takes nothing of its answer.
pub(super) const MAX_STALL: Duration = Duration::from_secs(30);

/// There is no answer yet, or its next part is being made.
const MAKING: u8 = 0;
/// It is the client's turn, which has just taken a part, if there was one before.
const TAKEN: u8 = 1;
/// It is the client's turn, which has taken nothing since the last check.
const STALLED: u8 = 2;

/// How a client takes its answer.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

// === impl Progress ===

impl Progress {
    /// Notes that it is the client's turn to take a part of the answer.
    pub(super) fn offered(&self) {
        self.0.store(TAKEN, Ordering::Release);
    }

    /// Notes that the next part of the answer is being made, or that there is none.
    pub(super) fn making(&self) {
        self.0.store(MAKING, Ordering::Release);
    }

    pub(super) fn is_up_to_client(&self) -> bool {
        self.0.load(Ordering::Acquire) != MAKING
    }

    /// Returns whether it has been the client's turn since the last check, and it has taken nothing.
    pub(super) fn check_stalled(&self) -> bool {
        let marked = self.0.compare_exchange(TAKEN, STALLED, Ordering::AcqRel, Ordering::Acquire);
        marked == Err(STALLED)
    }

    /// Waits until the client takes nothing for [`MAX_STALL`], or for twice that at most.
    pub(super) async fn stalled(&self) {
        loop {
            tokio::time::sleep(MAX_STALL).await;
            if self.check_stalled() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_client_that_takes_nothing_is_stalled() {
        let progress = Progress::default();
        let for_long = MAX_STALL * 5;
        assert!(tokio::time::timeout(for_long, progress.stalled()).await.is_err(), "no answer yet");
        progress.offered();
        let slow = async {
            for _ in 0..10 {
                tokio::time::sleep(MAX_STALL / 2).await;
                progress.offered();
            }
        };
        tokio::select! {
            () = progress.stalled() => panic!("slow is not stalled"),
            () = slow => {}
        }
        assert!(tokio::time::timeout(MAX_STALL * 2, progress.stalled()).await.is_ok());
        progress.making();
        assert!(tokio::time::timeout(for_long, progress.stalled()).await.is_err(), "the server is to go on");
    }
}
