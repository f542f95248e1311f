//! A server as a process: flags, logs, signals; and the other commands of the program.
//!
//! Every command fails with a [`CommandError`], whose text goes to stderr with the flags that it is about.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `for_command` | `test -- COMMAND`: a server in memory as long as a command runs |
//! | `assets` | `test --assets`, `test --index`: the programs that envtest starts |
//! | `beside_etcd` | a server under the name `kube-apiserver` |
//! | `etcd` | a program in the place of etcd, which keeps nothing |
//! | `maintenance` | `storage`: backup and restore |
//! | `checking`, `following`, `moving` | `storage`: check; migrate while servers write; export, import and migrate |
//! | `kubeconfig`, `token`, `manifests` | the commands of these names |
//! | `error` | commands that fail |
//! | `announcement` | the start: in the log, on stdout, and in files |
//! | `ending` | the end: signals, and the files that are removed |
//! | `guard` | a process that cleans up behind a server that is killed |
//! | `parent`, `process` | the process that started this one, and any other one |
//! | `started_as` | the name that the process is started under |
//! | `logging` | the log |

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
use error::CommandError;
#[cfg(feature = "embedded")]
use maintenance::maintain;
use parent::Parent;
use started_as::StartedAs;

mod announcement;
mod assets;
mod beside_etcd;
#[cfg(feature = "embedded")]
mod checking;
mod ending;
mod error;
mod etcd;
#[cfg(feature = "embedded")]
mod following;
mod for_command;
mod guard;
pub(crate) mod kubeconfig;
mod logging;
#[cfg(feature = "embedded")]
mod maintenance;
mod manifests;
#[cfg(feature = "embedded")]
mod moving;
mod parent;
mod process;
#[cfg(feature = "embedded")]
mod progress;
mod started_as;
mod token;

