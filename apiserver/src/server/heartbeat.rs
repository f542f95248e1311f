//! Measures how long tasks wait for a thread of the runtime.
//!
//! A task that does not yield delays those that wait for its thread. The heartbeat is a task that sleeps and
//! measures how late it is woken: every request and handshake of that time was delayed as much. It costs ten
//! wake-ups per second and nothing per request.

use std::time::Duration;

use prometheus::Histogram;
use tokio::time::Instant;

/// Interval between two measurements.
const PERIOD: Duration = Duration::from_millis(100);

/// Measures until the future is dropped.
pub(super) async fn measure(delays: Histogram) {
    loop {
        let due = Instant::now() + PERIOD;
        tokio::time::sleep_until(due).await;
        delays.observe(due.elapsed().as_secs_f64());
    }
}
