//! The faults in which a server is refused what it needs: space on its disk or in etcd, and open files.
//!
//! They end without a restart: then writes to all servers have to succeed again.

use std::time::{Duration, Instant};

use rustix::process::Resource;
use serde_json::json;
use tokio::time::sleep;

use super::Injection;
use crate::client::{Client, Reply, Request};
use crate::cluster::Store;
use crate::process::Process;
use crate::{Failure, etcd};

/// The collection of the object that such writes change.
pub(super) const FILLED: &str = "/api/v1/namespaces/default/configmaps";

/// Maximum size of files on a full disk: less than the store has written.
const FULL: u64 = 1024;

/// Number of writes, and the time, after which a refusal must have been noticed.
const WRITES: (u64, Duration) = (50, Duration::from_secs(30));

/// Size of such a write, in bytes.
pub(super) const SMALL: usize = 20_000;

/// Size of a write after a few of which the embedded store needs new files, in bytes.
const LARGE: usize = 900_000;

/// Time in which a server that has files left serves a new connection.
const NEW_CONNECTION: Duration = Duration::from_secs(2);

/// Time in which an alarm of etcd can be changed, and a new connection is served again.
const PATIENCE: Duration = Duration::from_mins(5);

/// Pause before something is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// Returns a write of this size that changes an object that no check looks at.
pub(super) fn filler(bytes: usize) -> Request {
    let path = format!("{FILLED}/filler?fieldManager=filler&force=true");
    let data = json!({ "number": fastrand::u64(..).to_string(), "filler": "x".repeat(bytes) });
    let object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "filler" }, "data": data });
    Request::patch(path, "application/apply-patch+yaml", object)
}

/// Writes until a write is refused with these words, and a read is answered nevertheless. Returns the message of the refusal.
pub(super) async fn refused_write(
    client: &mut Client,
    server: usize,
    bytes: usize,
    words: &str,
) -> Option<String> {
    let (most, longest) = WRITES;
    let begun = Instant::now();
    for _ in 0..most {
        if begun.elapsed() > longest {
            break;
        }
        let Ok(reply) = client.request(server, filler(bytes)).await else { continue };
        let message = reply.reason();
        if reply.status >= 500 && message.contains(words) {
            let list = Request::get(format!("{FILLED}?limit=1"));
            if client.request(server, list).await.is_ok_and(|reply| reply.is_success()) {
                return Some(message);
            }
        }
    }
    None
}

/// Writes until a write is accepted. Returns that it was.
pub(super) async fn accepted_write(client: &mut Client, server: usize, bytes: usize) -> Option<String> {
    let (most, _) = WRITES;
    for _ in 0..most {
        if client.request(server, filler(bytes)).await.is_ok_and(|reply| reply.is_success()) {
            return Some("a write was accepted".to_owned());
        }
    }
    None
}

// === impl Injection ===

impl Injection<'_> {
    /// Lets no file of a server with the embedded store grow. Returns the message of a refused write.
    pub(super) async fn fill_disk(&mut self, server: &mut Process) -> Result<Option<String>, Failure> {
        server.limit(Resource::Fsize, Some(FULL))?;
        let refused = refused_write(&mut self.network.direct_client()?, 0, SMALL, "").await;
        sleep(self.time(1000)).await;
        server.limit(Resource::Fsize, None)?;
        self.await_writes().await?;
        Ok(refused.map(|message| format!("{}: {message}", server.name)))
    }

    /// Lets a server open no file and no connection. It counts if a new connection was not served, while one that was there still
    /// was, and if the embedded store refused a write because it needs a new file.
    pub(super) async fn exhaust_files(
        &mut self,
        index: usize,
        server: &mut Process,
    ) -> Result<Option<String>, Failure> {
        let version = || Request::get("/version".to_owned());
        let mut known = self.network.direct_client()?;
        known.until(index, version, Reply::is_success).await?;
        let newcomer = self.network.direct_client()?.with_patience(NEW_CONNECTION);
        server.limit(Resource::Nofile, Some(0))?;
        let is_refused = newcomer.certificate(index).await.is_err();
        let is_served = known.request(index, version()).await.is_ok_and(|reply| reply.is_success());
        let mut seen = (is_refused && is_served).then(|| "no new connection".to_owned());
        if self.store == Store::Embedded {
            seen = seen.and(refused_write(&mut known, index, LARGE, "").await);
        }
        sleep(self.time(1000)).await;
        server.limit(Resource::Nofile, None)?;
        let lifted = Instant::now();
        while newcomer.certificate(index).await.is_err() {
            if lifted.elapsed() > PATIENCE {
                return Err(
                    format!("{} serves no new connection although it has files again", server.name).into()
                );
            }
            sleep(AGAIN).await;
        }
        self.await_writes().await?;
        Ok(seen.map(|seen| format!("{}: {seen}", server.name)))
    }

    /// Raises etcd's alarm of a database that has reached its quota, until a server refused a write for it and answered a read.
    /// Returns the message.
    pub(super) async fn fill_store(&mut self) -> Result<Option<String>, Failure> {
        let server = self.random.usize(0..self.network.clients.len());
        self.change_alarm(true).await?;
        let refused = refused_write(&mut self.network.direct_client()?, server, SMALL, etcd::NO_SPACE).await;
        sleep(self.time(1000)).await;
        self.change_alarm(false).await?;
        self.await_writes().await?;
        Ok(refused.map(|message| format!("server-{server}: {message}")))
    }

    /// Waits until a write to each server succeeds.
    pub(super) async fn await_writes(&self) -> Result<(), Failure> {
        let mut client = self.network.direct_client()?;
        for server in 0..self.network.clients.len() {
            client.until(server, || filler(SMALL), Reply::is_success).await?;
        }
        Ok(())
    }

    /// Changes the alarm at any member that answers.
    async fn change_alarm(&self, is_raised: bool) -> Result<(), Failure> {
        let begun = Instant::now();
        loop {
            for port in &self.network.member_ports {
                let changed =
                    if is_raised { etcd::raise_alarm(*port).await } else { etcd::lift_alarms(*port).await };
                match changed {
                    Ok(()) => return Ok(()),
                    Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                    Err(_) => sleep(AGAIN).await,
                }
            }
        }
    }
}
