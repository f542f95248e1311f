//! A server as a process: flags, logs, signals.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use registry_core::registry::StorageMap;
use rustix::fs::Mode;

#[cfg(not(feature = "embedded"))]
use crate::options::StorageCommand;
use crate::options::{Command, Options, Program};
use crate::server::descriptors::raise_limit;
use crate::server::error::ServerError;
use crate::telemetry;
use crate::{Server, ServerBuilder};

use ending::Ending;
#[cfg(feature = "embedded")]
use maintenance::maintain;

mod announcement;
mod ending;
mod for_command;
pub(crate) mod kubeconfig;
mod logging;
#[cfg(feature = "embedded")]
mod maintenance;
mod manifests;
mod token;

/// Runs a server of these maps' resources as the whole process: parses the command line, serves until SIGTERM
/// or SIGINT, and shuts down gracefully. A second signal ends it at once; SIGHUP is ignored.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     apiserver::run_with(apiserver::program!(), &[&resources::STORAGE_MAP])
/// }
/// ```
pub fn run_with(program: Program, maps: &[&'static StorageMap]) -> ExitCode {
    run_program(program, Options::read(program, std::env::args_os()), maps, false, |builder| builder)
}

/// Runs an extension server of these maps' resources as the whole process: behind the main server of `--kubeconfig`, or of
/// the pod that it runs in. Elsewhere it stands alone, with Kubernetes' resources beside its own. Otherwise like
/// [`run_with`].
///
/// The command `manifests` prints what the server needs in a cluster.
///
/// ```no_run
/// # use resources::STORAGE_MAP; // your own
/// fn main() -> std::process::ExitCode {
///     apiserver::run_extension_with(apiserver::program!(), &[&STORAGE_MAP])
/// }
/// ```
pub fn run_extension_with(program: Program, maps: &[&'static StorageMap]) -> ExitCode {
    run_extension_customized(program, maps, |builder, NoFlags {}| builder)
}

/// Like [`run_extension_with`], with flags of its own beside the server's, and whatever `customize` adds to the server: admission
/// plug-ins, post-start hooks, controllers.
///
/// ```no_run
/// # use resources::STORAGE_MAP; // your own
/// #[derive(clap::Args)]
/// struct MyFlags {
///     /// Greeting in the log
///     #[arg(long, default_value = "hello")]
///     greeting: String,
/// }
///
/// fn main() -> std::process::ExitCode {
///     apiserver::run_extension_customized(apiserver::program!(), &[&STORAGE_MAP], |server, flags: MyFlags| {
///         server.post_start_hook("greet", move |_| {
///             println!("{}", flags.greeting);
///             async { Ok(()) }
///         })
///     })
/// }
/// ```
pub fn run_extension_customized<F: clap::Args>(
    program: Program,
    maps: &[&'static StorageMap],
    customize: impl FnOnce(ServerBuilder, F) -> ServerBuilder,
) -> ExitCode {
    let (options, flags) = match Options::read_extension::<F>(program, std::env::args_os()) {
        Ok(read) => read,
        Err(error) => error.exit(),
    };
    run_program(program, Ok(options), maps, true, |builder| customize(builder, flags))
}

/// No flags beside the server's.
#[derive(clap::Args)]
struct NoFlags {}

fn run_program(
    program: Program,
    options: Result<Options, clap::Error>,
    maps: &[&'static StorageMap],
    may_be_extension: bool,
    customize: impl FnOnce(ServerBuilder) -> ServerBuilder,
) -> ExitCode {
    // The library that creates the store's log files leaves their mode to the umask.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let options = match options {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    let role = |options: &Options| {
        let is_extension = may_be_extension && !options.delegation.stands_alone(is_in_pod());
        Role::of(may_be_extension, is_extension)
    };
    let outcome = match &options.command {
        Some(Command::Storage(command)) => maintain(command, &options),
        Some(Command::Kubeconfig(command)) => kubeconfig::print(&options, command),
        Some(Command::Token(command)) => token::print(&options, command),
        Some(Command::Completion { shell }) => print(&Options::completion(program, *shell)),
        Some(Command::ManPage) => {
            Options::man_page(program).map_err(|error| error.to_string()).and_then(|page| print(&page))
        }
        Some(Command::FlagsReference) => print(Options::flags_reference().as_bytes()),
        Some(Command::Manifests(command)) => manifests::print(program, command, maps),
        Some(Command::Test(command)) => {
            let builder = customize(role(&options).builder());
            return exit(program, for_command::run(options.clone(), command, maps, builder));
        }
        None => {
            let builder = customize(role(&options).builder());
            run(program, options, maps, builder).map_err(|error| error.to_string())
        }
    };
    exit(program, outcome.map(|()| ExitCode::SUCCESS))
}

/// Writes a text to stdout.
fn print(text: &[u8]) -> Result<(), String> {
    std::io::stdout().write_all(text).map_err(|error| error.to_string())
}

/// Returns the exit code of the process. Reports a failure on stderr.
fn exit(program: Program, outcome: Result<ExitCode, impl Display>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}: {error}", program.name);
            ExitCode::FAILURE
        }
    }
}

