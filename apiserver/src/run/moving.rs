//! `apiserver storage export`, `import` and `migrate`: the way of a store's objects into a file, and into another store.

#[cfg(feature = "etcd3")]
use std::io::Write as _;
use std::path::Path;
#[cfg(feature = "etcd3")]
use std::sync::Arc;
#[cfg(feature = "etcd3")]
use std::time::Duration;

#[cfg(feature = "etcd3")]
use registry_core::storage::etcd3::Etcd3;
use registry_core::storage::transfer::{self, Destination, Moved, Source};
use tokio::runtime::Runtime;

use crate::options::{ImportArguments, Options, StoreLocation};
use crate::server::error::ServerError;
use crate::storage::EngineError;
#[cfg(feature = "etcd3")]
use crate::storage::etcd_options;
use crate::version::SERVER_VERSION;

use super::error::CommandError;
use super::progress::Progress;

/// Time without an answer of etcd after which the command says that it waits.
#[cfg(feature = "etcd3")]
const WAITING_AFTER: Duration = Duration::from_secs(2);

/// Writes the objects of a store to a file, and reports the result.
///
/// # Errors
/// Fails if the store cannot be read, or the file cannot be written.
pub(super) fn export(
    from: &StoreLocation,
    prefix: Option<&str>,
    file: &Path,
    options: &Options,
) -> Result<(), CommandError> {
    let runtime = runtime()?;
    let prefix = with_slash(prefix, options);
    let mut source = runtime.block_on(open(from, &prefix, options))?;
    let mut progress = Progress::new();
    let mut report = |stage, done| progress.print_stage(stage, done);
    let moved = runtime.block_on(transfer::export(&mut source, file, SERVER_VERSION, &mut report))?;
    let file = file.display();
    super::print(format!("{file}: {}, prefix {prefix}\n{}", summary(&moved), left_out(&source)))
}

/// Writes the objects of an exported file to a store, and reports the result.
///
/// # Errors
/// Fails if the file cannot be read, or the store cannot be written or is not empty.
pub(super) fn import(
    to: &StoreLocation,
    arguments: &ImportArguments,
    file: &Path,
    options: &Options,
) -> Result<(), CommandError> {
    let mut source = Source::file(file)?;
    let moved = runtime()?.block_on(move_into(to, &mut source, arguments, options))?;
    super::print(format!("{to}: {}, read back\n{}", summary(&moved), other_prefix(&source, options)))
}

/// Writes the objects of a store to another one, and reports the result.
///
/// # Errors
/// Fails if a store cannot be read or written, or the destination is not empty.
pub(super) fn migrate(
    from: &StoreLocation,
    to: &StoreLocation,
    prefix: Option<&str>,
    arguments: &ImportArguments,
    options: &Options,
) -> Result<(), CommandError> {
    let runtime = runtime()?;
    let mut source = runtime.block_on(open(from, &with_slash(prefix, options), options))?;
    let moved = runtime.block_on(move_into(to, &mut source, arguments, options))?;
    let notes = left_out(&source) + &other_prefix(&source, options);
    super::print(format!("{to}: {}, read back\n{notes}", summary(&moved)))
}

/// Returns the runtime of a command. Its thread drives connections while the command waits for a disk.
pub(super) fn runtime() -> Result<Runtime, CommandError> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// Returns the prefix of the keys to move, with the slash that ends it.
pub(super) fn with_slash(prefix: Option<&str>, options: &Options) -> String {
    match prefix {
        Some(prefix) => format!("/{}/", prefix.trim_matches('/')).replace("//", "/"),
        None => format!("{}/", options.storage.key_prefix()),
    }
}

/// Opens a store to read it.
async fn open(from: &StoreLocation, prefix: &str, options: &Options) -> Result<Source, CommandError> {
    match from {
        StoreLocation::Embedded(directory) => Ok(Source::embedded(&store_in(directory), prefix)?),
        StoreLocation::Etcd(servers) => etcd_source(servers, prefix, options).await,
    }
}

/// Returns the directory of the embedded store in a data directory.
pub(super) fn store_in(data_directory: &Path) -> std::path::PathBuf {
    data_directory.join("storage")
}

/// Opens a store to write it.
pub(super) async fn destination(to: &StoreLocation, options: &Options) -> Result<Destination, CommandError> {
    match to {
        StoreLocation::Embedded(directory) => Ok(Destination::Embedded(store_in(directory))),
        StoreLocation::Etcd(servers) => etcd_destination(servers, options).await,
    }
}

async fn move_into(
    to: &StoreLocation,
    source: &mut Source,
    arguments: &ImportArguments,
    options: &Options,
) -> Result<Moved, CommandError> {
    let destination = destination(to, options).await?;
    let mut progress = Progress::new();
    let mut report = |stage, done| progress.print_stage(stage, done);
    Ok(transfer::import(source, &destination, arguments.options(), &mut report).await?)
}

#[cfg(feature = "etcd3")]
pub(super) async fn etcd_source(
    servers: &[String],
    prefix: &str,
    options: &Options,
) -> Result<Source, CommandError> {
    let etcd = connect(servers, options).await?;
    Ok(Source::etcd(etcd, prefix).await?)
}

#[cfg(feature = "etcd3")]
async fn etcd_destination(servers: &[String], options: &Options) -> Result<Destination, CommandError> {
    Ok(Destination::Etcd(connect(servers, options).await?))
}

/// Connects to an etcd, whatever is in it, without compacting it.
#[cfg(feature = "etcd3")]
pub(super) async fn connect(servers: &[String], options: &Options) -> Result<Arc<Etcd3>, CommandError> {
    let connection = options.storage.connection_to(servers).map_err(ServerError::from)?;
    let connecting = Etcd3::connect(etcd_options(connection, Duration::ZERO));
    let waiting = async {
        tokio::time::sleep(WAITING_AFTER).await;
        let _ = writeln!(std::io::stderr(), "waiting for etcd at {}", servers.join(", "));
        std::future::pending().await
    };
    let connected = tokio::select! {
        connected = connecting => connected,
        never = waiting => match never {},
    };
    Ok(connected.map_err(EngineError::from).map_err(ServerError::from)?)
}

#[cfg(not(feature = "etcd3"))]
#[expect(clippy::unused_async, reason = "etcd is waited for where it is built")]
pub(super) async fn etcd_source(_: &[String], _: &str, _: &Options) -> Result<Source, CommandError> {
    Err(ServerError::from(EngineError::NotBuilt("etcd3")).into())
}

#[cfg(not(feature = "etcd3"))]
#[expect(clippy::unused_async, reason = "etcd is waited for where it is built")]
async fn etcd_destination(_: &[String], _: &Options) -> Result<Destination, CommandError> {
    Err(ServerError::from(EngineError::NotBuilt("etcd3")).into())
}

pub(super) fn summary(moved: &Moved) -> String {
    format!("{} keys, revision {}", moved.keys, moved.revision)
}

/// Says how many keys of the source do not have the prefix.
fn left_out(source: &Source) -> String {
    match source.other_keys() {
        0 => String::new(),
        keys => format!("{keys} keys that do not begin with {} are left out\n", source.prefix()),
    }
}

/// Says that servers need another flag to find the keys.
fn other_prefix(source: &Source, options: &Options) -> String {
    if source.prefix() == with_slash(None, options) {
        return String::new();
    }
    format!("servers find the keys with --etcd-prefix={}\n", source.prefix().trim_end_matches('/'))
}
