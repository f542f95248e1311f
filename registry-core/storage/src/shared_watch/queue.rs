//! The queue of one listener: bounded in batches and in bytes, so that a stalled listener has a bounded cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::mvcc::{Change, ChangeBatch, MvccError};

/// Maximum number of queued batches.
const QUEUE_BATCHES: usize = 4096;
/// Maximum size of the queued batches, in bytes; a single batch may be larger.
const QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// An item sent to a listener.
pub(super) type Delivery = Result<ChangeBatch, MvccError>;

/// The shared watch's end.
pub(super) struct Sender {
    deliveries: mpsc::Sender<Delivery>,
    queued_bytes: Arc<AtomicUsize>,
}

/// The listener's end.
pub(super) struct Receiver {
    deliveries: mpsc::Receiver<Delivery>,
    queued_bytes: Arc<AtomicUsize>,
}

/// Creates a queue.
pub(super) fn queue() -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(QUEUE_BATCHES);
    let queued_bytes = Arc::new(AtomicUsize::new(0));
    (
        Sender { deliveries: sender, queued_bytes: queued_bytes.clone() },
        Receiver { deliveries: receiver, queued_bytes },
    )
}

// === impl Sender ===

impl Sender {
    /// Queues a delivery; `false` if the queue is full, or the receiver is dropped.
    pub(super) fn send(&self, delivery: Delivery) -> bool {
        let bytes = delivery_bytes(&delivery);
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = queued == 0 || queued + bytes <= QUEUE_BYTES;
        has_room && self.deliveries.try_send(delivery).is_ok()
    }
}

// === impl Receiver ===

impl Receiver {
    /// Returns the next delivery; `None` after a delivery was rejected because the queue was full.
    pub(super) async fn next(&mut self) -> Option<Delivery> {
        let delivery = self.deliveries.recv().await?;
        self.queued_bytes.fetch_sub(delivery_bytes(&delivery), Ordering::Relaxed);
        Some(delivery)
    }
}

fn delivery_bytes(delivery: &Delivery) -> usize {
    delivery.as_ref().map_or(0, |batch| batch.changes.iter().map(change_bytes).sum())
}

/// Returns the memory that a queued change takes, in bytes.
pub(super) fn change_bytes(change: &Change) -> usize {
    let sizes = [&change.value, &change.previous].map(|value| value.as_ref().map_or(0, bytes::Bytes::len));
    change.key.len() + sizes.iter().sum::<usize>()
}
