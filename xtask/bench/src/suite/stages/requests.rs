//! Requests: the throughput of writes compared with the bare store, and the cost of reads and writes by number of
//! objects.

use super::super::backend::Backend;
use super::super::bare;
use super::super::figures::Limit;
use super::{CLIENTS, QUIET, Stages, WRITERS};
use crate::Failure;
use crate::closed_loop::Load;
use crate::measurement::count;
use crate::objects::{self, Kind};
use crate::workload;

/// Number of concurrent lists when memory is measured.
const LISTERS: usize = 16;

/// A rate that is sufficient over the embedded store, whatever its bare rate is.
const EMBEDDED_CREATIONS_PER_SECOND: f64 = 12_000.0;

/// The list size of the budget, at which compressed lists are measured too.
const LIST_BUDGET_OBJECTS: usize = 5_000;

impl Stages<'_> {
    /// Measures durable creations by many clients, and those of the bare store, one after the other.
    pub(in super::super) async fn throughput(&mut self) -> Result<(), Failure> {
        let load = self.load(WRITERS);
        let place = self.place();
        let bare = match &self.etcd {
            Some(etcd) => bare::etcd(&etcd.url, WRITERS, load.seconds).await,
            None => bare::embedded(&self.directory.join("bare"), WRITERS, load.seconds).await,
        }?;
        let server = self.server(&place).await?;
        let client = server.client()?;
        objects::make_namespace(&client, "throughput").await?;
        let created = workload::create(&client, &server, "throughput", "create by 64", 0, load).await?;
        server.stop().await;
        let rate = created.per_second();
        self.measured(created);
        self.fact("bare store: durable creations, 64 clients", bare, "per second", Limit::None);
        self.fact("durable CREATE, 64 clients", rate, "per second", Limit::None);
        // The embedded store also passes with a sufficient absolute rate.
        let is_fast = self.backend == Backend::Embedded && rate >= EMBEDDED_CREATIONS_PER_SECOND;
        let limit = if is_fast { Limit::None } else { Limit::Least(80.0) };
        self.fact("CREATE rate beside the bare store's", rate / bare * 100.0, "%", limit);
        Ok(())
    }

    /// Measures GET, LIST and CREATE with increasing numbers of objects, and the memory of those.
    pub(in super::super) async fn requests(&mut self) -> Result<(), Failure> {
        let place = self.place();
        let server = self.server(&place).await?;
        let client = server.client()?;
        tokio::time::sleep(QUIET).await;
        let idle_mebibytes = server.resident_mebibytes();
        for namespace in ["objects", "created"] {
            objects::make_namespace(&client, namespace).await?;
        }
        let collection = Kind::ConfigMap.collection("objects");
        // The objects that the workload creates at one size exist, unlisted, at the next.
        let mut filled = 0;
        let mut unlisted = 0;
        let mut list_bytes = 0.0;
        for size in self.options.objects.clone() {
            objects::fill(&client, Kind::ConfigMap, "objects", filled, size).await?;
            filled = filled.max(size);
            let load = self.load(CLIENTS);
            let single_client = Load { clients: 1, ..load };
            if Some(&size) == self.options.objects.last() {
                tokio::time::sleep(QUIET).await;
            }
            let resident_mebibytes = server.resident_mebibytes();
            let objects = size + unlisted;
            let listed = workload::list(&client, &server, &collection, "list", size, single_client).await?;
            list_bytes = listed.bytes_per_operation();
            self.measured(listed);
            let got = workload::get(&client, &server, "created", size, load).await?;
            self.measured(got);
            let created = workload::create(&client, &server, "created", "create", size, load).await?;
            unlisted += created.operations();
            self.measured(created);
            if size == LIST_BUDGET_OBJECTS {
                let zipped =
                    workload::list(&client, &server, &collection, "list gzip", size, single_client).await?;
                let share = zipped.bytes_per_operation() / list_bytes.max(1.0) * 100.0;
                self.measured(zipped);
                self.fact("gzip: bytes of a LIST of 5,000", share, "% of plain", Limit::None);
            }
            if Some(&size) == self.options.objects.last() {
                self.memory_per_object(
                    objects,
                    list_bytes / count(size.max(1) as u64),
                    resident_mebibytes - idle_mebibytes,
                );
            }
        }
        let mebibytes = list_bytes / 1024.0 / 1024.0;
        let load = Load { clients: LISTERS, seconds: 1 };
        let listing = workload::list(&client, &server, &collection, "list by 16", filled, load);
        let (listed, growth) = workload::memory_growth(&server, listing).await;
        self.measured(listed?);
        let name = format!("memory added by {LISTERS} clients listing {mebibytes:.0} MiB at once");
        self.fact(name, growth, "MiB", Limit::Most(100.0));
        server.stop().await;
        Ok(())
    }

    /// Adds the memory of an object, compared with the size of its JSON.
    fn memory_per_object(&mut self, objects: usize, json: f64, grown_mebibytes: f64) {
        let taken = grown_mebibytes * 1024.0 * 1024.0 / count(objects.max(1) as u64);
        let name =
            format!("memory per object of {json:.0} bytes of JSON, {objects} objects, after making them");
        self.fact(name, taken, "bytes", Limit::Most(1.3 * json + 200.0));
    }
}
