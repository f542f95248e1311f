//! The address that the server listens on, which is bound before anything is written.

use std::io::ErrorKind;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use crate::options::Options;
use crate::server::error::ServerError;

use super::data_directory::{DataDirectory, DataDirectoryError, ENDING_PATIENCE, ENDING_PAUSE};

/// Binds the address of these options. Waits a moment for a process that is ending.
///
/// # Errors
/// Fails if the address cannot be used. If the server that uses the data directory already is the likely reason, the error
/// says so: another port would not help.
pub(super) async fn listen(options: &Options) -> Result<(TcpListener, SocketAddr), ServerError> {
    let address = SocketAddr::new(options.serving.bind_address, options.serving.secure_port);
    let failed = |source| ServerError::Listen { address, source };
    let deadline = Instant::now() + ENDING_PATIENCE;
    let mut has_said = false;
    let listener = loop {
        match TcpListener::bind(address).await {
            Ok(listener) => break listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < deadline => {
                if !has_said {
                    has_said = true;
                    tracing::info!(patience = ?ENDING_PATIENCE, "waiting for the process that listens on {address} to end");
                }
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let path = options.data_directory();
                let holder = (!options.has_temporary_directory()).then(|| DataDirectory::holder(&path));
                return Err(match holder.flatten() {
                    Some(holder) => DataDirectoryError::Locked { path, holder }.into(),
                    None => failed(error),
                });
            }
            Err(error) => return Err(failed(error)),
        }
        sleep(ENDING_PAUSE).await;
    };
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
