//! The announcement of the process at its start: in the log, on stdout, and in files.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use registry_core::backoff::Backoff;

use crate::Server;
use crate::options::{Options, StorageBackend};
use crate::pki::write_private;
use crate::server::Readiness;
use crate::server::error::ServerError;

use super::Program;
use super::ending::Ending;

/// The pauses between checks of the readiness.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(100));
/// Time after which the checks that fail are logged.
const LONG_START: Duration = Duration::from_secs(30);

/// Logs the program and the flags that were given.
pub(super) fn log_start(program: Program, options: &Options) {
    let name = program.name;
    let version = program.long_version();
    let data_directory = if options.has_temporary_directory() {
        "temporary".to_owned()
    } else {
        absolute(&options.data_directory())
    };
    tracing::info!(version, data_directory, flags = given_flags(options), "starting {name}");
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).as_deref().unwrap_or(path).display().to_string()
}

/// Returns the flags whose values differ from the default.
fn given_flags(options: &Options) -> String {
    let mut text = String::new();
    for (name, value) in options.changed_flags() {
        let separator = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}--{name}={value}");
    }
    text
}

/// Prints the server's URL and how to use it, once the port is open.
pub(super) fn print(server: &Server, options: &Options) {
    let url = server.url();
    let directory = server.data_dir();
    let directory = directory.display();
    let places = match (options.storage.backend(), server.temporary_directory()) {
        (StorageBackend::Embedded, _) => format!("data in {directory}"),
        (StorageBackend::Etcd3, _) => format!("data in etcd, files in {directory}"),
        (StorageBackend::Memory, None) => format!("data in memory, files in {directory}"),
        (StorageBackend::Memory, Some(_)) => format!("data in memory, files in {directory} until the end"),
    };
    let kubeconfig = match &options.locations.write_kubeconfig {
        Some(path) => absolute(path),
        None => server.kubeconfig_path().display().to_string(),
    };
    let kubeconfig = shell_word(&kubeconfig);
    let _ = writeln!(std::io::stdout().lock(), "Serving on {url}, {places}\nexport KUBECONFIG={kubeconfig}");
}

/// Returns a text as a shell reads it: in quotes if it has other characters than usual paths.
fn shell_word(text: &str) -> Cow<'_, str> {
    let is_usual = |character: char| character.is_alphanumeric() || "/._-+@%=:,".contains(character);
    if text.chars().all(is_usual) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

/// Removes a file that says that a server is ready and was left by one that was killed.
///
/// # Errors
/// Fails if it cannot be removed.
pub(super) fn remove_stale(ready_file: Option<&Path>) -> Result<(), ServerError> {
    let Some(path) = ready_file else { return Ok(()) };
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let source = std::io::Error::other("it is not a regular file");
        return Err(ServerError::Write { path: path.to_owned(), source });
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(ServerError::Write { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Waits until the server is ready, and says so in the log and in a file, which is removed when the shutdown begins. If the
/// file cannot be written, the shutdown begins.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) async fn report_ready(
    readiness: Readiness,
    url: String,
    ready_file: Option<&Path>,
    begun: Instant,
    ending: &Ending,
) -> Result<(), ServerError> {
    if ending.shutdown.run_until_cancelled(until_ready(&readiness, begun)).await.is_none() {
        return Ok(());
    }
    tracing::info!(url, ready_after_ms = begun.elapsed().as_millis(), "serving");
    let Some(path) = ready_file else { return Ok(()) };
    let content = format!("{url}\n");
    ending.remove_file(path, &content);
    if let Err(error) = write_private(path, &content) {
        ending.shutdown.cancel();
        return Err(error.into());
    }
    ending.shutdown.cancelled().await;
    ending.remove_files();
    Ok(())
}

/// Waits until the server is ready. Logs the checks that fail, if that takes long.
pub(super) async fn until_ready(readiness: &Readiness, begun: Instant) {
    let mut backoff = BACKOFF;
    let mut has_said = false;
    loop {
        let failures = readiness.failures().await;
        if failures.is_empty() {
            return;
        }
        if !has_said && begun.elapsed() >= LONG_START {
            has_said = true;
            tracing::warn!("the server is not ready yet: {}", failures.join("; "));
        }
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell_if_they_have_to_be() {
        assert_eq!(
            shell_word("/home/ada/apiserver-data/admin.kubeconfig"),
            "/home/ada/apiserver-data/admin.kubeconfig"
        );
        assert_eq!(shell_word("/my data/it's"), r"'/my data/it'\''s'");
    }
}
