//! The orderly end of the server.

use std::time::Duration;

use clap::{ArgAction, Args};

use super::parse_duration;

/// The orderly end of the server.
///
/// Kubernetes concept: graceful termination of `k8s.io/apiserver/pkg/server`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Shutdown")]
pub struct ShutdownOptions {
    /// Time to continue serving after a signal to stop, with /readyz failing, so that load balancers notice
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub shutdown_delay_duration: Duration,

    /// Whether the server continues to listen after --shutdown-delay-duration until the requests in flight are completed,
    /// and answers new requests with 429, Retry-After and Connection: close instead of refusing connections
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub shutdown_send_retry_after: bool,

    /// Time over which the end of watches is spread at the shutdown, so that their clients do not all open them again at
    /// once; 0 ends them at once
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub shutdown_watch_termination_grace_period: Duration,

    /// Whether the server ends when the process that started it ends, as a test that is killed does [default: false,
    /// except with the command `test`, and under the name kube-apiserver beside an `etcd` that keeps nothing]
    #[arg(long)]
    pub exit_with_parent: Option<bool>,
}
