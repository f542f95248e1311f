//! `apiserver test -- COMMAND`: a server in memory as long as a command runs.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::ServerBuilder;
use crate::options::{Options, TestCommand};
use crate::server::data_directory::{create_private, new_temporary_path};
use crate::server::descriptors::raise_limit;
use crate::server::error::ServerError;

use super::ending::Ending;
use super::guard::{Guard, MARK};
use super::parent::Parent;
use super::{announcement, logging};

/// The variable that tells clients the path of their kubeconfig.
const KUBECONFIG: &str = "KUBECONFIG";
/// Time that open connections have to end after the command. Nothing has to be saved.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(50);
/// Added to the number of a signal that ended the command, as shells do.
const SIGNAL_EXIT_CODE: u8 = 128;

/// Starts a server, runs a command with its kubeconfig once it is ready, and stops the server when the command has ended.
/// Returns the exit code of the command.
///
/// # Errors
/// Fails if the server or the command cannot be started.
pub(super) fn run(
    options: Options,
    command: &TestCommand,
    builder: ServerBuilder,
) -> Result<ExitCode, ServerError> {
    let mut options = options.for_command();
    let mut guard = Guard::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(ServerError::Process)?;
    let _log = logging::start_for_command(options.verbosity, options.logging_format);
    raise_limit();
    let ending = Ending::default();
    if options.has_temporary_directory() {
        options.locations.data_dir = Some(temporary_directory(&mut guard, &ending)?);
        options.locations.removes_data_dir = true;
    }
    let status = runtime.block_on(serve(options, &command.command, builder, &ending, &mut guard));
    runtime.shutdown_background();
    ending.remove_leftovers();
    guard.dismiss();
    status.map(exit_code)
}

/// Creates a directory for temporary files that is removed at the end, and if this process is killed.
fn temporary_directory(guard: &mut Guard, ending: &Ending) -> Result<PathBuf, ServerError> {
    let path = new_temporary_path();
    // Before it exists, so that there is no moment at which it would stay.
    guard.remove(&path)?;
    create_private(&path).map_err(|source| ServerError::Write { path: path.clone(), source })?;
    ending.remove_directory(&path);
    Ok(path)
}

async fn serve(
    options: Options,
    command: &[OsString],
    builder: ServerBuilder,
    ending: &Ending,
    guard: &mut Guard,
) -> Result<ExitStatus, ServerError> {
    let begun = Instant::now();
    ending.follow_signals()?;
    if options.shutdown.exit_with_parent == Some(true) {
        ending.follow_parent(Parent::find(), None);
    }
    let stopping = CancellationToken::new();
    let given_kubeconfig = options.locations.write_kubeconfig.clone();
    let builder = builder.options(options).shutdown(stopping.clone());
    let server = Box::pin(builder.build()).await?;
    let kubeconfig = given_kubeconfig.unwrap_or_else(|| server.kubeconfig_path());
    let readiness = server.readiness();
    let serving = tokio::spawn(Box::pin(server.serve()));
    let ready = ending.shutdown.run_until_cancelled(announcement::until_ready(&readiness, begun)).await;
    let status = match ready {
        Some(()) => {
            let kubeconfig = std::path::absolute(&kubeconfig).unwrap_or(kubeconfig);
            // Before the command runs, so that there is no moment at which it would stay.
            let mark = uuid::Uuid::new_v4().to_string();
            guard.end_marked(&mark)?;
            let child = spawn(command, kubeconfig.into_os_string(), &mark)?;
            wait(child, &ending.shutdown).await
        }
        None => Ok(ExitStatus::from_raw(Signal::TERM.as_raw())),
    };
    stopping.cancel();
    // The server ends with the process in any case.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, serving).await;
    status
}

/// Starts the command.
fn spawn(command: &[OsString], kubeconfig: OsString, mark: &str) -> Result<Child, ServerError> {
    let failed = |name: &str, source| ServerError::Command { name: name.to_owned(), source };
    let Some((program, arguments)) = command.split_first() else {
        return Err(failed("", std::io::Error::other("no command is given")));
    };
    let child = Command::new(program).args(arguments).env(KUBECONFIG, kubeconfig).env(MARK, mark).spawn();
    child.map_err(|error| failed(&program.to_string_lossy(), error))
}

/// Waits for the end of the command. A signal to this process is passed on to it.
async fn wait(mut child: Child, signalled: &CancellationToken) -> Result<ExitStatus, ServerError> {
    let pid = Pid::from_child(&child);
    let waiting = tokio::task::spawn_blocking(move || child.wait());
    tokio::pin!(waiting);
    let waited = tokio::select! {
        waited = &mut waiting => waited,
        () = signalled.cancelled() => {
            // It may have ended in this moment.
            let _ = kill_process(pid, Signal::TERM);
            waiting.await
        }
    };
    waited.map_err(std::io::Error::other).flatten().map_err(ServerError::Process)
}

/// Returns the exit code that a shell has after a command that ended like this.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
    let code = code.or_else(|| signal.map(|signal| SIGNAL_EXIT_CODE.saturating_add(signal)));
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (15, 143), (9, 137)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), ExitCode::from(code), "{raw}");
        }
    }
}
