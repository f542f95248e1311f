//! A program that takes the place of etcd beside a server for tests, and keeps nothing: it answers health checks, and
//! tells the server that the objects are to be kept in memory.
//!
//! It handles no signals: they end it at once. `GET /health` is answered with 200, as test environments expect, and `GET
//! /version` with the field [`STORAGE_POINTER`], by which [`beside_etcd`](super::beside_etcd) recognizes it.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::error::CommandError;
use super::parent::{Parent, is_of_test_environment};
use super::print;
use arguments::{Arguments, Given};

mod arguments;
mod responses;

pub(super) use responses::{IN_MEMORY, STORAGE_POINTER, VERSION_MARK};

/// Maximum size of the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 8192;
/// Maximum number of open connections; others wait.
const MAX_CONNECTIONS: usize = 64;
/// Time that a client has to send a request, and to read the response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time after a failure to accept a connection, as when the process has no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the program with these arguments, the first of which is its name.
///
/// # Errors
/// Fails if the arguments are wrong, or if an address cannot be listened on.
pub(super) fn run(arguments: &[OsString]) -> Result<ExitCode, CommandError> {
    let arguments = match arguments::read(arguments).map_err(|error| CommandError::Arguments(error.into()))? {
        Given::Help => return print(arguments::HELP).map(|()| ExitCode::SUCCESS),
        Given::Version => return print(responses::version_text()).map(|()| ExitCode::SUCCESS),
        Given::Serve(arguments) => arguments,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(arguments))
}

/// Serves until the parent ends.
async fn serve(arguments: Arguments) -> Result<ExitCode, CommandError> {
    let parent = if arguments.exits_with_parent { Parent::find() } else { Parent::Unseen };
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut addresses = Vec::new();
    for address in &arguments.client_addresses {
        let listener = TcpListener::bind(address.as_str()).await;
        let listener =
            listener.map_err(|source| CommandError::Listen { address: address.clone(), source })?;
        let bound = listener.local_addr()?;
        addresses.push(format!("http://{bound}"));
        tokio::spawn(accept(listener, connections.clone()));
    }
    report(&arguments, &addresses);
    parent.ended().await;
    if let Some(directory) = arguments.data_directory.filter(|directory| is_of_test_environment(directory)) {
        // Whoever created it was killed. What cannot be removed stays.
        let _ = std::fs::remove_dir_all(directory);
    }
    Ok(ExitCode::SUCCESS)
}

/// Says on stderr what the program does and does not do.
fn report(arguments: &Arguments, addresses: &[String]) {
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(
        stderr,
        "etcd: in the place of etcd, without a store: the server beside it keeps its objects in memory. Health checks on {}",
        addresses.join(", ")
    );
    if !arguments.ignored.is_empty() {
        let _ = writeln!(stderr, "etcd: of no effect: {}", arguments.ignored.join(", "));
    }
}

async fn accept(listener: TcpListener, connections: Arc<Semaphore>) {
    loop {
        let Ok(permit) = connections.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((connection, _)) => {
                tokio::spawn(async move {
                    // A client that is slow or gone has no effect on others.
                    let _ = timeout(PATIENCE, respond(connection)).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Answers one request, and closes the connection.
async fn respond(mut connection: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !responses::is_complete(&head) {
        let mut part = [0; 1024];
        let length = connection.read(&mut part).await?;
        if length == 0 {
            return Ok(());
        }
        head.extend_from_slice(part.get(..length).unwrap_or_default());
        if head.len() > MAX_HEAD_BYTES {
            break;
        }
    }
    connection.write_all(&responses::to_request(&head)).await?;
    connection.shutdown().await?;
    // Unread bytes would make the system discard the response.
    let mut rest = [0; 1024];
    while connection.read(&mut rest).await? > 0 {}
    Ok(())
}
