//! Kills a server, a backup and a restore before each system call that changes a file.
//!
//! strace reports each call before it happens and delays it, so that the kill arrives in between. On a busy
//! machine the kill may arrive later, at another call: the tests do not depend on which one.
//!
//! A run over all calls takes minutes: by default the calls are sampled. With `ORLOP_EVERY_SYSCALL=1` each
//! call is tried.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use kube::api::PostParams;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::config_map;
use crate::process::Process;

/// The system calls that change files.
const CALLS: &str = "mkdir,mkdirat,rename,renameat,renameat2,fsync,fdatasync,write,writev,pwrite64,ftruncate,fallocate,\
                     unlink,unlinkat,rmdir,link,linkat,chmod,fchmod,fchmodat,openat,copy_file_range";

/// Delay of each call by strace, in microseconds: longer than the kill takes to arrive.
const DELAY_MICROSECONDS: &str = "1500";

/// A server that makes no call for this long has started.
const QUIET: Duration = Duration::from_millis(1500);

/// The server's program under strace. Killed when dropped.
struct Traced {
    strace: Child,
    output: Receiver<String>,
    /// The program's process id, once known.
    program: Option<Pid>,
    /// Only calls that name a path in this directory count.
    directory: String,
    line: String,
    is_counted: bool,
    calls: Vec<String>,
}

// === impl Traced ===

