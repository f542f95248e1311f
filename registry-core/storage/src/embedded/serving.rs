//! The store of a running server, for commands of the same user: backups of it, and moves that follow it.
//!
//! The server listens at a socket in the directory of the store, which only its owner can access. A command sends the version of the
//! protocol and its purpose, and the server answers with its own version:
//!
//! | bytes | from | content |
//! |---|---|---|
//! | 8 | the command | `ORLOPST1` |
//! | 1 | the command | its purpose: `b` a backup, `f` to follow |
//! | 8 | the server | `ORLOPST1`; a server of another version sends another beginning |
//!
//! For a backup the server then sends the store in the format of backups, without files, and closes the connection; the reader
//! verifies it. A command that follows asks [questions](super::moving::questions). The server keeps nothing for it between two of
//! them: a command that is too slow learns that the history was compacted, as every watch does.

use std::fs::{self, Permissions};
use std::io::{BufReader, BufWriter, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::Embedded;
use super::load::Loaded;
use super::maintenance::format::{BackupError, OnRecord, ReadError, Summed};
use super::maintenance::{MaintenanceError, damaged};
use super::moving::questions::{Answer, Question, answer};

/// The socket in the directory of a store.
const SOCKET: &str = "store.sock";
/// The one of servers that send backups only, before the protocol had versions.
const UNVERSIONED_SOCKET: &str = "backup.sock";
/// The beginning of both sides.
const MAGIC: &[u8; 8] = b"ORLOPST1";

/// Time in which a command has to accept bytes, and a server to send some. A backup that stops would keep the removed
/// records of the log on disk.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// Pause after a failure to accept a connection: without file descriptors it would fail again at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of connections at the same time; more wait.
const MAX_CONNECTIONS: usize = 32;
/// Maximum number of commands that follow at the same time; more are refused.
const MAX_FOLLOWERS: usize = 8;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Backup,
    Follow,
}

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

// === impl Purpose ===

impl Purpose {
    fn letter(self) -> u8 {
        match self {
            Self::Backup => b'b',
            Self::Follow => b'f',
        }
    }
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

/// Connects to the server that uses the store in a directory; `None` if none listens.
///
/// # Errors
/// Fails if the server is of another version, or ends meanwhile.
pub(super) fn connect(directory: &Path, purpose: Purpose) -> Result<Option<UnixStream>, MaintenanceError> {
    let sockets = [SOCKET, UNVERSIONED_SOCKET].into_iter();
    let Some(mut stream) = sockets.filter_map(|name| UnixStream::connect(directory.join(name)).ok()).next()
    else {
        return Ok(None);
    };
    let mut magic = [0; MAGIC.len()];
    let greeting = [&MAGIC[..], &[purpose.letter()]].concat();
    let greeted = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.write_all(&greeting))
        .and_then(|()| stream.read_exact(&mut magic));
    match greeted {
        Err(_) => Err(MaintenanceError::Interrupted { directory: directory.to_owned() }),
        Ok(()) if magic == *MAGIC => Ok(Some(stream)),
        Ok(()) => Err(MaintenanceError::OtherServer { directory: directory.to_owned() }),
    }
}

/// Visits all records of the store that a server sends, and verifies them. Returns what they contain.
pub(super) fn receive_backup(
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
