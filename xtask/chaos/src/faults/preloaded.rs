//! The faults that a library makes which servers load before libc: disks that fail, and clocks that jump.
//!
//! They end without a restart: then writes to all servers have to succeed again.

use hyper::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Injection;
use super::refusals::{FILLED, SMALL, accepted_write, filler, refused_write};
use crate::Failure;
use crate::client::{Client, Reply, Request};
use crate::cluster::Store;
use crate::preload::{Control, Counter, DiskFault};
use crate::process::Process;

/// The shortest and the longest jump of a clock, in seconds: two minutes and six hours.
const JUMP_SECONDS: (i64, i64) = (120, 6 * 3_600);

/// Returns the time of day at a server, if it is the machine's and this offset.
async fn jumped_time(client: &mut Client, server: usize, offset_seconds: i64) -> Option<Timestamp> {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "clock-" } });
    let create = Request::with_body(Method::POST, format!("{FILLED}?dryRun=All"), object);
    let offset = SignedDuration::from_secs(offset_seconds);
    // The server cuts the fraction off.
    let earliest = Timestamp::now() + offset - SignedDuration::from_secs(1);
    let reply = client.request(server, create).await.ok().filter(Reply::is_success)?;
    let latest = Timestamp::now() + offset;
    let created = reply.body.pointer("/metadata/creationTimestamp").and_then(Value::as_str)?;
    let created: Timestamp = created.parse().ok()?;
    (earliest..=latest).contains(&created).then_some(created)
}

fn control(server: &Process) -> Result<&Control, Failure> {
    server.control.as_ref().ok_or_else(|| format!("{} has not loaded the library", server.name).into())
}

// === impl Injection ===

impl Injection<'_> {
    /// Lets accesses to the files of a server with the embedded store fail. Returns the message of a refused write, or that a write was
    /// accepted although the disk took it in parts.
    pub(super) async fn fail_disk(
        &mut self,
        server: &Process,
        fault: DiskFault,
    ) -> Result<Option<String>, Failure> {
        let mut client = self.network.direct_client()?;
        let control = control(server)?;
        let before = control.count(Counter::Disk(fault))?;
        control.set_disk_fault(Some(fault))?;
        let seen = match fault {
            DiskFault::FailWrites | DiskFault::FailSyncs => refused_write(&mut client, 0, SMALL, "").await,
            DiskFault::ShortenWrites => accepted_write(&mut client, 0, SMALL).await,
        };
        sleep(self.time(1000)).await;
        control.set_disk_fault(None)?;
        let is_changed = control.count(Counter::Disk(fault))? > before;
        self.await_writes().await?;
        Ok(seen.filter(|_| is_changed).map(|seen| format!("{}: {seen}", server.name)))
    }

    /// Lets the clock of a server jump forwards and backwards; over etcd, the server may start while it is wrong. It counts if the server
    /// was seen to have both times. It has to write meanwhile.
    pub(super) async fn jump_clock(
        &mut self,
        index: usize,
        server: &mut Process,
    ) -> Result<Option<String>, Failure> {
        let (shortest, longest) = JUMP_SECONDS;
        let mut directions = [1, -1];
        self.random.shuffle(&mut directions);
        let mut seen = Vec::new();
        for direction in directions {
            let offset_seconds = direction * self.random.i64(shortest..longest);
            let before = control(server)?.count(Counter::ChangedTimes)?;
            control(server)?.set_clock_offset(offset_seconds)?;
            // The embedded store has no other clock than that of its machine across a start.
            if self.store != Store::Embedded && self.random.u32(0..4) == 0 {
                server.kill()?;
                server.start()?;
            }
            self.network.await_server(index, server).await?;
            let mut client = self.network.direct_client()?;
            client.until(index, || filler(SMALL), Reply::is_success).await?;
            let time = jumped_time(&mut client, index, offset_seconds).await;
            sleep(self.time(1500)).await;
            client.until(index, || filler(SMALL), Reply::is_success).await?;
            let is_changed = control(server)?.count(Counter::ChangedTimes)? > before;
            seen.extend(time.filter(|_| is_changed).map(|_| format!("{offset_seconds:+} s")));
        }
        control(server)?.set_clock_offset(0)?;
        self.await_writes().await?;
        Ok((seen.len() == directions.len()).then(|| format!("{}: {}", server.name, seen.join(", "))))
    }
}
