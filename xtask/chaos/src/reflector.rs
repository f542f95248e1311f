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
use crate::history::{Asked, Change, Event, Items, List, Version, Watch};
use crate::recorder::{Recorder, Target};
use crate::worker::{ListError, Lister};

/// Time without an event after which a watch is opened again elsewhere, while there are faults.
const SILENCE: Duration = Duration::from_secs(2);

/// The same when the faults are over.
const CALM_SILENCE: Duration = Duration::from_secs(30);

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
    /// An error event. If it is repeated, as for history that cannot be decrypted, a list follows.
    Failed(String),
    Other(String),
}

/// A line of a watch.
enum Received {
    Event(Event),
    /// The end of the events that show the state at the start, with its revision.
    EndOfState(u64),
    /// An error event with the code 410.
    Gone,
    /// Another error event.
    Failed(String),
}

/// A watch while it runs.
struct Following {
    start: u64,
    /// The state at the start, if the watch begins with it and it is not complete yet.
    state: Option<Items>,
    watch: Watch,
}

// === impl Reflector ===

impl Reflector {
    /// Follows the collection until the end of the round.
    pub(crate) async fn run(mut self) {
        let targets = Arc::clone(&self.targets);
        let Some(target) = targets.get(self.target) else { return };
        let mut reached = if self.is_witness { target.from } else { 0 };
        let mut must_list = !self.is_witness;
        let mut failures = 0;
        while !self.is_done(reached) {
            let server = self.random.usize(0..self.servers);
            let streams = must_list && self.random.bool();
            if must_list && !streams {
                let Ok(revision) = self.list(target, server, reached).await else {
                    sleep(Duration::from_millis(100)).await;
                    continue;
                };
                reached = revision;
            }
            let mut following = Following::new(&self, target, server, reached, streams);
            let ended = self.watch(target, &mut following).await;
            failures = if matches!(ended, Ended::Failed(_)) { failures + 1 } else { 0 };
            // The witness does not lose history for it.
            let gives_up = failures > 1 && !self.is_witness;
            must_list = gives_up || matches!(ended, Ended::Gone) || following.state.is_some();
            reached = following.reached();
            following.record(&self.recorder, &ended);
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
        let asked = asked(reached);
        let mut lister = Lister { index: self.index, client: &mut self.client, recorder: &self.recorder };
        lister.list(target, server, asked, Duration::ZERO).await
    }

    /// Watches until the watch ends.
    async fn watch(&mut self, target: &Target, following: &mut Following) -> Ended {
        let seconds = self.random.u32(2..8);
        let begins = match (&following.state, following.watch.from) {
            (Some(_), 0) => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
            (Some(_), from) => {
                format!("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={from}")
            }
            (None, from) => format!("resourceVersion={from}"),
        };
        let collection = target.collection();
        let path =
            format!("{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&{begins}");
        let (_connection, response) = match self.client.watch(following.watch.server, path).await {
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
        self.follow(target, response.into_body(), following).await
    }

    async fn follow(&mut self, target: &Target, mut body: Incoming, following: &mut Following) -> Ended {
        let mut bytes = Vec::new();
        loop {
            if following.state.is_none() && self.is_done(following.reached()) {
                return Ended::Other("end of the round".to_owned());
            }
            let silence = if self.end.borrow().is_some() { CALM_SILENCE } else { SILENCE };
            let data = match timeout(silence, body.frame()).await {
                Err(_) => return Ended::Other("silence".to_owned()),
                Ok(None) => return Ended::Other("end".to_owned()),
                Ok(Some(Err(error))) => return Ended::Other(error.to_string()),
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            let at = self.recorder.now();
            bytes.extend_from_slice(&data);
            while let Some(length) = bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = bytes.drain(..=length).collect();
                let received = received(target, &line, at);
                match received.and_then(|received| following.take(received, at, &self.recorder)) {
                    Ok(None) => {}
                    Ok(Some(ended)) => {
                        self.recorder.fail(&format!("watch: {}", ended.reason()));
                        return ended;
                    }
                    Err(error) => {
                        self.recorder.fail(&format!("watch: {error}"));
                        return Ended::Other(error.to_string());
                    }
                }
            }
            if self.is_witness {
                target.witnessed.store(following.reached(), Ordering::Relaxed);
            }
        }
    }
}

/// Returns the state that a reflector asks for which has reached a revision.
fn asked(reached: u64) -> Asked {
    if reached == 0 { Asked::Consistent } else { Asked::NotOlderThan { at: reached } }
}

// === impl Ended ===

impl Ended {
    fn reason(&self) -> &str {
        match self {
            Self::Gone => "gone",
            Self::Failed(text) | Self::Other(text) => text,
        }
    }
}

// === impl Following ===

impl Following {
    fn new(reflector: &Reflector, target: &Target, server: usize, from: u64, streams: bool) -> Self {
        let (scope, events, ended) = (target.scope.clone(), Vec::new(), String::new());
        let watch = Watch { reflector: reflector.index, server, scope, from, events, ended };
        Self { start: reflector.recorder.now(), state: streams.then(Items::new), watch }
    }

    /// Returns the revision of the last event.
    fn reached(&self) -> u64 {
        self.watch.events.last().map_or(self.watch.from, |event| event.revision)
    }

    /// Takes a line, and records the state at the start when it is complete. Returns the reason if the watch ends with it.
    fn take(&mut self, received: Received, end: u64, recorder: &Recorder) -> Result<Option<Ended>, Failure> {
        match (received, &mut self.state) {
            (Received::Gone, _) => return Ok(Some(Ended::Gone)),
            (Received::Failed(text), _) => return Ok(Some(Ended::Failed(text))),
            (Received::Event(event), None) => self.watch.events.push(event),
            (Received::Event(event), Some(state)) if event.change == Change::Added => {
                let Event { revision, object, entries, assigned, .. } = event;
                state.insert(object, Version { revision, entries, assigned });
            }
            (Received::Event(event), Some(_)) => {
                return Err(format!("{:?} among the events of the state", event.change).into());
            }
            (Received::EndOfState(revision), state) => {
                let items = state.take().ok_or("the end of a state that did not begin")?;
                let Watch { reflector: client, server, scope, from, .. } = &mut self.watch;
                let (client, server, scope, asked) = (*client, *server, scope.clone(), asked(*from));
                let list = List { client, server, scope, start: self.start, end, asked, revision, items };
                *from = revision;
                recorder.record(|history| history.lists.push(list));
            }
        }
        Ok(None)
    }

    /// Records the watch, unless it did not come to its first event.
    fn record(mut self, recorder: &Recorder, ended: &Ended) {
        ended.reason().clone_into(&mut self.watch.ended);
        if self.state.is_none() {
            recorder.record(|history| history.watches.push(self.watch));
        }
    }
}

/// Reads a line of a watch.
fn received(target: &Target, line: &[u8], at: u64) -> Result<Received, Failure> {
    let event: Value = serde_json::from_slice(line)?;
    let object = event.get("object").ok_or("an event without an object")?;
    let change = match event.get("type").and_then(Value::as_str) {
        Some("ADDED") => Change::Added,
        Some("MODIFIED") => Change::Modified,
        Some("DELETED") => Change::Deleted,
        Some("BOOKMARK") => {
            let revision = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            let revision = revision.ok_or("a bookmark without a revision")?.parse()?;
            if object.pointer("/metadata/annotations/k8s.io~1initial-events-end").is_some() {
                return Ok(Received::EndOfState(revision));
            }
            let (object, entries, assigned) = Default::default();
            let change = Change::Bookmark;
            return Ok(Received::Event(Event { at, change, revision, object, entries, assigned }));
        }
        _ if object.get("code").and_then(Value::as_u64) == Some(410) => return Ok(Received::Gone),
        _ => return Ok(Received::Failed(format!("an event of error: {object}"))),
    };
    let (object, version) = target.kind.read(object).ok_or("an event without a version")?;
    let (revision, entries, assigned) = (version.revision, version.entries, version.assigned);
    Ok(Received::Event(Event { at, change, revision, object, entries, assigned }))
}
