//! Seats of a level that only flows with few seats get.
//!
//! A flow with many requests takes every seat that becomes free, so that a request of another flow, although it is served
//! next, would wait until one of them ends: many times as long as it takes itself. A part of the seats is therefore
//! reserved. A request that cannot execute in turn gets seats of the reserve if its flow has no more than the reserve
//! holds. The other seats are shared in turn, so that flows with few seats, however many they are, keep no request waiting
//! for ever.
//!
//! Kubernetes has no such reserve. Levels with fewer than [`LEVEL_SEATS_PER_RESERVED_SEAT`] seats have none here either.

use std::collections::HashMap;

/// Of this many seats of a level, one is reserved.
pub(super) const LEVEL_SEATS_PER_RESERVED_SEAT: usize = 8;

/// The seats in use: those of each flow, and those of the reserve.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    /// The seats of a flow, by its hash.
    flows: HashMap<u64, usize>,
    /// Seats of the reserve in use; may exceed it after it became smaller.
    in_use: usize,
}

/// The seats that a request took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// The hash of the flow.
    pub(super) flow: u64,
    pub(super) seats: usize,
    /// Whether they are of the reserve.
    pub(super) is_reserved: bool,
}

// === impl Reserve ===

impl Reserve {
    /// Returns the number of seats in use that are of the reserve.
    pub(super) fn in_use(&self) -> usize {
        self.in_use
    }

    /// Returns whether no flow has seats.
    #[cfg(test)]
    pub(super) fn is_unused(&self) -> bool {
        self.in_use == 0 && self.flows.is_empty()
    }

    /// Returns whether a reserve of this size has seats for a request of a flow.
    pub(super) fn has_room_for(&self, flow: u64, seats: usize, size: usize) -> bool {
        let of_flow = self.flows.get(&flow).copied().unwrap_or(0);
        self.in_use + seats <= size && of_flow + seats <= size
    }

    pub(super) fn take(&mut self, taken: Taken) {
        *self.flows.entry(taken.flow).or_default() += taken.seats;
        if taken.is_reserved {
            self.in_use += taken.seats;
        }
    }

    pub(super) fn give_back(&mut self, taken: Taken) {
        if let Some(seats) = self.flows.get_mut(&taken.flow) {
            *seats -= taken.seats;
            if *seats == 0 {
                self.flows.remove(&taken.flow);
            }
        }
        if taken.is_reserved {
            self.in_use -= taken.seats;
        }
    }
}
