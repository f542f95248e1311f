//! Events: the cost of a delivery by number of watchers, its lateness at a given rate, and the memory of idle watches.

use super::super::figures::Limit;
use super::{CLIENTS, QUIET, Stages};
use crate::Failure;
use crate::objects;
use crate::watching::{self, Watching};
use crate::workload;

/// The rate at which lateness is measured.
const DELIVERIES_PER_SECOND: u64 = 20_000;

/// Number of watchers at that rate.
const PACED_WATCHERS: [usize; 2] = [1_000, 10_000];

/// Number of watchers with a connection each, like kubelets.
const LONE_WATCHERS: usize = 500;

/// Number of idle watches in the budget.
const IDLE_WATCHES: usize = 10_000;

impl Stages<'_> {
    /// Runs all measurements of watches.
    pub(in super::super) async fn events(&mut self) -> Result<(), Failure> {
        let place = self.place();
        let server = self.server(&place).await?;
        let client = server.client()?;
        objects::make_namespace(&client, "idle").await?;
        let most = self.options.suite_watchers.iter().copied().max().unwrap_or_default();
        for watchers in self.options.suite_watchers.clone() {
            tokio::time::sleep(QUIET).await;
            let before = server.resident_mebibytes();
            let idle = watching::idle(&client, "idle", watchers).await?;
            tokio::time::sleep(QUIET).await;
            let grown = server.resident_mebibytes() - before;
            let load = self.load(CLIENTS);
            let workload = "create beside idle watches";
            let created = workload::create(&client, &server, "idle", workload, watchers, load).await?;
            self.measured(created);
            drop(idle);
            if watchers == most {
                let limit = if watchers == IDLE_WATCHES { Limit::Most(100.0) } else { Limit::None };
                self.fact(format!("memory added by {watchers} idle watches"), grown, "MiB", limit);
            }
        }
        let seconds = self.options.suite_seconds.max(2);
        let shared = Watching {
            workload: "watch",
            watchers: 0,
            per_connection: watching::SHARED,
            deliveries_per_second: None,
            seconds,
        };
        for watchers in self.options.suite_watchers.clone() {
            let measured = watching::watch(&client, &server, Watching { watchers, ..shared }).await?;
            self.measured(measured);
        }
        let lone = Watching {
            workload: "watch alone",
            watchers: LONE_WATCHERS.min(most),
            per_connection: 1,
            ..shared
        };
        let measured = watching::watch(&client, &server, lone).await?;
        self.measured(measured);
        for watchers in PACED_WATCHERS.into_iter().filter(|watchers| *watchers <= most) {
            let pace = Some(DELIVERIES_PER_SECOND);
            // At 10,000 watchers that is two events a second.
            let paced = Watching {
                workload: "watch paced",
                watchers,
                deliveries_per_second: pace,
                seconds: seconds.max(5),
                ..shared
            };
            let measured = watching::watch(&client, &server, paced).await?;
            let limit = if watchers == 1_000 { Limit::Most(10.0) } else { Limit::Most(20.0) };
            let name =
                format!("p99 of deliveries, {watchers} watchers, {DELIVERIES_PER_SECOND} events a second");
            let millis = measured.p99_millis();
            self.measured(measured);
            self.fact(name, millis, "ms", limit);
        }
        server.stop().await;
        Ok(())
    }
}
