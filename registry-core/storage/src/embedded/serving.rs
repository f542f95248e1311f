//! The store of a running server, for commands of the same user: backups of it, and moves that follow it.
//!
//! The server listens at the [`socket`](super::socket) in the directory of the store. For a backup it sends the store in the
//! format of backups, without files, and closes the connection; the reader verifies it. A command that follows asks
//! [questions](super::moving::questions). The server keeps nothing for it between two of them: a command that is too slow
//! learns that the history was compacted, as every watch does.

use std::fs::{self, Permissions};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::Embedded;
use super::maintenance::MaintenanceError;
use super::maintenance::format::Summed;
use super::moving::questions::{Answer, Question, answer};
use super::socket::{MAGIC, PATIENCE, Purpose, SOCKET, UNVERSIONED_SOCKET};

/// Pause after a failure to accept a connection: without file descriptors it would fail again at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of connections at the same time; more wait.
const MAX_CONNECTIONS: usize = 32;
/// Maximum number of commands that follow at the same time; more are refused.
const MAX_FOLLOWERS: usize = 8;

/// Sends a store that is in use to commands of the same user.
pub(super) struct StoreService {
    socket: PathBuf,
    _task: AbortOnDropHandle<()>,
}

/// The connections of a service.
struct Places {
    connections: Arc<Semaphore>,
    /// One at a time, because it reads everything.
    backups: Semaphore,
    followers: Semaphore,
}

// === impl StoreService ===

impl StoreService {
    /// Listens in the directory of a store. Must be called within a Tokio runtime. The service ends when it is dropped.
    ///
    /// # Errors
    /// Fails if the directory does not admit a socket: its path is longer than about 90 bytes, for example.
    pub(super) fn start(store: &Arc<Embedded>) -> std::io::Result<Self> {
        let socket = store.options.directory.join(SOCKET);
        // Servers that were killed left them behind: the directory is locked by this process.
        for left in [&socket, &store.options.directory.join(UNVERSIONED_SOCKET)] {
            match fs::remove_file(left) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let task = tokio::spawn(serve(listener, Arc::downgrade(store)));
        Ok(Self { socket, _task: AbortOnDropHandle::new(task) })
    }
}

impl Drop for StoreService {
    fn drop(&mut self) {
        // A socket that is left behind is removed at the next start.
        let _ = fs::remove_file(&self.socket);
    }
}

async fn serve(listener: UnixListener, store: Weak<Embedded>) {
    let places = Arc::new(Places {
        connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        backups: Semaphore::new(1),
        followers: Semaphore::new(MAX_FOLLOWERS),
    });
    // Ends the connections when the service ends.
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = places.connections.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a backup or a move cannot be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (store, places) = (store.clone(), places.clone());
        connections.spawn(async move {
            let _place = place;
            attend(stream, store, &places).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Serves a connection. A panic is reported already; the other side sees that it is closed.
async fn attend(mut stream: tokio::net::UnixStream, store: Weak<Embedded>, places: &Places) {
    let purpose = match timeout(PATIENCE, greet(&mut stream)).await {
        Ok(Ok(Some(purpose))) => purpose,
        Ok(Ok(None)) => return tracing::warn!("a command of another version wants the store"),
        Ok(Err(error)) => return tracing::debug!(%error, "a connection ended before it was used"),
        Err(_late) => return tracing::debug!("a connection was not used"),
    };
    match purpose {
        Purpose::Backup => {
            let Ok(_place) = places.backups.acquire().await else { return };
            let Some(store) = store.upgrade() else { return };
            match tokio::task::spawn_blocking(move || send_backup(&store, stream)).await {
                Ok(Ok(())) => tracing::info!("the store was sent to a backup"),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the store was not sent to a backup as a whole");
                }
                Err(_panic) => {}
            }
        }
        Purpose::Follow => {
            tracing::info!("the store is followed by a move");
            let outcome = answer_questions(&mut stream, &store, places).await;
            tracing::info!(?outcome, "the store is not followed by that move any more");
        }
    }
}

/// Exchanges versions. Returns the purpose of the command; `None` if it is of another version.
async fn greet(stream: &mut tokio::net::UnixStream) -> std::io::Result<Option<Purpose>> {
    let mut greeting = [0; MAGIC.len() + 1];
    stream.read_exact(&mut greeting).await?;
    stream.write_all(MAGIC).await?;
    let purposes = [Purpose::Backup, Purpose::Follow];
    let [magic @ .., letter] = greeting;
    Ok(purposes.into_iter().find(|purpose| magic == *MAGIC && purpose.letter() == letter))
}

async fn answer_questions(
    stream: &mut tokio::net::UnixStream,
    store: &Weak<Embedded>,
    places: &Places,
) -> std::io::Result<()> {
    let place = places.followers.try_acquire();
    while let Some(question) = Question::read(stream).await? {
        let Some(shared) = store.upgrade().map(|store| store.shared.clone()) else { return Ok(()) };
        let answer = match &place {
            Ok(_) => answer(&shared, question).await,
            Err(_) => Answer::Failed(format!("{MAX_FOLLOWERS} moves follow it already")),
        };
        timeout(PATIENCE, answer.write(stream)).await??;
    }
    Ok(())
}

fn send_backup(store: &Embedded, stream: tokio::net::UnixStream) -> Result<(), MaintenanceError> {
    let directory = &store.options.directory;
    let failed = |source| MaintenanceError::Io { path: directory.join(SOCKET), source };
    let stream = stream.into_std().map_err(failed)?;
    stream.set_nonblocking(false).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut stream = Summed::new(BufWriter::new(stream));
    let written = stream.write_unverified(&*store.shared.log, directory);
    written.map_err(|error| error.into_error_for(&directory.join(SOCKET)))
}
