//! Restarts with a large store.

use super::super::figures::Limit;
use super::{QUIET, Stages};
use crate::Failure;
use crate::closed_loop::Load;
use crate::measurement::count;
use crate::objects::{self, Kind};
use crate::workload;

/// Number of concurrent lists.
const LISTERS: usize = 16;

/// Number of pods in the budget of the time.
const BUDGET_PODS: usize = 150_000;

impl Stages<'_> {
    /// Fills a store with pods, and restarts the server on it.
    pub(in super::super) async fn restart(&mut self) -> Result<(), Failure> {
        let pods = self.options.pods;
        if pods == 0 {
            return Ok(());
        }
        let place = self.place();
        let server = self.server(&place).await?;
        tokio::time::sleep(QUIET).await;
        let idle_mebibytes = server.resident_mebibytes();
        let client = server.client()?;
        objects::make_namespace(&client, "pods").await?;
        objects::fill(&client, Kind::Pod, "pods", 0, pods).await?;
        server.stop().await;

        let server = self.server(&place).await?;
        let ready = server.ready_after().unwrap_or_default().as_secs_f64() * 1e3;
        let limit = if pods == BUDGET_PODS { Limit::Most(3_000.0) } else { Limit::None };
        self.fact(format!("start to ready with {pods} pods of 4 KB"), ready, "ms", limit);
        tokio::time::sleep(QUIET).await;
        let grown_mebibytes = server.resident_mebibytes() - idle_mebibytes;
        let client = server.client()?;
        let collection = Kind::Pod.collection("pods");
        let load = Load { clients: LISTERS, seconds: 1 };
        let listing = workload::list(&client, &server, &collection, "list pods by 16", pods, load);
        let (listed, growth) = workload::memory_growth(&server, listing).await;
        let listed = listed?;
        let list_bytes = listed.bytes_per_operation();
        self.measured(listed);
        let mebibytes = list_bytes / 1024.0 / 1024.0;
        let name = format!("memory added by {LISTERS} clients listing {mebibytes:.0} MiB at once");
        self.fact(name, growth, "MiB", Limit::Most(100.0));
        let objects = count(pods as u64);
        let json = list_bytes / objects;
        let taken = grown_mebibytes * 1024.0 * 1024.0 / objects;
        let name = format!("memory per pod of {json:.0} bytes of JSON, {pods} pods, after the restart");
        self.fact(name, taken, "bytes", Limit::Most(1.3 * json + 200.0));
        server.stop().await;
        Ok(())
    }
}
