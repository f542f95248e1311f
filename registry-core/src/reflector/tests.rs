//! Reflectors of a source that does what a test says, with a paused clock.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;

type Item = Result<Event<&'static str>, Fault>;

/// The failures of a source.
#[derive(Clone, Debug, thiserror::Error)]
enum Fault {
    #[error("gone")]
    Gone,
    #[error("broken")]
    Broken,
}

/// A source whose answers a test scripts, and the calls of it and of its sink, as text.
#[derive(Clone, Default)]
struct Scripted(Arc<Script>);

#[derive(Default)]
struct Script {
    lists: Mutex<VecDeque<Result<(&'static str, Revision), Fault>>>,
    /// The watches; after them each ends at once.
    watches: Mutex<VecDeque<Result<mpsc::UnboundedReceiver<Item>, Fault>>>,
    calls: Mutex<Vec<(Instant, String)>>,
}

// === impl Scripted ===

impl Scripted {
    fn run(&self) -> JoinHandle<()> {
        tokio::spawn(Reflector::new(self.clone(), self.clone()).run())
    }

    fn list(&self, object: &'static str, revision: Revision) {
        self.0.lists.lock().push_back(Ok((object, revision)));
    }

    /// Scripts a watch that the test feeds.
    fn feed(&self) -> UnboundedSender<Item> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.watches.lock().push_back(Ok(receiver));
        sender
    }

    fn note(&self, call: String) {
        self.0.calls.lock().push((Instant::now(), call));
    }

    /// Returns the calls since the last time.
    async fn calls(&self) -> Vec<String> {
        sleep(Duration::from_millis(60)).await;
        std::mem::take(&mut *self.0.calls.lock()).into_iter().map(|(_, call)| call).collect()
    }
}

impl Source for Scripted {
    type Object = &'static str;
    type Error = Fault;
    type Changes = BoxStream<'static, Item>;

    async fn list(&self) -> Result<Listed<Self>, Fault> {
        self.note("list".to_owned());
        let (object, revision) = self.0.lists.lock().pop_front().unwrap_or(Err(Fault::Broken))?;
        Ok(Listed { objects: vec![object], revision, changes: None })
    }

    async fn watch(&self, after: Revision) -> Result<Self::Changes, Fault> {
        self.note(format!("watch {after}"));
        let Some(watch) = self.0.watches.lock().pop_front() else {
            return Ok(futures::stream::empty().boxed());
        };
        let mut receiver = watch?;
        Ok(futures::stream::poll_fn(move |context| receiver.poll_recv(context)).boxed())
    }

    fn is_gone(error: &Fault) -> bool {
        matches!(error, Fault::Gone)
    }
}

impl Sink<&'static str, Fault> for Scripted {
    async fn replaced(&mut self, objects: Vec<&'static str>) {
        self.note(format!("replaced {}", objects.join(" ")));
    }

    fn changed(&mut self, change: Change<&'static str>) {
        assert_ne!(*change.object(), "fatal", "the test lets the sink panic");
        self.note(format!("changed {}", change.object()));
    }

    fn reached(&mut self, revision: Revision, is_changed: bool) {
        self.note(format!("{} {revision}", if is_changed { "applied" } else { "reached" }));
    }

    fn resumed(&mut self) {
        self.note("resumed".to_owned());
    }

    fn failed(&mut self, ended: &Ended<Fault>, in_a_row: u32) {
        self.note(format!("{ended}, {in_a_row}"));
    }
}

fn changed(object: &'static str, revision: Revision) -> Event<&'static str> {
    Event { revision, change: Some(Change::Modified(object)) }
}

fn bookmark(revision: Revision) -> Event<&'static str> {
    Event { revision, change: None }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_is_resumed_after_the_last_bookmark_or_change() {
    let script = Scripted::default();
    script.list("a", 3);
    let (first, second, _third) = (script.feed(), script.feed(), script.feed());
    let running = script.run();
    assert_eq!(script.calls().await, ["list", "replaced a", "applied 3", "watch 3"]);
    first.send(Ok(changed("b", 4))).unwrap();
    assert_eq!(script.calls().await, ["changed b", "applied 4"]);
    first.send(Ok(bookmark(9))).unwrap();
    first.send(Err(Fault::Broken)).unwrap();
    assert_eq!(script.calls().await, ["reached 9", "broken, 1", "watch 9", "resumed"]);
    second.send(Ok(changed("c", 10))).unwrap();
    drop(second);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        script.calls().await,
        ["changed c", "applied 10", "the watch was closed, 2", "watch 10", "resumed"]
    );
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_again_when_the_revision_is_gone() {
    let script = Scripted::default();
    script.list("a", 3);
    script.list("b", 20);
    script.list("c", 30);
    let first = script.feed();
    script.0.watches.lock().push_back(Err(Fault::Gone));
    let _last = script.feed();
    let running = script.run();
    script.calls().await;
    first.send(Err(Fault::Gone)).unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        script.calls().await,
        [
            "reached 3",
            "gone, 1",
            "list",
            "replaced b",
            "applied 20",
            "watch 20",
            "gone, 2",
            "list",
            "replaced c",
            "applied 30",
            "watch 30",
        ],
        "within a watch, and when it is opened"
    );
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_soon_are_opened_ever_less_often() {
    let script = Scripted::default();
    script.list("a", 3);
    script.list("b", 3);
    let running = script.run();
    sleep(Duration::from_secs(9)).await;
    let calls = std::mem::take(&mut *script.0.calls.lock());
    let opened = calls.iter().filter(|(_, call)| call == "watch 3");
    let opened: Vec<Instant> = opened.map(|(time, _)| *time).collect();
    for (number, pair) in opened.windows(2).enumerate() {
        let (pause, longest) = (pair[1] - pair[0], Duration::from_millis(50 << number));
        let longest = longest.min(Duration::from_secs(5));
        assert!(pause <= longest + Duration::from_millis(1) && pause >= longest / 2, "{number}: {pause:?}");
    }
    let listed: Vec<usize> =
        (0..).zip(&calls).filter(|(_, (_, call))| call == "list").map(|(at, _)| at).collect();
    let resumed = calls.iter().take(listed[1]).filter(|(_, call)| call == "resumed").count();
    assert_eq!(resumed, 5, "then the position may be what is wrong");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lasted_is_resumed_at_once_and_a_panic_leads_to_a_list() {
    let script = Scripted::default();
    for _ in 0..4 {
        script.0.lists.lock().push_back(Err(Fault::Broken));
    }
    script.list("a", 3);
    script.list("b", 5);
    let (first, second, _third) = (script.feed(), script.feed(), script.feed());
    let running = script.run();
    sleep(Duration::from_mins(1)).await;
    script.calls().await;
    drop(first);
    assert_eq!(script.calls().await, ["reached 3", "the watch was closed, 1", "watch 3", "resumed"]);
    second.send(Ok(changed("fatal", 4))).unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        script.calls().await,
        ["the handler panicked, 2", "list", "replaced b", "applied 5", "watch 5"]
    );
    running.abort();
}
