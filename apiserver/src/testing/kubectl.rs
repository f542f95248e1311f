//! Runs a real kubectl, as a user at a terminal does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

/// Environment variable with the path of kubectl, if it is not the one on the PATH.
pub const KUBECTL_VARIABLE: &str = "ORLOP_KUBECTL";

/// Maximum time for a watching kubectl to print its next line.
const LINE_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum time until the output of a repeated command is as expected.
const PATIENCE: Duration = Duration::from_secs(40);

/// The time between two runs of a repeated command.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of lines that a watching kubectl may be ahead of its reader.
const LINES_AHEAD: usize = 1_000;

/// kubectl with one server's kubeconfig; it uses no files outside that server's directory.
///
/// Arguments are written as one string and split at spaces: quotes are not supported, and JSON must be
/// written without spaces.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    home: PathBuf,
}

/// A `kubectl get --watch` in the background. Dropping it ends it.
pub struct KubectlWatch {
    process: Child,
    lines: mpsc::Receiver<String>,
}

// === impl Kubectl ===

impl Kubectl {
    /// Returns kubectl for the server of this kubeconfig; `home` is the directory of its caches.
    pub fn new(kubeconfig: &Path, home: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), home: home.to_owned() }
    }

    /// Runs it, and returns its output.
    ///
    /// # Panics
    /// Panics if it fails, or there is no kubectl.
    pub async fn run(&self, arguments: &str) -> String {
        self.run_with_input(arguments, "").await
    }

    /// Runs it with standard input, for example for `apply -f -`.
    ///
    /// # Panics
    /// Panics if it fails, or there is no kubectl.
    pub async fn run_with_input(&self, arguments: &str, input: &str) -> String {
        let output = self.output(arguments, input).await;
        let (stdout, stderr) = texts(&output);
        assert!(
            output.status.success(),
            "`kubectl {arguments}` ended with {}\n{stdout}{stderr}",
            output.status
        );
        stdout
    }

    /// Runs it, expects that it fails, and returns its error output.
    ///
    /// # Panics
    /// Panics if it succeeds, or there is no kubectl.
    pub async fn fail(&self, arguments: &str) -> String {
        self.fail_with_input(arguments, "").await
    }

    /// Runs it with standard input, expects that it fails, and returns its error output.
    ///
    /// # Panics
    /// Panics if it succeeds, or there is no kubectl.
    pub async fn fail_with_input(&self, arguments: &str, input: &str) -> String {
        let output = self.output(arguments, input).await;
        let (stdout, stderr) = texts(&output);
        assert!(!output.status.success(), "`kubectl {arguments}` was to fail, and printed\n{stdout}");
        stderr
    }

    /// Runs it, and returns the complete output, for commands whose exit code has a meaning, as `diff`'s.
    ///
    /// # Panics
    /// Panics if there is no kubectl.
    pub async fn output(&self, arguments: &str, input: &str) -> Output {
        let mut command = self.command(arguments);
        let input = input.to_owned();
        let finished = tokio::task::spawn_blocking(move || {
            let mut process = command.stdin(Stdio::piped()).spawn()?;
            if let Some(mut stdin) = process.stdin.take() {
                // kubectl may close its input early, which is not an error.
                let _ = stdin.write_all(input.as_bytes());
            }
            process.wait_with_output()
        });
        match finished.await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => panic!("{}", missing(&error)),
            Err(error) => panic!("kubectl: {error}"),
        }
    }

    /// Repeats it with standard input until its standard output or standard error contains a text, and returns both: changes
    /// reach caches and controllers later than the answer of the write.
    ///
    /// # Panics
    /// Panics if it does not print the text within 40 seconds, or there is no kubectl.
    pub async fn until(&self, arguments: &str, input: &str, wanted: &str) -> String {
        let begun = Instant::now();
        loop {
            let (stdout, stderr) = texts(&self.output(arguments, input).await);
            let text = stdout + &stderr;
            if text.contains(wanted) {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "`kubectl {arguments}` never prints {wanted:?}: {text}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Starts it in the background, for example with `get pods --watch`.
    ///
    /// # Panics
    /// Panics if there is no kubectl.
    pub fn watch(&self, arguments: &str) -> KubectlWatch {
        let mut command = self.command(arguments);
        let mut process = match command.stdin(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(process) => process,
            Err(error) => panic!("{}", missing(&error)),
        };
        let (sender, lines) = mpsc::channel(LINES_AHEAD);
        if let Some(output) = process.stdout.take() {
            // Ends with the process, or when the receiver is dropped.
            std::thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                for line in lines {
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
            });
        }
        KubectlWatch { process, lines }
    }

    fn command(&self, arguments: &str) -> Command {
        let program = std::env::var_os(KUBECTL_VARIABLE).unwrap_or_else(|| "kubectl".into());
        let mut command = Command::new(program);
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("KUBECACHEDIR", self.home.join("cache"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

// === impl KubectlWatch ===

impl KubectlWatch {
    /// Returns the next line of its output.
    ///
    /// # Panics
    /// Panics if it ends, or prints nothing for too long.
    pub async fn next_line(&mut self) -> String {
        match tokio::time::timeout(LINE_TIMEOUT, self.lines.recv()).await {
            Ok(Some(line)) => line,
            Ok(None) => panic!("kubectl ended"),
            Err(tokio::time::error::Elapsed { .. }) => panic!("kubectl printed nothing for {LINE_TIMEOUT:?}"),
        }
    }

    /// Reads until a line contains this text, and returns that line.
    ///
    /// # Panics
    /// Panics if it ends before, or prints nothing for too long.
    pub async fn line_with(&mut self, text: &str) -> String {
        loop {
            let line = self.next_line().await;
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for KubectlWatch {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn missing(error: &std::io::Error) -> String {
    format!(
        "no kubectl: `cargo xtask test` finds or installs one, or set {KUBECTL_VARIABLE} to one ({error})"
    )
}
