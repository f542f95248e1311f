//! A reader that follows a collection as reflectors do: a list, then watches, each from where the one before ended, from any
//! server; and a list again when the history is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::Failure;
use crate::client::Client;
use crate::history::{Asked, Change, Event, Watch};
use crate::recorder::{Recorder, Target};
use crate::worker::{ListError, Lister};

/// Time without an event after which a watch is opened again elsewhere.
const SILENCE: Duration = Duration::from_secs(2);

/// The end of the round for reflectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The revision that they have to reach.
    pub(crate) revision: u64,
    /// The time after which they give up.
    pub(crate) deadline: Instant,
}

/// A reflector.
pub(crate) struct Reflector {
    pub(crate) index: usize,
    pub(crate) client: Client,
    pub(crate) servers: usize,
    pub(crate) random: fastrand::Rng,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) targets: Arc<[Target]>,
    /// The place of its target in `targets`.
    pub(crate) target: usize,
    pub(crate) end: watch::Receiver<Option<End>>,
    /// Whether it is the one that sees everything: it begins with the first revision, does not pause, and the history that it
    /// has not seen is not removed, as far as this program decides.
    pub(crate) is_witness: bool,
}

/// The way in which a watch ended.
enum Ended {
    /// The history is gone: a list has to follow.
    Gone,
    Other(String),
}

// === impl Reflector ===

impl Reflector {
    /// Follows the collection until the end of the round.
    pub(crate) async fn run(mut self) {
        let targets = Arc::clone(&self.targets);
        let Some(target) = targets.get(self.target) else { return };
        let mut reached = if self.is_witness { target.from } else { 0 };
        let mut must_list = !self.is_witness;
        while !self.is_done(reached) {
            let server = self.random.usize(0..self.servers);
            if must_list {
                match self.list(target, server, reached).await {
                    Ok(revision) => reached = revision,
                    Err(_) => {
                        sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                }
            }
            let ended = self.watch(target, server, &mut reached).await;
            must_list = matches!(ended, Ended::Gone);
            let may_pause = !self.is_witness && self.end.borrow().is_none();
            let is_long = may_pause && self.random.u32(0..8) == 0;
            let pause = if is_long { 500..4000 } else { 10..100 };
            sleep(Duration::from_millis(self.random.u64(pause))).await;
        }
    }

    fn is_done(&self, reached: u64) -> bool {
        let end = *self.end.borrow();
        end.is_some_and(|end| reached >= end.revision || Instant::now() > end.deadline)
    }

    async fn list(&mut self, target: &Target, server: usize, reached: u64) -> Result<u64, ListError> {
        let asked = if reached == 0 { Asked::Consistent } else { Asked::NotOlderThan { at: reached } };
        let mut lister = Lister { index: self.index, client: &mut self.client, recorder: &self.recorder };
        lister.list(target, server, asked, Duration::ZERO).await
    }

    /// Watches until the watch ends, and records it.
    async fn watch(&mut self, target: &Target, server: usize, reached: &mut u64) -> Ended {
        let seconds = self.random.u32(2..8);
        let from = *reached;
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={from}&timeoutSeconds={seconds}",
            target.collection()
        );
        let (_connection, response) = match self.client.watch(server, path).await {
            Ok(opened) => opened,
            Err(error) => {
                self.recorder.fail(&format!("watch: {error}"));
                return Ended::Other(error.to_string());
            }
        };
        let status = response.status().as_u16();
        if status != 200 {
            self.recorder.fail(&format!("watch: {status}"));
            return if status == 410 { Ended::Gone } else { Ended::Other(format!("status {status}")) };
        }
        let mut events = Vec::new();
        let ended = self.follow(target, response.into_body(), &mut events).await;
        *reached = events.last().map_or(from, |event| event.revision);
        let text = match &ended {
            Ended::Gone => "gone",
            Ended::Other(text) => text,
        };
        let (reflector, scope, ended_by) = (self.index, target.scope.clone(), text.to_owned());
        let watch = Watch { reflector, server, scope, from, events, ended: ended_by };
        self.recorder.record(|history| history.watches.push(watch));
        ended
    }

    async fn follow(&mut self, target: &Target, mut body: Incoming, events: &mut Vec<Event>) -> Ended {
        let mut bytes = Vec::new();
        loop {
            if self.is_done(events.last().map_or(0, |event| event.revision)) {
                return Ended::Other("end of the round".to_owned());
            }
            let data = match timeout(SILENCE, body.frame()).await {
                Err(_) => return Ended::Other("silence".to_owned()),
                Ok(None) => return Ended::Other("end".to_owned()),
                Ok(Some(Err(error))) => return Ended::Other(error.to_string()),
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            let at = self.recorder.now();
            bytes.extend_from_slice(&data);
            while let Some(length) = bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = bytes.drain(..=length).collect();
                match event(target, &line, at) {
                    Ok(Some(event)) => {
                        if self.is_witness {
                            target.witnessed.store(event.revision, Ordering::Relaxed);
                        }
                        events.push(event);
                    }
                    Ok(None) => {
                        self.recorder.fail("watch: gone");
                        return Ended::Gone;
                    }
                    Err(error) => {
                        self.recorder.fail(&format!("watch: {error}"));
                        return Ended::Other(error.to_string());
                    }
                }
            }
        }
    }
}

/// Reads an event. Nothing is an error event with the code 410.
fn event(target: &Target, line: &[u8], at: u64) -> Result<Option<Event>, Failure> {
    let event: Value = serde_json::from_slice(line)?;
    let object = event.get("object").ok_or("an event without an object")?;
    let change = match event.get("type").and_then(Value::as_str) {
        Some("ADDED") => Change::Added,
        Some("MODIFIED") => Change::Modified,
        Some("DELETED") => Change::Deleted,
        Some("BOOKMARK") => {
            let revision = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            let revision = revision.ok_or("a bookmark without a revision")?.parse()?;
            let (object, entries, assigned) = Default::default();
            return Ok(Some(Event { at, change: Change::Bookmark, revision, object, entries, assigned }));
        }
        _ if object.get("code").and_then(Value::as_u64) == Some(410) => return Ok(None),
        _ => return Err(format!("an event of error: {object}").into()),
    };
    let (object, version) = target.kind.read(object).ok_or("an event without a version")?;
    let (revision, entries, assigned) = (version.revision, version.entries, version.assigned);
    Ok(Some(Event { at, change, revision, object, entries, assigned }))
}