/// Runs a server of these maps' resources as the whole process: parses the command line, serves until SIGTERM
/// or SIGINT, and shuts down gracefully. A second signal ends it at once; SIGHUP is ignored.
///
/// Under the name `etcd` the program takes the place of etcd beside a server for tests, and under the name
/// `kube-apiserver` it recognizes such a neighbour, and keeps its objects in memory.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     apiserver::run_with(apiserver::program!(), &[&resources::STORAGE_MAP])
/// }
/// ```
pub fn run_with(program: Program, maps: &[&'static StorageMap]) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let started_as = StartedAs::read(&arguments);
    match started_as {
        StartedAs::Etcd => return exit(Program { name: "etcd", ..program }, etcd::run(&arguments)),
        StartedAs::Guard => return guard::run(),
        StartedAs::Itself | StartedAs::KubeApiserver => {}
    }
    let options = Options::read(program, arguments);
    run_program(Invocation { program, started_as }, options, maps, false, |builder| builder)
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

/// Like [`run_extension_with`], with flags of its own beside the server's, and whatever `customize` adds to the server:
/// admission plug-ins, post-start hooks, controllers.
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
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if StartedAs::read(&arguments) == StartedAs::Guard {
        return guard::run();
    }
    let (options, flags) = match Options::read_extension::<F>(program, arguments) {
        Ok(read) => read,
        Err(error) => error.exit(),
    };
    let invocation = Invocation { program, started_as: StartedAs::Itself };
    run_program(invocation, Ok(options), maps, true, |builder| customize(builder, flags))
}

/// The program, and the one that it takes the place of.
#[derive(Clone, Copy)]
struct Invocation {
    program: Program,
    started_as: StartedAs,
}

/// No flags beside the server's.
#[derive(clap::Args)]
struct NoFlags {}

fn run_program(
    invocation: Invocation,
    options: Result<Options, clap::Error>,
    maps: &[&'static StorageMap],
    may_be_extension: bool,
    customize: impl FnOnce(ServerBuilder) -> ServerBuilder,
) -> ExitCode {
    let program = invocation.program;
    // The library that creates the store's log files leaves their mode to the umask.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let options = match options {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    let given = options.clone();
    let role = |options: &Options| {
        let is_extension = may_be_extension && !options.delegation.stands_alone(is_in_pod());
        Role::new(may_be_extension, is_extension)
    };
    let outcome: Result<(), CommandError> = match &options.command {
        Some(Command::Storage(command)) => maintain(command, &options, maps),
        Some(Command::Kubeconfig(command)) => kubeconfig::print(&options, command),
        Some(Command::Token(command)) => token::print(&options, command),
        Some(Command::Completion { shell }) => {
            Options::completion(program, shell).map_err(CommandError::from).and_then(print)
        }
        Some(Command::ManPage { command }) => {
            Options::man_page(program, command).map_err(CommandError::from).and_then(print)
        }
        Some(Command::FlagsReference) => print(Options::flags_reference()),
        Some(Command::Manifests(command)) => manifests::print(program, command, maps),
        Some(Command::Test(command)) if command.command.is_empty() => {
            assets::write(command, may_be_extension)
        }
        Some(Command::Test(command)) => {
            let builder = customize(role(&options).builder()).storage_maps(maps);
            let ended = for_command::run(options.clone(), command, builder);
            return exit(program, ended.map_err(|error| with_flags(&given, &error, error.file())));
        }
        None => {
            let builder = customize(role(&options).builder()).storage_maps(maps);
            run(invocation, options, builder).map_err(CommandError::from)
        }
    };
    let outcome = outcome.map_err(|error| with_flags(&given, &error, error.file()));
    exit(program, outcome.map(|()| ExitCode::SUCCESS))
}

/// Writes a text to stdout.
fn print(text: impl AsRef<[u8]>) -> Result<(), CommandError> {
    Ok(std::io::stdout().write_all(text.as_ref())?)
}

/// Returns the text of an error, with the flags that name the file that it is about.
fn with_flags(given: &Options, error: &impl Display, file: Option<&Path>) -> String {
    let text = error.to_string();
    let flags = file.map(|file| given.flags_of_file(file)).unwrap_or_default();
    let missing: Vec<String> = flags.into_iter().filter(|flag| !text.contains(flag.as_str())).collect();
    if missing.is_empty() { text } else { format!("{text} ({})", missing.join(", ")) }
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
    fn new(may_be_extension: bool, is_extension: bool) -> Self {
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

fn run(invocation: Invocation, options: Options, builder: ServerBuilder) -> Result<(), ServerError> {
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(ServerError::Process)?;
    let exported = runtime.block_on(async { telemetry::start(&options) })?;
    let (layer, _exporting) = exported.unzip();
    // Logs go to stderr: stdout is for the announcement. Queued lines are written before the process ends.
    let _log = logging::start(options.verbosity, options.logging_format, layer);
    raise_limit();
    let ending = Ending::default();
    let ended = runtime.block_on(serve(invocation, options, builder, begun, &ending));
    ending.remove_leftovers();
    if ended.is_ok() {
        ending.log();
    }
    ended
}

/// Serves until a signal arrives.
async fn serve(
    invocation: Invocation,
    options: Options,
    builder: ServerBuilder,
    begun: Instant,
    ending: &Ending,
) -> Result<(), ServerError> {
    ending.follow_signals()?;
    let parent = Parent::find();
    let adapted = match invocation.started_as {
        StartedAs::KubeApiserver => ending.shutdown.run_until_cancelled(beside_etcd::adapted(&options)).await,
        _ => Some(None),
    };
    let Some(adapted) = adapted else { return Ok(()) };
    // Nothing has to be saved, and the test waits.
    let patience = if adapted.is_some() { beside_etcd::STOP_PATIENCE } else { Duration::MAX };
    let options = adapted.unwrap_or(options);
    if options.shutdown.exit_with_parent == Some(true) {
        ending.follow_parent(parent, options.serving.cert_dir.as_deref());
    }
    announcement::log_start(invocation.program, &options);
    let ready_file = options.locations.ready_file.clone();
    let builder = builder.options(options.clone()).shutdown(ending.shutdown.clone());
    let built = Box::pin(builder.build());
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
    let serving = ending.bounded(Box::pin(server.serve()), patience);
    let (reported, ()) = tokio::join!(report, serving);
    reported
}

#[cfg(not(feature = "embedded"))]
fn maintain(_: &StorageCommand, _: &Options, _: &[&'static StorageMap]) -> Result<(), CommandError> {
    Err(ServerError::from(crate::storage::EngineError::NotBuilt("embedded")).into())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use crate::pki::PkiError;

    use super::*;

    #[test]
    fn an_error_about_a_file_names_the_flags_of_the_file() {
        let arguments = [
            "apiserver",
            "--client-ca-file=/no/ca.crt",
            "--requestheader-client-ca-file=/no/ca.crt",
            "--tls-sni-cert-key=/no/a b.crt,/no/a.key",
        ];
        let given = Options::from_arguments(arguments).unwrap();
        for (path, flags) in [
            ("/no/ca.crt", " (--client-ca-file, --requestheader-client-ca-file)"),
            ("/no/a b.crt", " (--tls-sni-cert-key)"),
            ("/no/a.key", " (--tls-sni-cert-key)"),
            ("/no/ca", ""),
            ("ca.crt", ""),
        ] {
            let error = PkiError::Read { path: path.into(), source: ErrorKind::NotFound.into() };
            let error = CommandError::from(ServerError::from(error));
            let text = with_flags(&given, &error, error.file());
            assert_eq!(text, format!("cannot read {path}: entity not found{flags}"));
        }
        let named = "--client-ca-file: /no/ca.crt is odd";
        let file = Some(Path::new("/no/ca.crt"));
        assert_eq!(with_flags(&given, &named, file), format!("{named} (--requestheader-client-ca-file)"));
        assert_eq!(with_flags(&given, &"the file /no/ca.crt is odd", None), "the file /no/ca.crt is odd");
    }
}
