//! Behaviour of informers over a store that does what a test says, with a paused clock.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::registry::store::Store;
use crate::registry::testing::widgets;
use crate::resource::{NoStrategy, ResourceDescription};
use crate::storage::{Revision, StorageError, StoredObject, WatchError, WatchEvent};

use super::{Informer, InformerChange, InformerHandler, Synced};

mod compiled;
mod failing;
mod faulty;
mod following;
mod scripted;

use scripted::{Scripted, entry};

static WIDGETS: ResourceDescription = widgets(|| Arc::new(NoStrategy));

type Item = Result<WatchEvent, WatchError>;

/// A running informer over a scripted store, with a handler that records its calls.
struct Fixture {
    storage: Arc<Scripted>,
    recorder: Arc<Recorder>,
    synced: Synced,
    running: JoinHandle<()>,
}

/// Records its calls, as text.
#[derive(Default)]
struct Recorder {
    calls: Mutex<Vec<String>>,
    /// The key of an object on which it panics, once.
    fatal: Mutex<Option<String>>,
}

// === impl Fixture ===

impl Fixture {
    fn new() -> Self {
        Self::gathering(Duration::ZERO)
    }

    fn gathering(duration: Duration) -> Self {
        let storage = Arc::new(Scripted::default());
        let recorder = Arc::new(Recorder::default());
        let store = Store::new(WIDGETS.instantiate(), storage.clone(), "/registry");
        let informer = Informer::new(store, recorder.clone()).gathering(duration);
        let synced = informer.synced();
        Self { storage, recorder, synced, running: tokio::spawn(informer.run()) }
    }

    /// Scripts a watch that the test feeds.
    fn watch(&self) -> mpsc::UnboundedSender<Item> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.storage.answer(Ok(stream_of(receiver)));
        sender
    }

    /// Scripts a watch that begins with a state, and that the test feeds further.
    fn list(&self, names: &[&str], revision: Revision) -> mpsc::UnboundedSender<Item> {
        let sender = self.watch();
        for name in names {
            send(&sender, added(name, 1));
        }
        send(&sender, bookmark(revision, true));
        sender
    }

    /// Returns the calls since the last time.
    async fn calls(&self) -> Vec<String> {
        sleep(Duration::from_millis(1)).await;
        std::mem::take(&mut *self.recorder.calls.lock())
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.running.abort();
    }
}

// === impl Recorder ===

impl Recorder {
    fn note(&self, call: String) {
        self.calls.lock().push(call);
    }
}

impl InformerHandler for Recorder {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let objects: Vec<String> = objects.iter().map(short).collect();
        self.note(format!("replaced {}", objects.join(" ")).trim_end().to_owned());
    }

    fn changed(&self, change: InformerChange) {
        let object = short(change.object());
        let fatal = self.fatal.lock().take_if(|fatal| *fatal == object);
        assert!(fatal.is_none(), "the test lets the handler panic");
        self.note(match change {
            InformerChange::Added(_) => format!("added {object}"),
            InformerChange::Modified(_) => format!("modified {object}"),
            InformerChange::Deleted(_) => format!("deleted {object}"),
        });
    }

    fn publish(&self) {
        self.note("publish".to_owned());
    }

    fn reached(&self, revision: Revision) {
        self.note(format!("reached {revision}"));
    }
}

fn short(object: &StoredObject) -> String {
    let name = object.key.rsplit('/').next().unwrap();
    format!("{name}@{}", object.revision)
}

fn stream_of(mut receiver: mpsc::UnboundedReceiver<Item>) -> crate::storage::WatchStream {
    futures::stream::poll_fn(move |context| receiver.poll_recv(context)).boxed()
}

fn send(sender: &mpsc::UnboundedSender<Item>, event: WatchEvent) {
    assert!(sender.send(Ok(event)).is_ok(), "the watch is read");
}

fn added(name: &str, revision: Revision) -> WatchEvent {
    WatchEvent::Added(entry("default", name, revision))
}

fn modified(name: &str, revision: Revision) -> WatchEvent {
    WatchEvent::Modified(entry("default", name, revision))
}

fn deleted(name: &str, revision: Revision) -> WatchEvent {
    WatchEvent::Deleted(entry("default", name, revision))
}

fn bookmark(revision: Revision, initial_events_end: bool) -> WatchEvent {
    WatchEvent::Bookmark { revision, initial_events_end }
}

fn unavailable() -> StorageError {
    StorageError::unavailable("the test says so")
}

fn compacted() -> WatchError {
    WatchError::Compacted { requested: 1, oldest: 2 }
}
