//! Processes that are killed, stopped and started again: servers and members of etcd.

use std::fs::OpenOptions;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use crate::Failure;
use crate::preload::Control;

/// A process that can be started again. It ends when it is dropped.
pub(crate) struct Process {
    pub(crate) name: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// The file of its output, which the starts append to.
    log: PathBuf,
    child: Option<Child>,
    /// The control of the library that it loads before libc, if it loads one.
    pub(crate) control: Option<Control>,
}

// === impl Process ===

impl Process {
    /// Describes a process, which is not started yet.
    pub(crate) fn new(name: &str, program: &Path, arguments: Vec<String>, directory: &Path) -> Self {
        let log = directory.join(format!("{name}.log"));
        let (name, program) = (name.to_owned(), program.to_owned());
        Self { name, program, arguments, log, child: None, control: None }
    }

    /// Loads a library before libc from the next start on.
    pub(crate) fn with_control(mut self, control: Option<Control>) -> Self {
        self.control = control;
        self
    }

    /// Runs another program from the next start on.
    pub(crate) fn change_program(&mut self, program: &Path) {
        program.clone_into(&mut self.program);
    }

    pub(crate) fn start(&mut self) -> Result<(), Failure> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        // A file that reaches a size limit is an error instead of a fatal signal.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec env \"$@\"", "sh"]);
        for (name, value) in self.control.iter().flat_map(|control| &control.environment) {
            command.arg(format!("{name}={}", value.display()));
        }
        let child = command
            .arg(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        self.child = Some(child);
        Ok(())
    }

    /// Starts it again if it has given up, as a server does whose etcd does not answer for 20 seconds: a supervisor would. A crash
    /// has another status.
    pub(crate) fn start_again(&mut self) -> Result<(), Failure> {
        let status = self.child.as_mut().map(Child::try_wait).transpose()?.flatten();
        if status.is_some_and(|status| status.code() == Some(1)) { self.start() } else { Ok(()) }
    }

    /// Kills it with SIGKILL and waits for its end.
    ///
    /// # Errors
    /// Fails if it had ended by itself, which no fault explains.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.signal(Signal::KILL)?;
        let mut child = self.child.take().ok_or("the process was not started")?;
        // A killed process ends at once.
        child.wait()?;
        Ok(())
    }

    /// Stops it with SIGSTOP, and waits until the kernel shows it as stopped.
    pub(crate) async fn pause(&mut self) -> Result<(), Failure> {
        let pid = self.signal(Signal::STOP)?;
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_mins(1) {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
            if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err(format!("{} did not stop", self.name).into())
    }

    /// Continues it with SIGCONT.
    pub(crate) fn resume(&mut self) -> Result<(), Failure> {
        self.signal(Signal::CONT).map(|_| ())
    }

    /// Ends it with SIGTERM, and waits until it has ended, without an error.
    pub(crate) async fn end(&mut self) -> Result<(), Failure> {
        self.signal(Signal::TERM)?;
        let child = self.child.as_mut().ok_or("the process was not started")?;
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_mins(2) {
            match child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("{} ended with {status}", self.name).into()),
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        Err(format!("{} did not end", self.name).into())
    }

    /// Limits a resource; without a limit, it may have as much of it as this process.
    pub(crate) fn limit(&mut self, resource: Resource, most: Option<u64>) -> Result<(), Failure> {
        let id = self.signal(Signal::CONT)?;
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or("not a process id")?;
        let maximum = getrlimit(resource).maximum;
        prlimit(Some(pid), resource, Rlimit { current: most.or(maximum), maximum })?;
        Ok(())
    }

    fn signal(&mut self, signal: Signal) -> Result<u32, Failure> {
        let child = self.child.as_mut().ok_or_else(|| format!("{} is not running", self.name))?;
        if let Some(status) = child.try_wait()? {
            return Err(format!("{} ended by itself: {status}; see {}", self.name, self.log.display()).into());
        }
        let id = child.id();
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or("not a process id")?;
        kill_process(pid, signal)?;
        Ok(id)
    }

    /// Checks that it did not end by itself.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        self.signal(Signal::CONT).map(|_| ())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Fails only if it is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns ports that are free at present, and below those that the kernel gives to sockets that ask for any port, so that they are
/// still free when a process starts again.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    let ephemeral = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")?;
    let first =
        ephemeral.split_whitespace().next().ok_or("the range of ephemeral ports is empty")?.parse()?;
    let mut candidates: Vec<u16> = if first > 1024 { 1024..first } else { 1024..u16::MAX }.collect();
    fastrand::shuffle(&mut candidates);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports: Vec<u16> = candidates.into_iter().filter(is_free).take(count).collect();
    if ports.len() == count {
        Ok(ports)
    } else {
        Err(format!("no {count} ports below {first} are free").into())
    }
}
