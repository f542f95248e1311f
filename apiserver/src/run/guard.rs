//! A process beside a command and its server, which ends the command and removes the temporary directory if the server is
//! killed.
//!
//! It is this program under another name. Its standard input is a pipe from the server: it contains orders, and ends when
//! the server does, however that happens. An order is a letter, a text, and a zero byte.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::timeout;

use crate::server::error::ServerError;

use super::process::Process;
use super::started_as::GUARD_NAME;

/// The environment variable by which the command and the processes that it starts are recognized.
pub(super) const MARK: &str = "ORLOP_TEST_SERVER";

/// Orders.
const REMOVE: u8 = b'r';
const END_MARKED: u8 = b'e';
const DISMISS: u8 = b'd';

/// Time that the command has to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);
/// This program, even if its file has been replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// The guard of a server and its command.
pub(super) struct Guard {
    process: Child,
    orders: Option<ChildStdin>,
}

/// The things that a guard process has to do when its server is killed.
#[derive(Default)]
struct Orders {
    directories: Vec<PathBuf>,
    mark: Option<String>,
    is_dismissed: bool,
}

// === impl Guard ===

impl Guard {
    /// Starts the process. It has a process group of its own, so that it outlives signals from a terminal.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
    pub(super) fn start() -> Result<Self, ServerError> {
        let own = Path::new(OWN_PROGRAM);
        let program = if own.exists() { Ok(own.to_owned()) } else { std::env::current_exe() };
        let started = program.and_then(|program| {
            Command::new(program)
                .arg0(GUARD_NAME)
                .process_group(0)
                .current_dir("/")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        let mut process = started.map_err(ServerError::Process)?;
        let orders = process.stdin.take();
        Ok(Self { process, orders })
    }

    /// Orders to remove a directory.
    ///
    /// # Errors
    /// Fails if the process is gone.
    pub(super) fn remove(&mut self, directory: &Path) -> Result<(), ServerError> {
        self.order(REMOVE, directory.as_os_str()).map_err(ServerError::Process)
    }

    /// Orders to end all processes that have been started with this value of [`MARK`].
    ///
    /// # Errors
    /// Fails if the guard's process is gone.
    pub(super) fn end_marked(&mut self, mark: &str) -> Result<(), ServerError> {
        self.order(END_MARKED, OsStr::new(mark)).map_err(ServerError::Process)
    }

    /// Ends the process: nothing has to be done.
    pub(super) fn dismiss(mut self) {
        // It may have been killed.
        let _ = self.order(DISMISS, OsStr::new(""));
        self.orders = None;
        let _ = self.process.wait();
    }

    fn order(&mut self, order: u8, text: &OsStr) -> io::Result<()> {
        let bytes = [&[order], text.as_bytes(), &[0]].concat();
        self.orders.as_mut().map_or(Ok(()), |orders| orders.write_all(&bytes))
    }
}

/// Runs a guard process: waits for the end of the server.
pub(super) fn run() -> ExitCode {
    let orders = Orders::read(&mut io::stdin().lock());
    if orders.is_dismissed {
        return ExitCode::SUCCESS;
    }
    for directory in &orders.directories {
        // What cannot be removed stays.
        let _ = std::fs::remove_dir_all(directory);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let (Some(mark), Ok(runtime)) = (orders.mark, runtime) {
        runtime.block_on(end(&marked(&mark)));
    }
    ExitCode::SUCCESS
}

/// Ends processes, some of which may have ended already.
async fn end(processes: &[Process]) {
    for process in processes {
        process.signal(Signal::TERM);
    }
    let all = async {
        for process in processes {
            let _ = process.ended().await;
        }
    };
    if timeout(PATIENCE, all).await.is_err() {
        for process in processes {
            process.signal(Signal::KILL);
        }
    }
}

/// Returns the processes that have been started with a mark. The command could have been started without its number being
/// known, and it may have started others.
fn marked(mark: &str) -> Vec<Process> {
    let entry = format!("{MARK}={mark}");
    let has_mark = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    let found = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|found| {
        let number = found.file_name().to_str()?.parse().ok().filter(|number| *number > 0)?;
        // Read again once it is open: its number could have become that of another process.
        let process =
            has_mark(&found.path()).then(|| Process::open(Pid::from_raw(number)?).ok()).flatten()?;
        has_mark(&found.path()).then_some(process)
    });
    found.collect()
}

// === impl Orders ===

impl Orders {
    /// Reads orders until there are no more.
    fn read(input: &mut dyn BufRead) -> Self {
        let mut orders = Self::default();
        let mut order = Vec::new();
        // An order that is not complete was never given.
        while input.read_until(0, &mut order).is_ok() && order.pop() == Some(0) {
            let text = order.split_off(order.len().min(1));
            match order.first() {
                Some(&REMOVE) => orders.directories.push(OsString::from_vec(text).into()),
                Some(&END_MARKED) => orders.mark = String::from_utf8(text).ok(),
                Some(&DISMISS) => orders.is_dismissed = true,
                _ => {}
            }
            order.clear();
        }
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_up_to_the_last_complete_one() {
        let orders = Orders::read(&mut &b"r/a b\n\0emark\0r/c\0d"[..]);
        assert_eq!(orders.directories, [Path::new("/a b\n"), Path::new("/c")]);
        assert!(orders.mark.as_deref() == Some("mark") && !orders.is_dismissed);
        assert!(Orders::read(&mut &b"r/a\0d\0"[..]).is_dismissed);
        assert!(marked(&uuid::Uuid::new_v4().to_string()).is_empty());
        for hostile in [&b""[..], b"\0\0", b"e\xff\0", b"x/a\0", b"r/a"] {
            let orders = Orders::read(&mut &*hostile);
            assert!(orders.directories.is_empty() && orders.mark.is_none(), "{hostile:?}");
        }
    }
}
