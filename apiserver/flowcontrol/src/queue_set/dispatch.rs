//! The queue of a request while it waits, and the choice of the queue that is served next.

use super::{Queue, QueueSet};

impl QueueSet {
    /// Puts a queue into use, if it is not. A queue that was not in use starts at the present virtual time.
    pub(super) fn begin_queue(&mut self, index: u32) {
        let progress = self.progress;
        let queue = self.queues.entry(index).or_default();
        if !queue.is_active() {
            queue.next_start = progress;
            self.active_queues += 1;
        }
    }

    pub(super) fn enqueue(&mut self, index: u32, id: usize) {
        self.begin_queue(index);
        let Some(entry) = self.entries.get(id) else { return };
        let seats = entry.seats();
        entry.request.metrics.enqueued(seats);
        if let Some(queue) = self.queues.get_mut(&index) {
            queue.push(entry.ticket, id, seats, entry.request.work.initial_seats, entry.total_work);
        }
        self.waiting += 1;
        self.seats_waiting += seats;
        self.reorder(index);
        self.observe();
    }

    /// Updates the position of a queue among those with waiting requests. Its next request does not start, in virtual
    /// time, before it arrived: a queue that does not use its share does not save it up.
    pub(super) fn reorder(&mut self, index: u32) {
        let Some(queue) = self.queues.get_mut(&index) else { return };
        if let Some(before) = queue.position.take() {
            self.order.remove(&(before, index));
        }
        let Some(oldest) = queue.oldest().and_then(|id| self.entries.get(id)) else { return };
        queue.next_start = queue.next_start.max(oldest.arrival_progress);
        let end = queue.next_start + oldest.total_work;
        queue.position = Some(end);
        self.order.insert((end, index));
    }

    /// Serves waiting requests as long as there are seats for the next one.
    pub(super) fn dispatch(&mut self) {
        while self.waiting > 0 && self.seats_in_use < self.limit {
            let Some(index) = self.next_queue() else { return };
            let Some(id) = self.queues.get(&index).and_then(Queue::oldest) else { return };
            let Some(entry) = self.entries.get(id) else { return };
            let is_reserved = !self.has_room_for(entry.seats());
            if is_reserved && !self.has_reserve_for(&entry.request) {
                entry.request.metrics.no_accommodation();
                return;
            }
            self.last_served = index;
            self.dequeue(index, id);
            self.start_in(index, id, is_reserved);
            if let Some(sender) = self.entries.get_mut(id).and_then(|entry| entry.waiting.take()) {
                // If the request was given up at this moment, it leaves at once.
                let _ = sender.send(());
            }
        }
    }

    /// Returns the queue whose oldest request would end first. Among equal ones it is the first after the one that was
    /// served last.
    pub(super) fn next_queue(&self) -> Option<u32> {
        let (end, first) = *self.order.first()?;
        let after = self.last_served.checked_add(1);
        let next = after.and_then(|after| self.order.range((end, after)..=(end, u32::MAX)).next());
        Some(next.map_or(first, |(_, index)| *index))
    }

    /// Takes a waiting request out of its queue.
    pub(super) fn dequeue(&mut self, index: u32, id: usize) {
        let Some(entry) = self.entries.get(id) else { return };
        let seats = entry.seats();
        entry.request.metrics.dequeued(seats);
        if let Some(queue) = self.queues.get_mut(&index) {
            queue.remove(entry.ticket, seats, entry.request.work.initial_seats, entry.total_work);
        }
        self.waiting -= 1;
        self.seats_waiting -= seats;
    }

    /// Executes a request that is in no queue any more, from this one, with seats of the reserve or those that are shared.
    pub(super) fn start_in(&mut self, index: u32, id: usize, is_reserved: bool) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let work = &mut entry.request.work;
        if work.final_seats > self.limit {
            // The same work with fewer seats takes longer.
            work.additional_latency = work.final_work().per_seat(self.limit.max(1));
            work.final_seats = self.limit.max(1);
        }
        let (seats, total_work) = (entry.seats(), entry.total_work);
        if let Some(queue) = self.queues.get_mut(&index) {
            self.statistics.dispatched_at(self.progress, queue.next_start);
            queue.executing += 1;
            queue.seats_in_use += seats;
            queue.next_start += total_work;
        }
        self.reorder(index);
        self.execute(id, is_reserved);
    }
}
