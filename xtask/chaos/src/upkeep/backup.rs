//! Backups of the embedded store while it is written and faults happen.
//!
//! Each backup is restored into another directory and exported. What it contains of the collections is recorded as a
//! consistent list, so that the checks of lists apply to it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use crate::Failure;
use crate::history::{Asked, Items, List};
use crate::recorder::{Recorder, Target};

/// Time in which a backup has to succeed. Servers that are killed meanwhile make it fail.
const PATIENCE: Duration = Duration::from_mins(2);

/// The number of the client and of the server in the history, beside which those of others are other numbers. A backup may be
/// ahead of the lists that the server answers from its cache.
const OWN: usize = 2000;

/// A server whose store is saved.
pub(super) struct Saved<'a> {
    pub(super) program: &'a Path,
    /// The server's data directory.
    pub(super) data_directory: PathBuf,
    /// A directory for the backups.
    pub(super) directory: PathBuf,
}

// === impl Saved ===

impl Saved<'_> {
    /// Saves the store, and records what the backup contains of the collections.
    ///
    /// # Errors
    /// Fails if no backup succeeds, or one cannot be restored.
    pub(super) async fn save(&self, targets: &[Target], recorder: &Recorder) -> Result<(), Failure> {
        let _ = std::fs::remove_dir_all(&self.directory);
        std::fs::create_dir_all(&self.directory)?;
        let path = |name: &str| self.directory.join(name).display().to_string();
        let begun = Instant::now();
        let start = loop {
            let start = recorder.now();
            let source = self.data_directory.display().to_string();
            match self.run(&["backup", &path("store.backup"), "--data-dir", &source]).await {
                Ok(()) => break start,
                // The server was killed, or is not started again yet.
                Err(error) => {
                    recorder.fail(&format!("backup: {}", shortened(&error.to_string())));
                    if begun.elapsed() > PATIENCE {
                        return Err(format!("no backup succeeds: {error}").into());
                    }
                }
            }
            sleep(Duration::from_millis(50)).await;
        };
        let end = recorder.now();
        let restored = path("restored");
        let restore = ["restore", &path("store.backup"), "--data-dir", &restored, "--bump-revision=0"];
        self.run(&restore).await?;
        let from = format!("embedded:{restored}");
        self.run(&["export", "--from", &from, &path("store.jsonl")]).await?;
        let exported = std::fs::read_to_string(path("store.jsonl"))?;
        let (revision, lines) = exported.split_once('\n').ok_or("an empty export")?;
        let revision: Value = serde_json::from_str(revision)?;
        let revision =
            revision.get("revision").and_then(Value::as_u64).ok_or("an export without a revision")?;
        // Encrypted values cannot be compared.
        let is_readable = |target: &&Target| target.kind != crate::kinds::Kind::ConfigMap;
        for target in targets.iter().filter(is_readable) {
            let items = items_in(target, lines)?;
            let scope = target.scope.clone();
            let asked = Asked::Consistent;
            let list = List { client: OWN, server: OWN, scope, start, end, asked, revision, items };
            recorder.record(|history| history.lists.push(list));
        }
        std::fs::remove_dir_all(&self.directory)?;
        Ok(())
    }

    async fn run(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = Command::new(self.program);
        command.arg("storage").args(arguments);
        let ended = tokio::task::spawn_blocking(move || command.output()).await??;
        if ended.status.success() {
            return Ok(());
        }
        Err(format!("storage {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr)).into())
    }
}

/// Returns the objects of a collection in an export.
fn items_in(target: &Target, lines: &str) -> Result<Items, Failure> {
    let mut items = Items::new();
    let place = format!("/{}/{}/", target.kind.plural(), target.namespace);
    let specs = format!("/{}/specs/{}/", target.kind.plural(), target.namespace);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)?;
        // The last line has the number of keys.
        let Some(key) = line.get("key").and_then(Value::as_str) else { continue };
        if !key.contains(&place) && !key.contains(&specs) {
            continue;
        }
        let revision = line.get("mod").and_then(Value::as_u64).ok_or("a key without a revision")?;
        let mut object = line.get("value").cloned().ok_or("a key without a readable value")?;
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).ok_or("no metadata")?;
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        items.extend(target.kind.read(&object));
    }
    Ok(items)
}

/// Returns the last line of an error, which is the same for each failure of a kind.
fn shortened(error: &str) -> &str {
    let line = error.trim_end().lines().last().unwrap_or_default();
    line.split(" is ").last().unwrap_or(line)
}
