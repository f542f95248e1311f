//! The socket by which the server of a store and commands of the same user meet.
//!
//! It is in the directory of the store, and only its owner can access it. A command sends the version of the protocol and its
//! purpose, and the server answers with its own version:
//!
//! | bytes | from | content |
//! |---|---|---|
//! | 8 | the command | `ORLOPST1` |
//! | 1 | the command | its purpose: `b` a backup, `f` to follow |
//! | 8 | the server | `ORLOPST1`; a server of another version sends another beginning |

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The name of the socket.
pub(super) const SOCKET: &str = "store.sock";
/// That of servers that send backups only, before the protocol had versions.
pub(super) const UNVERSIONED_SOCKET: &str = "backup.sock";
/// The beginning of both sides.
pub(super) const MAGIC: &[u8; 8] = b"ORLOPST1";

/// Time in which a command has to accept bytes, and a server to send some. A backup that stops would keep the removed
/// records of the log on disk.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Backup,
    Follow,
}

/// A command cannot use a server that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GreetingError {
    /// It is of another version. Not retryable.
    #[error("the server is of another version")]
    OtherVersion,
    /// It has ended. Retryable.
    #[error("the server has ended")]
    Ended,
}

// === impl Purpose ===

impl Purpose {
    /// Returns the letter that stands for it.
    pub(super) fn letter(self) -> u8 {
        match self {
            Self::Backup => b'b',
            Self::Follow => b'f',
        }
    }
}

/// Connects to the server that uses the store in a directory; `None` if none listens.
pub(super) fn connect(directory: &Path, purpose: Purpose) -> Result<Option<UnixStream>, GreetingError> {
    let mut sockets = [SOCKET, UNVERSIONED_SOCKET].into_iter();
    let connected = sockets.find_map(|name| UnixStream::connect(directory.join(name)).ok());
    let Some(mut stream) = connected else { return Ok(None) };
    let mut magic = [0; MAGIC.len()];
    let greeting = [&MAGIC[..], &[purpose.letter()]].concat();
    let greeted = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.write_all(&greeting))
        .and_then(|()| stream.read_exact(&mut magic));
    match greeted {
        Err(_) => Err(GreetingError::Ended),
        Ok(()) if magic == *MAGIC => Ok(Some(stream)),
        Ok(()) => Err(GreetingError::OtherVersion),
    }
}
