//! The command line of etcd, as far as a program without a store needs it.

use std::ffi::OsString;
use std::path::PathBuf;

/// The help. Test environments look for `--unsafe-no-fsync` at the beginning of a line.
pub(super) const HELP: &str = "\
Usage:

  etcd [flags]
    Takes the place of etcd beside a server for tests. It keeps nothing: it answers health checks, and a
    server of the same build, named kube-apiserver and started with --etcd-servers, keeps its objects in
    memory. Other clients of etcd get no answers.

Flags:

  --listen-client-urls 'http://localhost:2379'
    List of URLs to answer health checks on. They are http://HOST:PORT.
  --advertise-client-urls 'http://localhost:2379'
    Accepted, of no effect.
  --listen-peer-urls 'http://localhost:2380'
    Accepted, of no effect: there are no peers.
  --data-dir 'DIRECTORY'
    Nothing is written to it. If its name is that of a directory of envtest
    (k8s_test_framework_...) and the parent of this process is killed, it is removed.
  --unsafe-no-fsync 'false'
    Accepted, of no effect: nothing is written.
  --exit-with-parent 'true'
    End when the process that started this one ends.
  --version
    Print the version.
  --help
    Print this help.

All other flags of etcd are accepted, reported on stderr, and of no effect, except those of TLS, which are
refused.
";

/// The URL that etcd listens on if it is not told otherwise.
const DEFAULT_URL: &str = "http://localhost:2379";

/// Flags of etcd that are expected, and of no effect.
const EXPECTED: [&str; 4] = ["advertise-client-urls", "listen-peer-urls", "unsafe-no-fsync", "name"];

/// Flags without which clients would not be served as they expect.
const REFUSED: [&str; 7] = [
    "cert-file",
    "key-file",
    "client-cert-auth",
    "trusted-ca-file",
    "auto-tls",
    "config-file",
    "listen-client-http-urls",
];

/// The request of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Serve.
    Serve(Arguments),
}

/// The arguments of a program that serves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// Addresses to listen on, as `HOST:PORT`.
    pub(super) client_addresses: Vec<String>,
    /// The directory that etcd would keep its data in.
    pub(super) data_directory: Option<PathBuf>,
    pub(super) exits_with_parent: bool,
    /// Flags of no effect that nobody would expect to have none.
    pub(super) ignored: Vec<String>,
}

/// Error of a command line of etcd.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentsError {
    #[error("{} is not UTF-8", .0.display())]
    NoText(OsString),
    #[error("'{0}' is not a valid flag: see etcd --help")]
    NoFlag(String),
    #[error("--{0} is not supported without a store: leave it out, or start a real etcd")]
    NeedsStore(String),
    #[error("--{name}: {value:?} is neither true nor false")]
    NoBool { name: String, value: String },
    #[error("--listen-client-urls: {0:?} is not http://HOST:PORT")]
    Scheme(String),
    #[error("--listen-client-urls: {0:?} names no host and port")]
    NoPort(String),
}

/// Reads a command line, which starts with the program's name. Flags have one hyphen or two, and their values follow `=`
/// or are the next argument, as Go reads them.
///
/// # Errors
/// Fails if something cannot be done; the text names it.
pub(super) fn read(arguments: &[OsString]) -> Result<Given, ArgumentsError> {
    let mut urls = DEFAULT_URL.to_owned();
    let mut read = Arguments {
        client_addresses: Vec::new(),
        data_directory: None,
        exits_with_parent: true,
        ignored: Vec::new(),
    };
    let mut arguments = arguments.iter().skip(1).peekable();
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().ok_or_else(|| ArgumentsError::NoText(argument.clone()))?;
        let Some(flag) =
            text.strip_prefix("--").or_else(|| text.strip_prefix('-')).filter(|flag| !flag.is_empty())
        else {
            return Err(ArgumentsError::NoFlag(text.to_owned()));
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, None),
        };
        if matches!(name, "help" | "h") {
            return Ok(Given::Help);
        }
        if name == "version" {
            return Ok(Given::Version);
        }
        let is_value = |next: &&OsString| !next.as_encoded_bytes().starts_with(b"-");
        let value =
            value.or_else(|| arguments.next_if(is_value).map(|next| next.to_string_lossy().into_owned()));
        match name {
            "listen-client-urls" => urls = value.unwrap_or_default(),
            "data-dir" => read.data_directory = value.map(PathBuf::from),
            "exit-with-parent" => read.exits_with_parent = truth(name, value.as_deref())?,
            name if REFUSED.contains(&name) => {
                return Err(ArgumentsError::NeedsStore(name.to_owned()));
            }
            name if EXPECTED.contains(&name) => {}
            name => read.ignored.push(format!("--{name}")),
        }
    }
    read.client_addresses = urls.split(',').map(address).collect::<Result<_, _>>()?;
    Ok(Given::Serve(read))
}