impl Traced {
    /// Starts the server's program. Calls that name a path beside `file` count.
    fn spawn(file: &Path, arguments: &[&str]) -> Self {
        let strace = std::env::var_os("ORLOP_STRACE").unwrap_or_else(|| "strace".into());
        let mut strace = Command::new(strace)
            .args(["-f", "-y", "-qq", "--seccomp-bpf", "-o", "/dev/stdout", "-e", "signal=none"])
            .args(["-e", &format!("trace={CALLS}")])
            .args(["-e", &format!("inject={CALLS}:delay_enter={DELAY_MICROSECONDS}")])
            .arg(env!("CARGO_BIN_EXE_apiserver"))
            .args(arguments)
            // Working copies are created there.
            .env("TMPDIR", file.parent().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("strace runs (cargo xtask test installs it)");
        let mut pipe = strace.stdout.take().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                if sender.send(String::from_utf8_lossy(&buffer[..length]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self {
            strace,
            output,
            program: None,
            directory: file.parent().unwrap().to_str().unwrap().to_owned(),
            line: String::new(),
            is_counted: false,
            calls: Vec::new(),
        }
    }

    /// Runs the program until it is about to make its `number`th call, ends, or makes no more calls.
    fn run_to_call(&mut self, number: usize) {
        // The runtime wakes its threads by writing, so that there is always some output: only counted calls count.
        let mut last_call = Instant::now();
        let mut counted = self.calls.len();
        while self.calls.len() < number && last_call.elapsed() < QUIET {
            let Ok(text) = self.output.recv_timeout(QUIET) else { return };
            for character in text.chars() {
                self.take(character);
            }
            // The part of a call that has been printed identifies it.
            self.count();
            if self.calls.len() > counted {
                counted = self.calls.len();
                last_call = Instant::now();
            }
        }
    }

    fn take(&mut self, character: char) {
        if character == '\n' {
            self.count();
            self.line.clear();
            self.is_counted = false;
        } else {
            self.line.push(character);
        }
    }

    fn count(&mut self) {
        let Some((id, call)) = self.line.split_once(' ') else { return };
        let Ok(id) = id.parse() else { return };
        let call = call.trim_start();
        // The first thread is the program's main thread.
        self.program = self.program.or(Pid::from_raw(id));
        let changes = call.contains(&self.directory)
            && call.starts_with(|first: char| first.is_ascii_lowercase())
            && (!call.starts_with("openat") || call.contains("O_CREAT"));
        if changes && !self.is_counted {
            self.is_counted = true;
            self.calls.push(call.to_owned());
        }
    }

    fn kill(&mut self) {
        if let Some(program) = self.program {
            // It may have ended already.
            let _ = kill_process(program, Signal::KILL);
        }
        self.strace.wait().unwrap();
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if let Some(program) = self.program.take() {
            let _ = kill_process(program, Signal::KILL);
        }
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

/// Returns the calls of a program that is not killed.
fn all_calls(directory: &Path, arguments: &[&str]) -> Vec<String> {
    let mut traced = Traced::spawn(directory, arguments);
    traced.run_to_call(usize::MAX);
    traced.kill();
    std::mem::take(&mut traced.calls)
}

/// Kills a program before its `number`th call. Returns the call.
fn kill_before(directory: &Path, arguments: &[&str], number: usize) -> String {
    let mut traced = Traced::spawn(directory, arguments);
    traced.run_to_call(number);
    traced.kill();
    traced.calls.pop().unwrap_or_default()
}

/// Returns the numbers of the calls to be tried: all, or a sample with the first and the last.
fn sample(calls: usize, samples: usize) -> Vec<usize> {
    assert!(calls > samples, "strace reports only {calls} calls");
    if std::env::var_os("ORLOP_EVERY_SYSCALL").is_some() {
        return (1..=calls).collect();
    }
    (0..samples).map(|sample| 1 + sample * (calls - 1) / (samples - 1)).collect()
}

fn storage(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apiserver"));
    command.env("TMPDIR", directory.parent().unwrap());
    command.arg("--data-dir").arg(directory).arg("storage").args(arguments).output().unwrap()
}

/// Fails unless a command succeeds; returns its output, without the directory.
fn succeeds(directory: &Path, arguments: &[&str], place: &str) -> String {
    let output = storage(directory, arguments);
    assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().next().unwrap().split_once(": ").unwrap().1.to_owned()
}

/// Returns all files that could be left of an interrupted write.
fn temporary_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(temporary_files(&path));
        } else if path.to_str().unwrap().contains("tmp-") || path.extension().is_some_and(|end| end == "tmp")
        {
            found.push(path);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_that_is_killed_before_any_call_can_be_repeated() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    let arguments = ["--secure-port=0", "--data-dir", directory.to_str().unwrap()];
    let calls = all_calls(&directory, &arguments);
    for number in sample(calls.len(), 20) {
        fs::remove_dir_all(&directory).unwrap();
        let call = kill_before(&directory, &arguments, number);
        let place = format!("killed before call {number}, {call}");
        println!("{place}");
        let mut process = Process::spawn(&directory, &[]);
        process.announced();
        process.ready(&place).await;
        let maps = process.config_maps().await;
        maps.create(&PostParams::default(), &config_map("created", "1")).await.unwrap();
        process.kill();
        succeeds(&directory, &["check"], &place);
    }
}

/// Creates the directory of a stopped server.
async fn stopped_server(directory: &Path) {
    let process = Process::start(directory);
    process.ready("a first start").await;
    let maps = process.config_maps().await;
    for number in 0..20 {
        maps.create(&PostParams::default(), &config_map(&format!("m{number}"), "1")).await.unwrap();
    }
    process.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_killed_before_any_call_leaves_the_old_one_or_the_new_one() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    stopped_server(&directory).await;
    let file = home.path().join("file.backup");
    let data = directory.to_str().unwrap();
    let name = file.to_str().unwrap();
    let arguments = ["--data-dir", data, "storage", "backup", name];
    let calls = all_calls(&file, &arguments);
    let complete = fs::read(&file).unwrap();
    let expected = succeeds(&directory, &["check"], "before");
    for number in sample(calls.len(), 3) {
        for old in [None, Some("old")] {
            match old {
                None => fs::remove_file(&file).unwrap(),
                Some(old) => fs::write(&file, old).unwrap(),
            }
            let call = kill_before(&file, &arguments, number);
            let place = format!("killed before call {number}, {call}");
            println!("{place}");
            let found = fs::read_to_string(&file).ok();
            let is_old = found.as_deref() == old;
            assert!(is_old || fs::read(&file).unwrap() == complete, "{place}: {found:?}");
            assert_eq!(succeeds(&directory, &["check"], &place), expected, "{place}");
            assert_eq!(succeeds(&directory, &["backup", name], &place), expected, "{place}");
            assert_eq!(fs::read(&file).unwrap(), complete, "{place}");
            assert_eq!(temporary_files(home.path()), [""; 0].map(PathBuf::from), "{place}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_that_is_killed_before_any_call_leaves_no_store_or_a_whole_one() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    stopped_server(&original).await;
    let file = home.path().join("file.backup");
    let name = file.to_str().unwrap();
    succeeds(&original, &["backup", name], "before");
    let directory = home.path().join("restored");
    let arguments = ["--data-dir", directory.to_str().unwrap(), "storage", "restore", name];
    let calls = all_calls(&directory, &arguments);
    let expected = succeeds(&directory, &["check"], "a whole one");
    for number in sample(calls.len(), 10) {
        fs::remove_dir_all(&directory).unwrap();
        let call = kill_before(&directory, &arguments, number);
        let place = format!("killed before call {number}, {call}");
        println!("{place}");
        let again = storage(&directory, &["restore", name]);
        let is_refused = !again.status.success();
        if is_refused {
            let error = String::from_utf8_lossy(&again.stderr);
            assert!(error.contains("is not empty"), "{place}: {error}");
        }
        assert_eq!(succeeds(&directory, &["check"], &place), expected, "{place}");
        assert!(!directory.join("storage/log.new").exists(), "{place}");
        if is_refused {
            // Nothing has been written since the kill. What is left of it is removed by the next write.
            let mut process = Process::start(&directory);
            process.ready(&place).await;
            process.signal("TERM");
            process.ended().await;
        }
        assert_eq!(temporary_files(&directory), [""; 0].map(PathBuf::from), "{place}");
    }
}
