//! The end of the process: the signals that ask for it, and the files that it removes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::server::error::ServerError;

use super::parent::{Parent, is_of_test_environment};

/// Time after which a shutdown that has not ended is logged.
const LONG_SHUTDOWN: Duration = Duration::from_secs(1);
/// Maximum time of a shutdown after the parent's end: nobody is left to send a second signal.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(5);

/// The end of a process. Clones are of the same process.
#[derive(Clone, Default)]
pub(super) struct Ending {
    /// Cancelled when the process is to end.
    pub(super) shutdown: CancellationToken,
    reason: Arc<OnceLock<&'static str>>,
    leftovers: Arc<Mutex<Vec<Leftover>>>,
}

/// Something that is removed at the end.
enum Leftover {
    Directory(PathBuf),
    /// A file, unless another process has replaced it since.
    File {
        path: PathBuf,
        content: String,
    },
}

// === impl Ending ===

impl Ending {
    /// Begins the shutdown at the first signal. The second one ends the process. SIGHUP, by which other servers read their
    /// files again or end, has no effect.
    ///
    /// # Errors
    /// Fails if the signals cannot be received.
    pub(super) fn follow_signals(&self) -> Result<(), ServerError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(ServerError::Process)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ServerError::Process)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(ServerError::Process)?;
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                tracing::info!(
                    "SIGHUP changes nothing: the files that may change while the server runs are read again every 10 \
                     seconds or more often"
                );
            }
        });
        let ending = self.clone();
        tokio::spawn(async move {
            let mut next = async || {
                tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                }
            };
            let name = next().await;
            ending.begin(name);
            tokio::select! {
                _ = next() => {}
                never = log_long_shutdown(name) => match never {},
            }
            ending.remove_leftovers();
            std::process::exit(1);
        });
        Ok(())
    }

    /// Begins the shutdown when the process that started this one ends, after which the process ends within a few
    /// seconds. What a test environment would have removed is removed then, if the directory is its own.
    pub(super) fn follow_parent(&self, parent: Parent, directory: Option<&Path>) {
        let ending = self.clone();
        let directory = directory.map(Path::to_owned);
        tokio::spawn(async move {
            parent.ended().await;
            if let Some(directory) = directory.filter(|directory| is_of_test_environment(directory)) {
                ending.remove_directory(&directory);
            }
            ending.begin("the parent ended");
            tokio::time::sleep(ORPHAN_PATIENCE).await;
            ending.remove_leftovers();
            std::process::exit(1);
        });
    }

    /// Waits for the end of a server, at most this long after the beginning of the shutdown.
    pub(super) async fn bounded(&self, serving: impl Future<Output = ()>, patience: Duration) {
        let is_over = async {
            self.shutdown.cancelled().await;
            tokio::time::sleep(patience).await;
        };
        tokio::select! {
            () = serving => {}
            () = is_over => tracing::info!("requests were not completed in time"),
        }
    }

    /// Begins the shutdown for this reason, unless it has begun.
    fn begin(&self, reason: &'static str) {
        // Set once only.
        let _ = self.reason.set(reason);
        self.shutdown.cancel();
    }

    /// Adds a directory that is removed at the end.
    pub(super) fn remove_directory(&self, path: &Path) {
        self.add(Leftover::Directory(path.to_owned()));
    }

    /// Adds a file that is removed at the end if it still has this content.
    pub(super) fn remove_file(&self, path: &Path, content: &str) {
        self.add(Leftover::File { path: path.to_owned(), content: content.to_owned() });
    }

    fn add(&self, leftover: Leftover) {
        self.leftovers.lock().push(leftover);
    }

    /// Removes the files that were added. What cannot be removed stays.
    pub(super) fn remove_files(&self) {
        let mut leftovers = self.leftovers.lock();
        leftovers.retain(|leftover| {
            let Leftover::File { path, content } = leftover else { return true };
            if std::fs::read_to_string(path).is_ok_and(|present| present == *content) {
                let _ = std::fs::remove_file(path);
            }
            false
        });
    }

    /// Removes everything that was added. What cannot be removed stays.
    pub(super) fn remove_leftovers(&self) {
        self.remove_files();
        for leftover in self.leftovers.lock().drain(..) {
            if let Leftover::Directory(path) = leftover {
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }

    /// Logs the end, with its reason.
    pub(super) fn log(&self) {
        let reason = self.reason.get().copied().unwrap_or("asked by the program");
        tracing::info!(reason, "stopped");
    }
}

/// Says how a shutdown that takes long can be ended. Never completes.
async fn log_long_shutdown(signal: &str) -> std::convert::Infallible {
    tokio::time::sleep(LONG_SHUTDOWN).await;
    tracing::info!("stopping because of {signal}; a second signal ends the process at once");
    std::future::pending().await
}
