//! Detects whether a client reads its response.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Time after which a stream, or an HTTP/1.1 connection, is closed if its client reads nothing of its
/// response.
pub(super) const MAX_STALL: Duration = Duration::from_secs(30);

/// There is no response yet, or its next part is being produced.
const MAKING: u8 = 0;
/// Waiting for the client, which has read a part since the last check, or has just been offered the first
/// one.
const TAKEN: u8 = 1;
/// Waiting for the client, which has read nothing since the last check.
const STALLED: u8 = 2;

/// The progress of a client in reading its response.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

// === impl Progress ===

impl Progress {
    /// Records that a part of the response is offered to the client.
    pub(super) fn offered(&self) {
        self.0.store(TAKEN, Ordering::Release);
    }

    /// Records that the next part of the response is being produced, or that there is none.
    pub(super) fn making(&self) {
        self.0.store(MAKING, Ordering::Release);
    }

    pub(super) fn is_up_to_client(&self) -> bool {
        self.0.load(Ordering::Acquire) != MAKING
    }

    /// Returns whether the client has read nothing since the last check, although a part was offered.
    pub(super) fn check_stalled(&self) -> bool {
        let marked = self.0.compare_exchange(TAKEN, STALLED, Ordering::AcqRel, Ordering::Acquire);
        marked == Err(STALLED)
    }

    /// Waits until the client has read nothing for [`MAX_STALL`], or at most twice that.
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
