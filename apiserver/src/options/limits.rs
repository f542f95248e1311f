//! Limits on concurrency and time.

use std::time::Duration;

use clap::{ArgAction, Args};

use super::{OptionsError, parse_duration};

/// The minimum duration of a watch whose client asks for none.
pub(crate) const DEFAULT_MIN_REQUEST_TIMEOUT_SECONDS: u32 = 1800;

/// Limits on concurrency and time.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Maximum duration of a request other than a watch
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    pub request_timeout: Duration,

    /// Divide the server between requests by priority levels and flows. Otherwise the numbers of reads and writes in
    /// flight have fixed limits, and further ones are rejected (429)
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub enable_priority_and_fairness: bool,

    /// Maximum number of reads in flight. With priority and fairness, the sum of this and the limit of writes is the
    /// number of seats that priority levels share; without, 0 is no limit
    #[arg(long, value_name = "COUNT", default_value_t = 400)]
    pub max_requests_inflight: usize,

    /// Maximum number of writes in flight; see `--max-requests-inflight`
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    pub max_mutating_requests_inflight: usize,

    /// Minimum duration in seconds of a watch whose client asks for none; the actual duration is random, up to twice as
    /// long, so that clients that connected together do not connect again together
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_MIN_REQUEST_TIMEOUT_SECONDS)]
    pub min_request_timeout: u32,
}

// === impl LimitOptions ===

impl LimitOptions {
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        let (reads, writes) = (self.max_requests_inflight, self.max_mutating_requests_inflight);
        if self.enable_priority_and_fairness && reads.saturating_add(writes) == 0 {
            return Err(OptionsError::NoRequests { reads, writes });
        }
        Ok(())
    }
}
