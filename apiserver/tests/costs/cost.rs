//! Measures processor time, and compares it at two sizes.
//!
//! The processors of a virtual machine can be several times slower for seconds. Times are therefore compared only with others
//! that were measured immediately before or after them: work on a small body with work on a large one, and both with the
//! decoding of plain JSON.

use std::fmt;
use std::sync::LazyLock;
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
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Maximum size of a URL: `http::Uri` refuses longer ones.
const MAX_URL_BYTES: usize = 65_534;
/// Maximum time per byte of a body, relative to decoding plain JSON. Lists of errors take longest.
const MAX_TIMES_DECODING: f64 = 300.0;
/// Maximum number of measurements of a suspicious time, of which one has to be within the bounds.
const ATTEMPTS: usize = 8;
/// Size of the plain JSON in bytes.
const PLAIN_BYTES: usize = 64 * 1024;

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
        self.compare_within(name, bytes, MAX_BODY_BYTES, work);
    }

    /// Compares the work on a URL with that on one of [`GROWTH`] times the size.
    pub(crate) fn compare_urls(&mut self, name: impl fmt::Display, bytes: usize, work: &mut impl Work) {
        self.compare_within(name, bytes, MAX_URL_BYTES, work);
    }

    /// Compares work on at most this number of bytes.
    fn compare_within(
        &mut self,
        name: impl fmt::Display,
        bytes: usize,
        max_bytes: usize,
        work: &mut impl Work,
    ) {
        let mut attempts = Vec::new();
        for _ in 0..ATTEMPTS {
            let (_, small) = work.run(bytes);
            let (size, large) = work.run(bytes * GROWTH);
            let is_suspicious = large.as_secs_f64() > small.as_secs_f64() * SUSPICIOUS_GROWTH;
            if is_suspicious && bytes * GROWTH * GROWTH <= max_bytes && large <= FLOOR {
                return self.compare_within(name, bytes * GROWTH, max_bytes, work);
            }
            if large <= FLOOR {
                return;
            }
            let allowed = allowed(size);
            if large <= small * MAX_TIME_GROWTH && large <= allowed {
                return;
            }
            attempts.push(format!("{small:?}, then {large:?} of {allowed:?} for {size} bytes"));
        }
        let finding = format!("{name}: {}", attempts.join("; "));
        eprintln!("{finding}");
        self.0.push(finding);
    }

    /// Fails if there are findings.
    #[track_caller]
    pub(crate) fn expect_none(self) {
        assert!(self.0.is_empty(), "too much work:\n{}", self.0.join("\n"));
    }
}

/// Returns the maximum time for a body of this size, on the processor as fast as it is now.
fn allowed(bytes: usize) -> Duration {
    static PLAIN: LazyLock<String> = LazyLock::new(|| {
        let fields = (0..PLAIN_BYTES / 16).map(|number| format!("\"f{number:06}\":\"ab\""));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    });
    let (decoded, time) = timed(|| serde_json::from_str::<serde_json::Value>(&PLAIN));
    assert!(decoded.is_ok_and(|value| value.is_object()));
    let per_byte = time.as_secs_f64() / f64::from(u32::try_from(PLAIN.len()).unwrap());
    let bytes = f64::from(u32::try_from(bytes).unwrap());
    Duration::from_secs_f64(per_byte * bytes * MAX_TIMES_DECODING).max(FLOOR)
}
