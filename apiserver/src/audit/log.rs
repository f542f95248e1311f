//! The log backend: one line for each event, in a file or on standard output.
//!
//! Kubernetes concept: `k8s.io/apiserver/plugin/pkg/audit/log`.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};

use crate::options::{LogFormat, Retention, TruncateConfig};

use super::AuditError;
use super::event::Event;
use super::sink::{Backend, Faults};
use super::truncate;

mod backups;
mod direct;
mod rotating;
#[cfg(test)]
mod tests;

pub(super) use direct::DirectLog;
use rotating::RotatingFile;

/// Writes events to a log.
pub(super) struct LogBackend {
    output: Mutex<Output>,
    format: LogFormat,
    truncate: Option<TruncateConfig>,
    faults: Arc<Faults>,
}

enum Output {
    Standard,
    File(RotatingFile),
}

// === impl LogBackend ===

impl LogBackend {
    /// Opens the log at a path; `-` is standard output.
    ///
    /// # Errors
    /// Fails if the file cannot be created or written.
    pub(super) fn open(
        path: &Path,
        retention: Retention,
        format: LogFormat,
        truncate: Option<TruncateConfig>,
        faults: Arc<Faults>,
    ) -> Result<Self, AuditError> {
        let output = if path == Path::new("-") {
            Output::Standard
        } else {
            let file = RotatingFile::open(path, retention);
            Output::File(file.map_err(|source| AuditError::Log { path: path.to_owned(), source })?)
        };
        Ok(Self { output: Mutex::new(output), format, truncate, faults })
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock()
    }

    fn try_output(&self) -> Option<MutexGuard<'_, Output>> {
        self.output.try_lock()
    }

    fn line(&self, event: &Event) -> Result<Vec<u8>, truncate::TooLarge> {
        let mut line = truncate::within(self.truncate, event)?;
        match self.format {
            LogFormat::Json => line.push(b'\n'),
            LogFormat::Legacy => {
                line.clear();
                event.write_legacy(&mut line);
            }
        }
        Ok(line)
    }
}

#[async_trait]
impl Backend for LogBackend {
    async fn deliver(&self, events: &[Arc<Event>]) -> bool {
        let mut lines = Vec::with_capacity(events.len());
        let mut written: Vec<Arc<Event>> = Vec::with_capacity(events.len());
        for event in events {
            match self.line(event) {
                Ok(line) => {
                    lines.push(line);
                    written.push(event.clone());
                }
                // Such an event fails no request, as in Kubernetes.
                Err(error) => self.faults.report("truncate", &error, std::slice::from_ref(event)),
            }
        }
        // The thread is the backend's own.
        match self.output().write(lines.iter().map(|line| &**line)) {
            Ok(()) => true,
            Err(error) => {
                self.faults.report("log", &error, &written);
                false
            }
        }
    }

    fn own_thread(&self) -> Option<&'static str> {
        Some("audit-log")
    }
}

// === impl Output ===

impl Output {
    /// Returns whether it is a regular file.
    fn is_regular(&self) -> bool {
        match self {
            Self::Standard => false,
            Self::File(file) => file.is_regular(),
        }
    }

    fn write<'l>(&mut self, lines: impl Iterator<Item = &'l [u8]>) -> io::Result<()> {
        match self {
            Self::Standard => {
                let mut out = io::stdout().lock();
                out.write_all(&lines.collect::<Vec<_>>().concat())?;
                out.flush()
            }
            Self::File(file) => file.write(lines),
        }
    }
}
