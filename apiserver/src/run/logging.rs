//! The process's log: verbosity, format, and output to stderr.
//!
//! Lines go through a bounded queue to a thread of their own. If the reader of stderr stops reading, or its
//! disk is full, log lines are lost, but no request is delayed.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use registry_core::spans::TARGET;
use tracing::Level;
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::filters::REQUEST_LOG_TARGET;
use crate::options::LoggingFormat;
use crate::telemetry::SpanLayer;

/// Maximum size of queued lines, in bytes.
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;
/// The size that a line counts as at least, in bytes, so that the number of lines is bounded too.
const LEAST_LINE_BYTES: usize = 512;
/// Maximum time for writing the last lines when the process ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes the rest of the queue when it is dropped.
#[must_use = "dropping it ends the log"]
pub(super) struct LogGuard {
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

struct Queue {
    /// Bounded by `queued_bytes`. A channel with a bound would reserve the memory of all lines.
    lines: Sender<Message>,
    queued_bytes: AtomicUsize,
    lost_lines: AtomicU64,
}

enum Message {
    Line(Vec<u8>),
    End,
}

/// Queues the lines that a subscriber writes.
#[derive(Clone)]
struct QueuedWriter(Arc<Queue>);

/// Starts the log at this verbosity. Spans are passed to `exported`, and are no part of the log.
pub(super) fn start(verbosity: u8, format: LoggingFormat, exported: Option<SpanLayer>) -> LogGuard {
    start_filtered(&directives(verbosity), format, exported)
}

/// Starts the log of a server that runs beside a command: at verbosity 0 it has errors only.
pub(super) fn start_for_command(verbosity: u8, format: LoggingFormat) -> LogGuard {
    let directives = if verbosity == 0 { format!("error,{TARGET}=off") } else { directives(verbosity) };
    start_filtered(&directives, format, None)
}

fn start_filtered(directives: &str, format: LoggingFormat, exported: Option<SpanLayer>) -> LogGuard {
    let (guard, writer) = queue(Box::new(io::stderr()));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(directives));
    let lines = fmt::layer()
        .with_writer(writer)
        // A line that cannot be formatted is lost: reporting the error on stderr could fail too, and end the
        // thread that logs.
        .log_internal_errors(false);
    let lines = match format {
        LoggingFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        LoggingFormat::Json => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
        }
    };
    // Fails only if the process has a subscriber already, which then gets the events.
    let _ = match exported {
        // A filter for all layers is cheaper than one for each.
        None => registry().with(lines).with(filter).try_init(),
        Some(exported) => {
            let spans = Targets::new().with_target(TARGET, Level::INFO);
            registry().with(lines.with_filter(filter)).with(exported.with_filter(spans)).try_init()
        }
    };
    guard
}

/// Returns the filter directives of a verbosity: requests, and the reasons of credentials that are refused, from 3 on, details
/// of the server from 4 and 6 on, and libraries (HTTP frames, TLS messages) at 8 and above.
fn directives(verbosity: u8) -> String {
    let requests = match verbosity {
        0..=2 => "off",
        3 => "info",
        _ => "trace",
    };
    let (own, libraries) = match verbosity {
        0..=3 => ("info", "info"),
        4..=5 => ("debug", "info"),
        6..=7 => ("trace", "info"),
        _ => ("trace", "trace"),
    };
    let mut directives = format!(
        "{libraries},apiserver={own},registry_core={own},resources={own},{REQUEST_LOG_TARGET}={requests},{TARGET}=off"
    );
    if verbosity == 3 {
        directives.push_str(",apiserver::authentication=debug");
    }
    directives
}

fn queue(mut output: Box<dyn Write + Send>) -> (LogGuard, QueuedWriter) {
    let (lines, queued) = channel();
    let queue = Arc::new(Queue { lines, queued_bytes: AtomicUsize::new(0), lost_lines: AtomicU64::new(0) });
    let own = queue.clone();
    let writer = std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || write_queued(&own, &queued, output.as_mut()));
    // Without the thread, every line is lost once the queue is full; the server continues.
    (LogGuard { queue: queue.clone(), writer: writer.ok() }, QueuedWriter(queue))
}

