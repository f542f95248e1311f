//! The changes of an etcd whose servers go on writing, with the times that their keys have left.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Event, EventType, WatchOptions, WatchRequestSender, WatchResponse, WatchResponseStream};
use registry_meta::backoff::Backoff;
use tokio::time::{Instant, sleep, timeout};

use super::super::connection::Safety;
use super::super::errors::unavailable;
use super::super::{Etcd3, signed, unsigned};
use super::leases::RemainingTimes;
use super::{EtcdMoveError, text_key};
use crate::Revision;
use crate::moving_key::{FollowedChange, FollowedChanges, MovingKey};
use crate::mvcc::{MvccError, prefix_end};

/// Time without an answer of the source, whose watch is opened again and again, after which it counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// Time without changes after which a source that cannot be asked for progress counts as read to its end.
const QUIET: Duration = Duration::from_secs(1);
/// The delays between attempts to open the watch.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));

/// Reads the changes of the keys below a prefix, in order.
pub struct EtcdFollower {
    etcd: Arc<Etcd3>,
    prefix: String,
    watch: Option<Opened>,
    /// All changes up to this revision have been returned.
    followed: Revision,
    times: RemainingTimes,
    /// Whether the etcd's reports of progress are reliable: those of older ones can overtake changes.
    reports_progress: bool,
    /// Whether progress is to be asked for: nothing came.
    asks: bool,
    /// The time of the newest change.
    changed: Instant,
}

struct Opened {
    requests: WatchRequestSender,
    responses: WatchResponseStream,
}

// === impl EtcdFollower ===

impl EtcdFollower {
    /// Begins to follow the keys below a prefix such as `/registry/`, after a revision.
    pub fn new(etcd: Arc<Etcd3>, prefix: &str, after: Revision) -> Self {
        Self {
            reports_progress: etcd.watches.request_progress().is_ok(),
            etcd,
            prefix: prefix.to_owned(),
            watch: None,
            followed: after,
            times: RemainingTimes::default(),
            asks: false,
            changed: Instant::now(),
        }
    }

    /// Whether all changes up to a revision that was read at some time have been returned. Of an etcd that does not report
    /// progress that is assumed if none came for a second.
    pub fn has_reached(&self, revision: Revision, read_at: Instant) -> bool {
        let is_quiet = || self.changed.max(read_at).elapsed() >= QUIET;
        self.followed >= revision || (!self.reports_progress && is_quiet())
    }

    /// Returns the next changes, or none if there are none within about this time. The watch is opened again when it ends.
    ///
    /// # Errors
    /// Fails if the history after the changes that were returned was compacted, or if etcd does not answer for half a minute.
    pub async fn next(&mut self, wait: Duration) -> Result<FollowedChanges, EtcdMoveError> {
        let deadline = Instant::now() + GONE_AFTER;
        let mut backoff = BACKOFF;
        loop {
            match self.receive(wait).await {
                Ok(Some(response)) => return self.changes(&response).await,
                Ok(None) => return Ok(FollowedChanges { revision: self.followed, changes: Vec::new() }),
                Err(EtcdMoveError::Engine(MvccError::Unavailable(reason))) if Instant::now() < deadline => {
                    tracing::debug!(%reason, "the watch of the source is opened again");
                    self.watch = None;
                    sleep(backoff.next_pause()).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a response with news. If none came the last time, asks for progress, so that one comes.
    async fn receive(&mut self, wait: Duration) -> Result<Option<WatchResponse>, EtcdMoveError> {
        if self.watch.is_none() {
            self.watch = Some(self.open().await?);
        }
        let Some(Opened { requests, responses }) = &mut self.watch else { return Ok(None) };
        if std::mem::take(&mut self.asks) {
            requests.request_progress().await.map_err(unavailable)?;
        }
        let response = match timeout(wait, responses.message()).await {
            Err(_) => {
                self.asks = self.reports_progress;
                return Ok(None);
            }
            Ok(Ok(Some(response))) => response,
            Ok(Ok(None)) => return Err(unavailable("etcd ended the watch").into()),
            Ok(Err(error)) => return Err(unavailable(error).into()),
        };
        if response.compact_revision() > 0 {
            return Err(EtcdMoveError::Compacted);
        }
        if response.canceled() {
            let reason = response.cancel_reason();
            return Err(unavailable(format!("etcd cancelled the watch: {reason}")).into());
        }
        Ok(Some(response).filter(|response| !response.created()))
    }

    async fn open(&self) -> Result<Opened, EtcdMoveError> {
        let options = WatchOptions::new()
            .with_range(prefix_end(&self.prefix))
            .with_start_revision(signed(self.followed + 1));
        let connection = &self.etcd.connection;
        let opened = connection
            .call(Safety::Read, || {
                let mut client = connection.watch();
                let (start, options) = (self.prefix.clone(), options.clone());
                async move { client.watch(start, Some(options)).await }
            })
            .await?;
        let (requests, responses) = opened.split();
        Ok(Opened { requests, responses })
    }

    async fn changes(&mut self, response: &WatchResponse) -> Result<FollowedChanges, EtcdMoveError> {
        let mut changes = Vec::new();
        for event in response.events() {
            changes.push(self.change(event).await?);
        }
        // With changes, the header's revision may be ahead of them.
        let revision = match changes.last() {
            Some(last) => last.revision(),
            None if self.reports_progress => {
                response.header().map_or(0, |header| unsigned(header.revision()))
            }
            None => 0,
        };
        if !changes.is_empty() {
            self.changed = Instant::now();
        }
        self.followed = self.followed.max(revision);
        Ok(FollowedChanges { revision: self.followed, changes })
    }

    async fn change(&mut self, event: &Event) -> Result<FollowedChange, EtcdMoveError> {
        let present = event.kv().ok_or_else(|| unavailable("etcd sent a change without a key"))?;
        let key = text_key(present.key())?;
        let revision = unsigned(present.mod_revision());
        if event.event_type() == EventType::Delete {
            return Ok(FollowedChange::Delete { key, revision });
        }
        let expires_at_seconds = match present.lease() {
            0 => None,
            lease => Some(self.times.expiry_seconds(&self.etcd, lease).await?),
        };
        Ok(FollowedChange::Put(MovingKey {
            key,
            value: present.value().to_vec().into(),
            create_revision: unsigned(present.create_revision()),
            mod_revision: revision,
            expires_at_seconds,
        }))
    }
}