/// The set of resources that a server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Its maps.
    Server,
    /// Its maps, and Kubernetes' resources.
    Alone,
    /// Its maps, behind a main server.
    Extension,
}

impl Role {
    fn of(may_be_extension: bool, is_extension: bool) -> Self {
        match (may_be_extension, is_extension) {
            (_, true) => Self::Extension,
            (true, false) => Self::Alone,
            (false, false) => Self::Server,
        }
    }

    fn builder(self) -> ServerBuilder {
        match self {
            Self::Server => Server::builder().without_builtin_resources(),
            Self::Alone => Server::builder(),
            Self::Extension => Server::builder().extension(),
        }
    }
}

/// Whether the process runs in a pod whose service account can use the API.
fn is_in_pod() -> bool {
    const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() && Path::new(TOKEN).exists()
}

fn run(
    program: Program,
    options: Options,
    maps: &[&'static StorageMap],
    builder: ServerBuilder,
) -> Result<(), ServerError> {
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(ServerError::Process)?;
    let exported = runtime.block_on(async { telemetry::start(&options) })?;
    let (layer, _exporting) = exported.unzip();
    // Logs go to stderr: stdout is for the announcement. Queued lines are written before the process ends.
    let _log = logging::start(options.verbosity, options.logging_format, layer);
    raise_limit();
    let ending = Ending::default();
    let ended = runtime.block_on(serve(program, options, maps, builder, begun, &ending));
    ending.remove_leftovers();
    if ended.is_ok() {
        ending.log();
    }
    ended
}

/// Serves until a signal arrives.
async fn serve(
    program: Program,
    options: Options,
    maps: &[&'static StorageMap],
    builder: ServerBuilder,
    begun: Instant,
    ending: &Ending,
) -> Result<(), ServerError> {
    ending.follow_signals()?;
    announcement::log_start(program, &options);
    let ready_file = options.locations.ready_file.clone();
    let mut builder = builder.options(options.clone());
    for map in maps {
        builder = builder.storage_map(map);
    }
    let built = Box::pin(builder.shutdown(ending.shutdown.clone()).build());
    // A signal cancels the start, for example while it waits for etcd.
    let Some(server) = ending.shutdown.run_until_cancelled(built).await else { return Ok(()) };
    let server = server?;
    if let Some(directory) = server.temporary_directory() {
        ending.remove_directory(directory);
    }
    announcement::remove_stale(ready_file.as_deref())?;
    announcement::print(&server, &options);
    let (readiness, url) = (server.readiness(), server.url());
    let report = announcement::report_ready(readiness, url, ready_file.as_deref(), begun, ending);
    let (reported, ()) = tokio::join!(report, Box::pin(server.serve()));
    reported
}

#[cfg(not(feature = "embedded"))]
fn maintain(_: &StorageCommand, _: &Options) -> Result<(), String> {
    Err(crate::storage::EngineError::NotBuilt("embedded").to_string())
}