fn truth(name: &str, value: Option<&str>) -> Result<bool, ArgumentsError> {
    match value {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(value) => Err(ArgumentsError::NoBool { name: name.to_owned(), value: value.to_owned() }),
    }
}

/// Returns the address of a URL.
fn address(url: &str) -> Result<String, ArgumentsError> {
    let rest = url.trim().strip_prefix("http://").ok_or_else(|| ArgumentsError::Scheme(url.to_owned()))?;
    let address = rest.strip_suffix('/').unwrap_or(rest);
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(address.to_owned()),
        _ => Err(ArgumentsError::NoPort(url.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(flags: &[&str]) -> Result<Given, String> {
        let arguments: Vec<OsString> = std::iter::once(&"etcd").chain(flags).map(Into::into).collect();
        read(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_of_envtest_is_read() {
        let flags = [
            "--advertise-client-urls=http://127.0.0.1:4001",
            "--data-dir=/tmp/k8s_test_framework_1",
            "--listen-client-urls=http://127.0.0.1:4001",
            "--listen-peer-urls=http://127.0.0.1:4002",
            "--unsafe-no-fsync=true",
        ];
        let expected = Arguments {
            client_addresses: vec!["127.0.0.1:4001".to_owned()],
            data_directory: Some("/tmp/k8s_test_framework_1".into()),
            exits_with_parent: true,
            ignored: Vec::new(),
        };
        assert_eq!(given(&flags), Ok(Given::Serve(expected)));
        assert!(HELP.lines().any(|line| line.trim_start().starts_with("--unsafe-no-fsync ")));
    }

    #[test]
    fn other_command_lines_are_read_as_go_does_or_refused() {
        let Ok(Given::Serve(read)) = given(&[
            "-listen-client-urls",
            "http://[::1]:0,http://localhost:2379/",
            "--quota-backend-bytes",
            "8",
            "--exit-with-parent=false",
            "--debug",
        ]) else {
            panic!("it is refused");
        };
        assert_eq!(read.client_addresses, ["[::1]:0", "localhost:2379"]);
        assert_eq!(read.ignored, ["--quota-backend-bytes", "--debug"]);
        assert!(!read.exits_with_parent);
        assert_eq!(given(&["--anything", "--help"]), Ok(Given::Help));
        assert_eq!(given(&["-version"]), Ok(Given::Version));
        for (flags, reason) in [
            (&["serve"][..], "'serve' is not a valid flag"),
            (&["--"], "'--' is not a valid flag"),
            (&["-"], "'-' is not a valid flag"),
            (&["--cert-file=a"], "--cert-file is not supported"),
            (&["--listen-client-urls=https://127.0.0.1:1"], "is not http://HOST:PORT"),
            (&["--listen-client-urls=http://127.0.0.1"], "names no host and port"),
            (&["--listen-client-urls=http://127.0.0.1:65536"], "names no host and port"),
            (&["--listen-client-urls="], "is not http://HOST:PORT"),
            (&["--listen-client-urls"], "is not http://HOST:PORT"),
            (&["--exit-with-parent=2"], "neither true nor false"),
        ] {
            let refused = given(flags).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
