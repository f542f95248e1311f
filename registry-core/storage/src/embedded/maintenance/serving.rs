//! Backups of a store while a server uses it.
//!
//! The server listens at a socket in the directory of the store, which only its owner can access. To each connection it sends
//! the store in the format of backups, without files, and closes it. The reader verifies it.

use std::fs::{self, Permissions};
use std::io::{BufReader, BufWriter, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio_util::task::AbortOnDropHandle;

use super::super::Embedded;
use super::super::load::Loaded;
use super::format::{BackupError, OnRecord, ReadError, Summed};
use super::{MaintenanceError, damaged};

/// The socket in the directory of a store.
const SOCKET: &str = "backup.sock";

/// Time in which a reader has to accept bytes, and a server to send some. A reader that stops would keep the removed
/// records of the log on disk.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pause after a failure to accept a connection: without file descriptors it would fail again at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends a store that is in use to those who back it up, one at a time.
pub(in super::super) struct BackupService {
    socket: PathBuf,
    _task: AbortOnDropHandle<()>,
}

// === impl BackupService ===

impl BackupService {
    /// Listens in the directory of a store. Must be called within a Tokio runtime. The service ends when it is dropped.
    ///
    /// # Errors
    /// Fails if the directory does not admit a socket: its path is longer than about 90 bytes, for example.
    pub(in super::super) fn start(store: &Arc<Embedded>) -> std::io::Result<Self> {
        let socket = store.options.directory.join(SOCKET);
        // A server that was killed left it behind: the directory is locked by this process.
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let task = tokio::spawn(serve(listener, Arc::downgrade(store)));
        Ok(Self { socket, _task: AbortOnDropHandle::new(task) })
    }
}

impl Drop for BackupService {
    fn drop(&mut self) {
        // A socket that is left behind is removed at the next start.
        let _ = fs::remove_file(&self.socket);
    }
}

async fn serve(listener: UnixListener, store: Weak<Embedded>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a backup cannot be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(store) = store.upgrade() else { return };
        let sent = tokio::task::spawn_blocking(move || send(&store, stream)).await;
        match sent {
            Ok(Ok(())) => tracing::info!("the store was sent to a backup"),
            Ok(Err(error)) => tracing::warn!(%error, "the store was not sent to a backup as a whole"),
            // The panic is reported already; the reader sees that the backup is incomplete.
            Err(_panic) => {}
        }
    }
}

fn send(store: &Embedded, stream: tokio::net::UnixStream) -> Result<(), MaintenanceError> {
    let directory = &store.options.directory;
    let failed = |source| MaintenanceError::Io { path: directory.join(SOCKET), source };
    let stream = stream.into_std().map_err(failed)?;
    stream.set_nonblocking(false).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut stream = Summed::new(BufWriter::new(stream));
    let written = stream.write_unverified(&*store.shared.log, directory);
    written.map_err(|error| error.into_error_for(&directory.join(SOCKET)))
}

/// Connects to the server that uses the store in a directory; `None` if it does not accept backups.
pub(super) fn connect(directory: &Path) -> Option<UnixStream> {
    let stream = UnixStream::connect(directory.join(SOCKET)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    Some(stream)
}

/// Visits all records of the store that a server sends, and verifies them. Returns what they contain.
pub(super) fn receive(
    server: UnixStream,
    directory: &Path,
    visit: OnRecord<'_>,
) -> Result<Loaded, BackupError> {
    let mut received = Summed::new(BufReader::new(server));
    received.read_store(&mut |revision, bytes| visit(revision, &bytes)).map_err(|error| match error {
        ReadError::Damaged(reason) => BackupError::Store(damaged(directory, reason)),
        ReadError::OtherVersion => {
            BackupError::Store(MaintenanceError::OtherVersion { path: directory.join(SOCKET) })
        }
        ReadError::Io(_) => {
            BackupError::Store(MaintenanceError::Interrupted { directory: directory.to_owned() })
        }
        ReadError::Reader(error) => BackupError::Written(error),
    })
}
