//! `apiserver storage migrate --follow`: the way of a store's objects into another one while servers write.

#[cfg(feature = "etcd3")]
use registry_core::storage::embedded::moving::{FollowedStore, FollowedStoreError};
#[cfg(feature = "etcd3")]
use registry_core::storage::etcd3::moving::EtcdMoveError;
use registry_core::storage::moving_key::Earlier;
#[cfg(feature = "etcd3")]
use registry_core::storage::transfer::{
    self, Control, Destination, FollowEvent, FollowSource, Moved, Position, TransferError,
};
#[cfg(feature = "etcd3")]
use tokio::signal::unix::{SignalKind, signal};
#[cfg(feature = "etcd3")]
use tokio::sync::watch;

use crate::options::{FollowArguments, ImportArguments, Options, StoreLocation};
#[cfg(not(feature = "etcd3"))]
use crate::server::error::ServerError;
#[cfg(not(feature = "etcd3"))]
use crate::storage::EngineError;

use super::error::CommandError;
#[cfg(feature = "etcd3")]
use super::moving::{connect, destination, runtime, store_in, summary, with_slash};
#[cfg(feature = "etcd3")]
use super::progress::Progress;

/// Number of revisions up to which a destination has caught up: they are written in a fraction of a second.
#[cfg(feature = "etcd3")]
const CAUGHT_UP: u64 = 100;

/// Prints the progress of the move on standard error.
#[cfg(feature = "etcd3")]
struct ProgressPrinter {
    progress: Progress,
    has_caught_up: bool,
}

/// Returns the way in which a move meets one that has not finished; `None` for a move of a store whose servers are stopped.
pub(super) fn earlier(following: &FollowArguments, arguments: &ImportArguments) -> Option<Earlier> {
    following.follow.then_some(match (following.resume, arguments.restart) {
        (true, _) => Earlier::Resumed,
        (false, true) => Earlier::Removed,
        (false, false) => Earlier::Refused,
    })
}

/// Writes the objects of a store to another one while servers go on, until SIGUSR1 ends it, and reports the result.
///
/// # Errors
/// Fails if a store cannot be read or written, if no server uses an embedded source, or if the source is written at the end.
#[cfg(feature = "etcd3")]
pub(super) fn migrate_online(
    (from, to): (&StoreLocation, &StoreLocation),
    prefix: Option<&str>,
    earlier: Earlier,
    options: &Options,
) -> Result<(), CommandError> {
    let prefix = with_slash(prefix, options);
    let moved = runtime()?.block_on(async {
        let finish = end_signal()?;
        let source = match from {
            StoreLocation::Etcd(servers) => FollowSource::Etcd(connect(servers, options).await?),
            StoreLocation::Embedded(directory) => {
                let followed = FollowedStore::connect(&store_in(directory), finish.clone()).await;
                FollowSource::Embedded(followed.map_err(TransferError::from)?)
            }
        };
        let to = destination(to, options).await?;
        let mut printer = ProgressPrinter::new();
        let mut report_event = |event| printer.print(event);
        let control = Control { finish, report: &mut report_event };
        let followed = transfer::follow(source, &prefix, &to, earlier, control).await;
        followed.map_err(|error| interrupted(error, &to))
    })?;
    super::print(report(to, &moved))
}

#[cfg(not(feature = "etcd3"))]
pub(super) fn migrate_online(
    _: (&StoreLocation, &StoreLocation),
    _: Option<&str>,
    _: Earlier,
    _: &Options,
) -> Result<(), CommandError> {
    Err(ServerError::from(EngineError::NotBuilt("etcd3")).into())
}

/// Returns what becomes true at the signal that ends the move.
#[cfg(feature = "etcd3")]
fn end_signal() -> Result<watch::Receiver<bool>, CommandError> {
    let mut end = signal(SignalKind::user_defined1())?;
    let (sender, finish) = watch::channel(false);
    tokio::spawn(async move {
        while end.recv().await.is_some() {
            sender.send_replace(true);
        }
    });
    Ok(finish)
}

#[cfg(feature = "etcd3")]
fn report(to: &StoreLocation, moved: &Moved) -> String {
    let flag = match to {
        StoreLocation::Embedded(directory) => format!("--data-dir={}", directory.display()),
        StoreLocation::Etcd(servers) => format!("--etcd-servers={}", servers.join(",")),
    };
    format!("{to}: {}, read back\nstart the new servers with {flag}\n", summary(moved))
}

/// Says what to do after an error.
#[cfg(feature = "etcd3")]
fn interrupted(error: TransferError, to: &Destination) -> CommandError {
    let is_kept = match &error {
        TransferError::Etcd(error) => matches!(error, EtcdMoveError::Engine(_) | EtcdMoveError::Compacted),
        TransferError::Followed(error) => !matches!(error, FollowedStoreError::NotServed { .. }),
        TransferError::Unequal { .. } | TransferError::SourceWritten { .. } => true,
        _ => false,
    };
    let hint = match to {
        _ if !is_kept => return error.into(),
        Destination::Etcd(_) => "what was written is kept: go on with --resume",
        Destination::Embedded(_) => "nothing is kept: repeat the command",
    };
    CommandError::Follow { source: error, hint }
}

// === impl ProgressPrinter ===

#[cfg(feature = "etcd3")]
impl ProgressPrinter {
    fn new() -> Self {
        Self { progress: Progress::new(), has_caught_up: false }
    }

    fn print(&mut self, event: FollowEvent) {
        match event {
            FollowEvent::Stage(stage, done) => self.progress.print_stage(stage, done),
            FollowEvent::Following(position) => self.print_position(&position),
            FollowEvent::Compacted => {
                self.has_caught_up = false;
                self.progress.print(
                    "the history of the source was compacted before it was read: its keys are compared again",
                );
            }
            FollowEvent::Unserved => {
                let process = std::process::id();
                self.progress.print(&format!(
                    "the server of the source has ended: end the move with `kill -USR1 {process}`, or start it again"
                ));
            }
            FollowEvent::Finishing => {
                self.progress.print("the last writes are read, and both stores are compared");
            }
        }
    }

    fn print_position(&mut self, position: &Position) {
        let Position { keys, changes, revision, behind } = position;
        let line = format!(
            "{keys} keys copied, {changes} changes followed to revision {revision}, {behind} revisions behind"
        );
        if *behind > CAUGHT_UP || self.has_caught_up {
            return self.progress.print_if_due(&line);
        }
        self.has_caught_up = true;
        let process = std::process::id();
        self.progress.print(&format!(
            "{line}\ncaught up: stop the servers of the source, then end the move with `kill -USR1 {process}`"
        ));
    }
}
