//! `apiserver storage`: backup and restore of the embedded store, and of the keys beside it. The other commands are in
//! [`checking`](super::checking) and [`moving`](super::moving).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use registry_core::durable_file;
use registry_core::registry::StorageMap;
use registry_core::storage::embedded::maintenance::{self, Backup, BackupFile, Increment, Source};

use crate::options::{Options, StorageBackend, StorageCommand, StoreLocation};

use super::checking::{check, summary};
use super::error::CommandError;
use super::following::{earlier, migrate_online};
use super::moving::{export, import, migrate};

/// The certificate that a server looks for first: it is restored last, when all other files are there.
const AUTHORITY: &str = "ca.crt";

/// Maintains an embedded store, and reports the results.
///
/// # Errors
/// Fails if the store is damaged, in use, or cannot be read or written.
pub(super) fn maintain(
    command: &StorageCommand,
    options: &Options,
    maps: &[&'static StorageMap],
) -> Result<(), CommandError> {
    let directory = options.storage_directory();
    let keys = options.certificate_directory();
    let lines = match command {
        StorageCommand::Check { from, prefix } => {
            let own = || StoreLocation::Embedded(options.data_directory());
            let from = from.clone().unwrap_or_else(own);
            return check(&from, prefix.as_deref(), options, maps);
        }
        StorageCommand::Export { from, prefix, file } => {
            return export(from, prefix.as_deref(), file, options);
        }
        StorageCommand::Import { to, arguments, file } => return import(to, arguments, file, options),
        StorageCommand::Migrate { from, to, prefix, arguments, following } => {
            let prefix = prefix.as_deref();
            return match earlier(following, arguments) {
                Some(earlier) => migrate_online((from, to), prefix, earlier, options),
                None => migrate(from, to, prefix, arguments, options),
            };
        }
        StorageCommand::Backup { file, since, without_keys } => {
            if options.storage.backend() == StorageBackend::Etcd3 {
                return Err(CommandError::BacksUpEtcd);
            }
            let files = if *without_keys { Vec::new() } else { keys_in(&keys)? };
            let source = Source::Directory(&directory);
            let saved = match since {
                Some(previous) => {
                    let (report, increment) = maintenance::backup_since(source, previous, file, &files)?;
                    summary(&directory, &report) + &increment_summary(file, &increment)
                }
                None => summary(&directory, &maintenance::backup_with_files(source, file, &files)?),
            };
            saved + &format!("{}: {} files of keys and certificates\n", keys.display(), files.len())
        }
        StorageCommand::Restore { file, increments, bump_revision } => {
            let backup = Backup::read(file, increments)?;
            maintenance::check_restore(&directory)?;
            let note = restore_keys(backup.files(), &keys)?;
            let restored = backup.restore(&directory, *bump_revision)?;
            let mut lines = summary(file, &restored.backup);
            for (file, increment) in increments.iter().zip(&restored.increments) {
                lines += &increment_summary(file, increment);
            }
            lines + &summary(&directory, &restored.store) + &note + "\n"
        }
    };
    super::print(lines)
}

fn increment_summary(file: &Path, increment: &Increment) -> String {
    let Increment { records, keys, revision } = increment;
    format!("{}: {records} new records of {keys} keys, revision {revision}\n", file.display())
}

/// Returns the keys and certificates in a directory, sorted by name; none if it does not exist.
fn keys_in(directory: &Path) -> Result<Vec<BackupFile>, CommandError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(CommandError::read(directory)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(CommandError::read(directory))?.path());
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| is_key(name)) else {
            continue;
        };
        if path.is_file() {
            let content = fs::read(&path).map_err(CommandError::read(&path))?.into();
            files.push(BackupFile { name: name.to_owned(), content });
        }
    }
    Ok(files)
}

/// Whether this is the name of a file with a key or a certificate, in the directory itself.
fn is_key(name: &str) -> bool {
    let stem = name.strip_suffix(".crt").or_else(|| name.strip_suffix(".key"));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    stem.is_some_and(|stem| !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(is_plain))
}

/// Restores keys and certificates, unless the directory has an authority already. The files appear one by one, the authority
/// last: an interrupted restore can be repeated. Returns what operators are told.
fn restore_keys(files: &[BackupFile], directory: &Path) -> Result<String, CommandError> {
    let shown = directory.display();
    if let Some(file) = files.iter().find(|file| !is_key(&file.name)) {
        return Err(CommandError::ForeignFile(file.name.clone()));
    }
    if directory.join(AUTHORITY).exists() {
        return Ok(format!(
            "{shown}: kept as it is; the keys and certificates of the backup were not restored"
        ));
    }
    if files.is_empty() {
        return Ok(format!(
            "{shown}: not restored, because the backup has no keys: the server will make a new certificate authority and a \
             new key of service accounts, and present kubeconfigs and tokens will be refused"
        ));
    }
    durable_file::create_directory(directory).map_err(CommandError::write(directory))?;
    let mut files: Vec<&BackupFile> = files.iter().collect();
    files.sort_by_key(|file| file.name == AUTHORITY);
    for BackupFile { name, content } in &files {
        let path: PathBuf = directory.join(name);
        durable_file::write(&path, content).map_err(CommandError::write(&path))?;
    }
    Ok(format!("{shown}: {} files of keys and certificates", files.len()))
}
