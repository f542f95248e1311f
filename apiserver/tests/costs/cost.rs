//! Measures processor time, and compares it at two sizes.

use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The factor between the two sizes of a body.
pub(crate) const GROWTH: usize = 4;
/// The factor by which the time may grow for a body of [`GROWTH`] times the size. Quadratic work grows by 16.
const MAX_TIME_GROWTH: u32 = 8;
/// Times below this one are too short to be compared.
const FLOOR: Duration = Duration::from_millis(60);
/// Factor above which the measurement is repeated with larger bodies, where constant costs matter less.
const SUSPICIOUS_GROWTH: f64 = 5.0;
/// Maximum size of a body.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum time per MiB of a body, in a build without optimization. Lists of errors take longest.
const MAX_PER_MIB: Duration = Duration::from_secs(12);
/// Maximum number of measurements of a suspicious time, of which the shortest counts.
const ATTEMPTS: usize = 8;

/// The measured work on a body of approximately this size.
pub(crate) trait Work {
    /// Does the work once. Returns the size of the body in bytes, and the time that the work took.
    fn run(&mut self, bytes: usize) -> (usize, Duration);
}

/// The work that grows too fast.
#[derive(Default)]
pub(crate) struct Findings(Vec<String>);

/// Returns the processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap())
}

/// Returns the result of `work`, and its processor time.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = thread_time();
    let result = work();
    (result, thread_time().saturating_sub(begin))
}

// === impl Work ===

impl<F: FnMut(usize) -> (usize, Duration)> Work for F {
    fn run(&mut self, bytes: usize) -> (usize, Duration) {
        self(bytes)
    }
}

// === impl Findings ===

impl Findings {
    /// Compares the work on a body with that on one of [`GROWTH`] times the size.
    pub(crate) fn compare(&mut self, name: impl fmt::Display, bytes: usize, work: &mut impl Work) {
        let mut small = Duration::MAX;
        let mut large = Duration::MAX;
        let mut large_bytes = 0;
        for _ in 0..ATTEMPTS {
            small = small.min(work.run(bytes).1);
            let (size, time) = work.run(bytes * GROWTH);
            large_bytes = size;
            large = large.min(time);
            let is_suspicious = large.as_secs_f64() > small.as_secs_f64() * SUSPICIOUS_GROWTH;
            if is_suspicious && bytes * GROWTH * GROWTH <= MAX_BYTES && large <= FLOOR {
                return self.compare(name, bytes * GROWTH, work);
            }
            if large <= FLOOR || (large <= small * MAX_TIME_GROWTH && large <= allowed(size)) {
                return;
            }
        }
        let finding = format!("{name}: {small:?}, then {large:?} for {large_bytes} bytes");
        eprintln!("{finding}");
        self.0.push(finding);
    }

    /// Fails if there are findings.
    #[track_caller]
    pub(crate) fn expect_none(self) {
        assert!(self.0.is_empty(), "too much work:\n{}", self.0.join("\n"));
    }
}

fn allowed(bytes: usize) -> Duration {
    MAX_PER_MIB.mul_f64(f64::from(u32::try_from(bytes).unwrap()) / f64::from(1024 * 1024)).max(FLOOR)
}
