//! The choice of the queue that a request joins, among the few queues of its flow.
//!
//! `sharding` deals a flow its queues.

use super::super::sharding::Dealer;
use super::super::work::SeatSeconds;
use super::{Queue, QueueSet};

impl QueueSet {
    /// Returns the least loaded queue of a flow. The first one to be considered changes, so that flows whose hands
    /// overlap are treated alike.
    pub(super) fn choose_queue(&mut self, dealer: Dealer, hash: u64) -> u32 {
        dealer.deal(hash, &mut self.hand);
        let offset = usize::try_from(self.arrivals % dealer.hand_size() as u64).unwrap_or(0);
        self.arrivals += 1;
        let from_offset = self.hand.iter().skip(offset).chain(self.hand.iter().take(offset));
        let work = |index: &&u32| self.queues.get(index).map_or(SeatSeconds::ZERO, Queue::waiting_work);
        from_offset.min_by_key(work).copied().unwrap_or_default()
    }
}
