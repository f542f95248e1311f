//! Waiting for a remote conversion where the caller cannot be suspended: server-side apply.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;

use super::ConversionError;

/// Maximum number of threads that wait at the same time. Tokio replaces each of them, by default up to 512 times; if all
/// waited, the server would stand still until a service answers.
const MAX_WAITING: usize = 128;

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A thread that waits; one of [`MAX_WAITING`].
struct Waiting(&'static AtomicUsize);

/// Waits for a conversion on this thread, after the runtime has moved its other tasks to another one.
///
/// # Errors
/// Fails if the conversion does, and if too many threads wait already.
pub(super) fn wait_for<T>(
    converting: impl Future<Output = Result<T, ConversionError>>,
) -> Result<T, ConversionError> {
    let waiting = Waiting::begin(&WAITING)?;
    let converted = tokio::task::block_in_place(|| Handle::current().block_on(converting));
    drop(waiting);
    converted
}

// === impl Waiting ===

impl Waiting {
    fn begin(waiting: &'static AtomicUsize) -> Result<Self, ConversionError> {
        let begun = Self(waiting);
        if waiting.fetch_add(1, Ordering::AcqRel) < MAX_WAITING {
            return Ok(begun);
        }
        Err(ConversionError(format!("{MAX_WAITING} requests wait for conversion webhooks, try again later")))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_waiting_threads_is_limited_and_those_that_ended_do_not_count() {
        static COUNTED: AtomicUsize = AtomicUsize::new(0);
        let waiting: Vec<_> = (0..MAX_WAITING).map(|_| Waiting::begin(&COUNTED).unwrap()).collect();
        for _ in 0..2 {
            let refused = Waiting::begin(&COUNTED).err().unwrap();
            assert!(refused.0.contains("try again later"), "{refused}");
        }
        drop(waiting);
        assert!(Waiting::begin(&COUNTED).is_ok());
        assert_eq!(COUNTED.load(Ordering::Acquire), 0);
    }
}
