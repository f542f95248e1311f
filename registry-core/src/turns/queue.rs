//! The waiting tasks, by flow and in order of virtual time.
//!
//! Start-time fair queuing: a turn of a flow begins, in virtual time, when the former turn of the flow ended, or now if that
//! is past. The turn that begins first is given first, and virtual time is when it begins. A flow that was idle has nothing
//! to catch up on, and nothing saved.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::FIRST;

/// Number of turns that tasks of [`FIRST`] may have one after the other while flows wait.
const FIRSTS_IN_A_ROW: u32 = 7;
/// Number of flows without waiting tasks that are kept before those are removed whose time is past.
const KEPT_FLOWS: usize = 64;

/// Waiting tasks.
pub(super) struct FairQueue<W> {
    flows: HashMap<u64, FlowQueue<W>>,
    /// The flows with waiting tasks, by the virtual time at which their next turn begins.
    order: BTreeSet<(u64, u64)>,
    firsts: VecDeque<(W, u32)>,
    firsts_in_a_row: u32,
    /// Virtual time, in microseconds.
    now: u64,
}

/// The waiting tasks of a flow, in order of arrival.
struct FlowQueue<W> {
    begins: u64,
    waiting: VecDeque<(W, u32)>,
}

// === impl FairQueue ===

impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        Self {
            flows: HashMap::new(),
            order: BTreeSet::new(),
            firsts: VecDeque::new(),
            firsts_in_a_row: 0,
            now: 0,
        }
    }
}

impl<W> FairQueue<W> {
    /// Adds a task whose turn is expected to take this time, in microseconds.
    pub(super) fn push(&mut self, flow: u64, task: W, price: u32) {
        if flow == FIRST {
            self.firsts.push_back((task, price));
            return;
        }
        let now = self.now;
        let queue =
            self.flows.entry(flow).or_insert_with(|| FlowQueue { begins: now, waiting: VecDeque::new() });
        if queue.waiting.is_empty() {
            queue.begins = queue.begins.max(now);
            self.order.insert((queue.begins, flow));
        }
        queue.waiting.push_back((task, price));
    }

    /// Returns the price of the task that [`pop`](Self::pop) returns.
    pub(super) fn next_price(&self) -> Option<u32> {
        let next = if self.is_first_next() { self.firsts.front() } else { self.next_of_flows() };
        next.map(|(_, price)| *price)
    }

    /// Removes and returns the task whose turn it is, and its price, which its flow is charged.
    pub(super) fn pop(&mut self) -> Option<(W, u32)> {
        if self.is_first_next() {
            self.firsts_in_a_row += 1;
            return self.firsts.pop_front();
        }
        self.firsts_in_a_row = 0;
        let (begins, flow) = self.order.pop_first()?;
        self.now = self.now.max(begins);
        let queue = self.flows.get_mut(&flow)?;
        let (task, price) = queue.waiting.pop_front()?;
        queue.begins = begins + u64::from(price);
        if !queue.waiting.is_empty() {
            self.order.insert((queue.begins, flow));
        }
        self.forget_past_flows();
        Some((task, price))
    }

    /// Charges a flow for a turn that took longer than expected.
    pub(super) fn charge(&mut self, flow: u64, microseconds: u32) {
        let Some(queue) = self.flows.get_mut(&flow) else { return };
        let former = queue.begins;
        queue.begins = former.max(self.now) + u64::from(microseconds);
        if self.order.remove(&(former, flow)) {
            self.order.insert((queue.begins, flow));
        }
    }

    fn is_first_next(&self) -> bool {
        !self.firsts.is_empty() && (self.order.is_empty() || self.firsts_in_a_row < FIRSTS_IN_A_ROW)
    }

    fn next_of_flows(&self) -> Option<&(W, u32)> {
        let (_, flow) = self.order.first()?;
        self.flows.get(flow)?.waiting.front()
    }

    /// Removes idle flows that have nothing to pay for any more, when there are many.
    fn forget_past_flows(&mut self) {
        if self.flows.len() <= 2 * self.order.len() + KEPT_FLOWS {
            return;
        }
        let now = self.now;
        self.flows.retain(|_, queue| !queue.waiting.is_empty() || queue.begins > now);
    }

    #[cfg(test)]
    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }
}
