//! Further attempts of calls that fail.

use std::time::Duration;

use registry_core::backoff::random_fraction;

/// Number of attempts.
const ATTEMPTS: u32 = 5;
/// Factor between the pauses.
const FACTOR: f64 = 1.5;
/// Maximum random part that is added to a pause.
const JITTER: f64 = 0.2;

/// Makes a call, and again after growing pauses while it fails and may be repeated: five times in all.
///
/// Kubernetes concept: `WithExponentialBackoff`, `DefaultRetryBackoffWithInitialDelay` of `k8s.io/apiserver/pkg/util/webhook`.
///
/// # Errors
/// Fails as the last attempt.
pub async fn with_retries<T, E, F>(
    first_pause: Duration,
    may_repeat: impl Fn(&E) -> bool,
    call: impl Fn() -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut pause = first_pause;
    for _ in 1..ATTEMPTS {
        match call().await {
            Err(failure) if may_repeat(&failure) => {}
            answered => return answered,
        }
        tokio::time::sleep(pause.mul_f64(1.0 + JITTER * random_fraction())).await;
        pause = pause.mul_f64(FACTOR);
    }
    call().await
}