/// Returns the size that a line counts as.
fn counted(line: &[u8]) -> usize {
    line.len().max(LEAST_LINE_BYTES)
}

/// Writes lines until the end. A line that cannot be written is counted as lost.
fn write_queued(queue: &Queue, lines: &Receiver<Message>, output: &mut dyn Write) {
    while let Ok(Message::Line(line)) = lines.recv() {
        queue.queued_bytes.fetch_sub(counted(&line), Ordering::Relaxed);
        let lost = queue.lost_lines.swap(0, Ordering::Relaxed);
        if lost > 0 && writeln!(output, "{lost} log lines were lost").is_err() {
            queue.lost_lines.fetch_add(lost, Ordering::Relaxed);
        }
        if output.write_all(&line).is_err() {
            queue.lost_lines.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// === impl LogGuard ===

impl Drop for LogGuard {
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        let begun = Instant::now();
        // Fails if the writer has ended.
        let _ = self.queue.lines.send(Message::End);
        // Polled, because a blocked writer may not prevent the process from ending.
        while !writer.is_finished() && begun.elapsed() < FLUSH_TIMEOUT {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

// === impl QueuedWriter ===

impl Write for QueuedWriter {
    /// Writes a whole line: the subscriber makes one call for each.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let queue = &self.0;
        let bytes = counted(line);
        let queued = queue.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_queued =
            queued + bytes <= MAX_QUEUED_BYTES && queue.lines.send(Message::Line(line.to_vec())).is_ok();
        if !is_queued {
            queue.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            queue.lost_lines.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for QueuedWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Fails, or blocks, until it is released.
    struct Output {
        written: Arc<Mutex<Vec<u8>>>,
        fails: bool,
        released: Option<Receiver<()>>,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(released) = self.released.take() {
                let _ = released.recv();
                if self.fails {
                    return Err(io::ErrorKind::StorageFull.into());
                }
            }
            self.written.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn output(fails: bool) -> (Output, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let written = Arc::default();
        let (release, released) = channel();
        (Output { written: Arc::clone(&written), fails, released: Some(released) }, release, written)
    }

    #[test]
    fn an_output_that_blocks_costs_lines_and_holds_up_nobody() {
        let (output, release, written) = output(false);
        let (guard, mut writer) = queue(Box::new(output));
        let line = vec![b'x'; 1023];
        let lines = 2 * MAX_QUEUED_BYTES / line.len();
        for _ in 0..lines {
            writer.write_all(&line).unwrap();
        }
        release.send(()).unwrap();
        drop(guard);
        let written = String::from_utf8(written.lock().clone()).unwrap();
        let lost = written.matches("log lines were lost").count();
        let kept = written.matches('x').count();
        assert_eq!(lost, 1, "the loss is reported once");
        assert!(kept <= MAX_QUEUED_BYTES + line.len() && kept >= MAX_QUEUED_BYTES / 2, "{kept}");
    }

    #[test]
    fn an_output_that_fails_does_not_end_the_log() {
        let (output, release, written) = output(true);
        let (guard, mut writer) = queue(Box::new(output));
        writer.write_all(b"first\n").unwrap();
        release.send(()).unwrap();
        writer.write_all(b"second\n").unwrap();
        drop(guard);
        let written = String::from_utf8(written.lock().clone()).unwrap();
        assert_eq!(written, "1 log lines were lost\nsecond\n");
    }

    #[test]
    fn frames_of_http_are_for_the_highest_verbosity_only() {
        assert_eq!(
            directives(0),
            "info,apiserver=info,registry_core=info,resources=info,http=off,request_trace=off"
        );
        assert_eq!(
            directives(3),
            "info,apiserver=info,registry_core=info,resources=info,http=info,request_trace=off,\
             apiserver::authentication=debug"
        );
        assert_eq!(
            directives(4),
            "info,apiserver=debug,registry_core=debug,resources=debug,http=trace,request_trace=off"
        );
        assert!(directives(7).starts_with("info,"));
        assert!(directives(8).starts_with("trace,"));
    }
}
