//! The parameters of clients of key management services.

use registry_core::metrics::TransformMetrics;

/// The parameters of clients of key management services.
#[derive(Clone, Default)]
#[cfg_attr(
    not(feature = "encryption"),
    expect(dead_code, reason = "a configuration is refused before a service is called")
)]
pub(crate) struct Services {
    /// Whether services of version 1 can be used.
    pub(crate) kms_v1: bool,
    /// The metrics of calls.
    pub(crate) metrics: TransformMetrics,
}
