//! Former log files: compressed, and removed when they are too many or too old.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::options::Retention;

/// The time in the name of a former file.
const TIME_FORMAT: &str = "%Y-%m-%dT%H-%M-%S.%3f";
const SECONDS_FORMAT: &str = "%Y-%m-%dT%H-%M-%S";
const COMPRESSED: &str = ".gz";

/// The former files of a log.
pub(super) struct Backups {
    directory: PathBuf,
    /// The log's name up to its extension, with a hyphen.
    prefix: String,
    /// The extension, with its dot.
    extension: String,
    retention: Retention,
    /// Held while former files are compressed and removed.
    tidying: Arc<Mutex<()>>,
}

// === impl Backups ===

impl Backups {
    pub(super) fn new(path: &Path, retention: Retention) -> Self {
        let text = |part: Option<&OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let extension = text(path.extension()).map(|extension| format!(".{extension}"));
        Self {
            directory: path.parent().unwrap_or_else(|| Path::new("")).to_owned(),
            prefix: format!("{}-", text(path.file_stem()).unwrap_or_default()),
            extension: extension.unwrap_or_default(),
            retention,
            tidying: Arc::default(),
        }
    }

    pub(super) fn retention(&self) -> Retention {
        self.retention
    }

    /// Returns the name for a file that is replaced at this time, which no other file has.
    pub(super) fn free_name(&self, mut now: Timestamp) -> PathBuf {
        loop {
            let time = now.strftime(TIME_FORMAT);
            let name = self.directory.join(format!("{}{time}{}", self.prefix, self.extension));
            if !name.exists() && !compressed(&name).exists() {
                return name;
            }
            now += SignedDuration::from_millis(1);
        }
    }

    /// Compresses and removes former files on a thread of its own, because it takes long. Failures are logged.
    pub(super) fn tidy(&self) {
        let Self { directory, prefix, extension, retention, tidying } = self;
        let retention = *retention;
        if retention.max_age.is_none() && retention.max_backups.is_none() && !retention.compresses {
            return;
        }
        let all = Self {
            directory: directory.clone(),
            prefix: prefix.clone(),
            extension: extension.clone(),
            retention,
            tidying: tidying.clone(),
        };
        let thread = std::thread::Builder::new().name("audit-log-backups".to_owned());
        let spawned = thread.spawn(move || {
            let _alone = all.tidying.lock();
            if let Err(error) = all.tidy_now(Timestamp::now()) {
                tracing::warn!("cannot tidy former audit logs: {error}");
            }
        });
        if let Err(error) = spawned {
            tracing::warn!("cannot tidy former audit logs: {error}");
        }
    }

    /// Compresses and removes former files.
    pub(super) fn tidy_now(&self, now: Timestamp) -> io::Result<()> {
        let mut files = self.list()?;
        // The newest first.
        files.sort_unstable_by(|file, other| other.cmp(file));
        let mut kept: Option<Timestamp> = None;
        let mut count = 0;
        for (time, path) in files {
            if kept != Some(time) {
                kept = Some(time);
                count += 1;
            }
            let is_surplus = self.retention.max_backups.is_some_and(|max| count > max);
            let age = Duration::try_from(now.duration_since(time)).unwrap_or_default();
            let is_old = self.retention.max_age.is_some_and(|max| age > max);
            if is_surplus || is_old {
                std::fs::remove_file(&path)?;
            } else if self.retention.compresses && path.extension() != Some(OsStr::new("gz")) {
                compress(&path)?;
            }
        }
        Ok(())
    }

    /// Returns the former files with the times at which they were replaced.
    fn list(&self) -> io::Result<Vec<(Timestamp, PathBuf)>> {
        let directory = if self.directory.as_os_str().is_empty() { Path::new(".") } else { &self.directory };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if let Some(time) = name.to_str().and_then(|name| self.time_of(name)) {
                files.push((time, entry.path()));
            }
        }
        Ok(files)
    }

    /// Returns the time in the name of a former file; `None` for other files.
    fn time_of(&self, name: &str) -> Option<Timestamp> {
        let time = name.strip_prefix(&self.prefix)?;
        let time = time.strip_suffix(COMPRESSED).unwrap_or(time).strip_suffix(&self.extension)?;
        let (seconds, millis) = time.rsplit_once('.')?;
        let is_milliseconds = millis.len() == 3;
        let millis: i64 = millis.parse().ok().filter(|_| is_milliseconds)?;
        let seconds = jiff::civil::DateTime::strptime(SECONDS_FORMAT, seconds).ok()?;
        let start = seconds.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        Some(start + SignedDuration::from_millis(millis))
    }
}

fn compressed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(COMPRESSED);
    name.into()
}

/// Replaces a file by a compressed one. One that was left incomplete by a crash is written again.
fn compress(path: &Path) -> io::Result<()> {
    let mut source = File::open(path)?;
    let target =
        OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(compressed(path))?;
    let mut encoder = GzEncoder::new(target, Compression::default());
    io::copy(&mut source, &mut encoder)?;
    encoder.finish()?.sync_all()?;
    std::fs::remove_file(path)
}
