//! `--coordinated-leadership-*`: by which of several servers leaders are elected.
//!
//! Kubernetes concept:
//! [coordinated leader election](https://kubernetes.io/docs/concepts/cluster-administration/coordinated-leader-election/).

use std::time::Duration;

use clap::Args;

use super::{OptionsError, parse_duration};

/// The elections of leaders, with the gate `CoordinatedLeaderElection`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Controllers")]
pub struct LeadershipOptions {
    /// Time for which a server elects leaders without renewing its Lease, after which another one takes over. With
    /// --feature-gates=CoordinatedLeaderElection=true and --runtime-config=coordination.k8s.io/v1beta1=true
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = parse_duration)]
    pub coordinated_leadership_lease_duration: Duration,
    /// Time after which a server that cannot renew that Lease stops to elect
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub coordinated_leadership_renew_deadline: Duration,
    /// Time between two attempts to renew that Lease, or to take it over
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    pub coordinated_leadership_retry_period: Duration,
}

// === impl LeadershipOptions ===

impl LeadershipOptions {
    /// Checks that a holder stops before others take over, and renews more than once until then.
    ///
    /// # Errors
    /// Fails if the times do not fit together.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        let (lease, deadline, period) = (
            self.coordinated_leadership_lease_duration,
            self.coordinated_leadership_renew_deadline,
            self.coordinated_leadership_retry_period,
        );
        // A pause is up to a fifth longer than the period.
        let fits = lease >= Duration::from_secs(1)
            && lease > deadline
            && deadline > period.saturating_add(period / 5)
            && !period.is_zero();
        if fits { Ok(()) } else { Err(OptionsError::LeadershipTimes { lease, deadline, period }) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Options;

    #[test]
    fn the_times_of_a_leadership_fit_together() {
        let check = |lease: &str, deadline: &str, period: &str| {
            let flag = |name: &str, value: &str| format!("--coordinated-leadership-{name}={value}");
            let flags = [
                "apiserver".to_owned(),
                flag("lease-duration", lease),
                flag("renew-deadline", deadline),
                flag("retry-period", period),
            ];
            Options::from_arguments(flags).unwrap().leadership.validate()
        };
        assert!(check("15s", "10s", "2s").is_ok());
        assert!(check("5s", "3s", "1s").is_ok());
        for (lease, deadline, period) in [
            ("10s", "10s", "2s"),
            ("15s", "2s", "2s"),
            ("15s", "10s", "0s"),
            ("900ms", "500ms", "100ms"),
            ("0s", "0s", "0s"),
        ] {
            let refused = check(lease, deadline, period).unwrap_err().to_string();
            assert!(refused.contains("--coordinated-leadership-renew-deadline"), "{refused}");
        }
        assert!(check("2562047h", "2562046h", "2562046h").is_err(), "no overflow");
    }
}
