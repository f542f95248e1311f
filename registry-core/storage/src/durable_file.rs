//! Files and directories that survive a crash and that only their owner can read.
//!
//! A file is written under a temporary name in the target's directory, flushed to disk, renamed to its final name, and
//! the directory is flushed too. After a crash at any point the target has its old content or its new content, never
//! something between, and mode 0600. Files that need not survive a loss of power are not flushed: see [`Durability`].
//!
//! A crash can leave the temporary file behind. Every later write into the same directory removes such files: the
//! process that writes a temporary file holds a lock on it, so a file that is not locked belongs to no process.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Prefix of temporary file names. The rest is a UUID as 32 hexadecimal digits.
const TEMPORARY_PREFIX: &str = ".orlop-tmp-";

/// Mode of files: only the owner reads and writes.
const FILE_MODE: u32 = 0o600;

/// Mode of directories: only the owner lists, enters and writes.
const DIRECTORY_MODE: u32 = 0o700;

/// The permission bits of group and others.
const OTHERS_MODE: u32 = 0o077;

/// The events that a file must survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A loss of power: it is flushed to disk.
    #[default]
    PowerLoss,
    /// The end of the process: it is left to the operating system when it is flushed. For files that are removed with a
    /// directory for temporary files.
    ProcessEnd,
}

/// A file that is being written and that appears under its name when [`publish`](Self::publish) is called. Dropped
/// before that, it leaves nothing behind.
#[derive(Debug)]
pub struct DurableFile {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    is_published: bool,
}

/// Writes a whole file, atomically and durably, with mode 0600. Replaces a regular file of that name.
///
/// # Errors
/// Fails if the target is a symbolic link, a directory or another special file, or if the operating system refuses. The
/// target then has its old content.
pub fn write(target: &Path, content: &[u8]) -> io::Result<()> {
    write_surviving(Durability::PowerLoss, target, content)
}

/// The same as [`write()`], for a file that must survive less.
///
/// # Errors
/// As [`write()`].
pub fn write_surviving(durability: Durability, target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = DurableFile::create(target)?;
    file.write_all(content)?;
    match durability {
        Durability::PowerLoss => file.publish(),
        Durability::ProcessEnd => file.rename(),
    }
}

/// Creates a directory with mode 0700, and its missing parents likewise, durably. A directory that exists is left as it
/// is.
pub fn create_directory(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let parent = parent_of(directory);
    create_directory(parent)?;
    match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
        Ok(()) => sync_directory(parent),
        // Another process created it in between.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text = "it is not a directory, or it is a symbolic link to something that does not exist";
            Err(io::Error::new(ErrorKind::NotADirectory, text))
        }
        Err(error) => Err(error),
    }
}

/// Removes the permissions of group and others from a file or directory. Returns whether there were any. Does not
/// follow symbolic links: their permissions have no effect.
///
/// # Errors
/// Fails if the process may not change the permissions, for example because another user owns the file.
pub fn restrict(path: &Path) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    let mode = metadata.permissions().mode();
    if metadata.is_symlink() || mode & OTHERS_MODE == 0 {
        return Ok(false);
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS_MODE & 0o7777))?;
    Ok(true)
}

/// Flushes the entries of a directory to disk: a file that was created, renamed or removed in it stays so after a power
/// loss.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Whether a directory entry is a temporary file of this module, which a crash can leave behind.
pub fn is_temporary(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
    random.is_some_and(|random| Uuid::try_parse(random).is_ok_and(|id| id.simple().to_string() == random))
}

/// Returns the directory that contains a path; `.` for a bare name.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        // The root is its own parent.
        None if path.has_root() => path,
        _ => Path::new("."),
    }
}

// === impl DurableFile ===

impl DurableFile {
    /// Begins to write a file, under a temporary name in the target's directory.
    ///
    /// # Errors
    /// Fails if the target is a symbolic link, a directory or another special file, or if the operating system refuses.
    pub fn create(target: &Path) -> io::Result<Self> {
        refuse_special(target)?;
        let directory = parent_of(target);
        remove_abandoned(directory)?;
        loop {
            let temporary = directory.join(format!("{TEMPORARY_PREFIX}{}", Uuid::new_v4().simple()));
            // `create_new` does not follow a symbolic link.
            let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&temporary)?;
            file.lock()?;
            // Before the lock was taken another process could take the file for an abandoned one.
            if file.metadata()?.nlink() > 0 {
                return Ok(Self { file, temporary, target: target.to_owned(), is_published: false });
            }
        }
    }

    /// Flushes the content to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Flushes the content to disk and gives the file its name.
    ///
    /// # Errors
    /// Fails as [`create`](Self::create) does. The target then has its old content, unless only the last step failed,
    /// which flushes the directory.
    pub fn publish(self) -> io::Result<()> {
        self.sync()?;
        let target = self.target.clone();
        self.rename()?;
        sync_directory(parent_of(&target))
    }

    fn rename(mut self) -> io::Result<()> {
        refuse_special(&self.target)?;
        std::fs::rename(&self.temporary, &self.target)?;
        self.is_published = true;
        Ok(())
    }
}

impl Write for DurableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for DurableFile {
    fn drop(&mut self) {
        if !self.is_published {
            // If this fails too, the next write into the directory removes the file.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Fails unless a path is a regular file or does not exist. Renaming onto a symbolic link would replace the link and
/// leave the file that it names unchanged.
fn refuse_special(path: &Path) -> io::Result<()> {
    let what = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(metadata) if metadata.is_symlink() => "a symbolic link",
        Ok(metadata) if metadata.is_dir() => "a directory",
        Ok(_) => "a special file",
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    Err(io::Error::new(
        ErrorKind::AlreadyExists,
        format!("it is {what}: name a regular file, or one that does not exist"),
    ))
}

/// Removes the temporary files that no process writes.
fn remove_abandoned(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if is_temporary(&entry.file_name()) && entry.file_type()?.is_file() {
            remove_if_unlocked(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_if_unlocked(path: &Path) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        // Another user's file, or one that has just been renamed.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        // Only the process that holds the lock renames the file: this name has been abandoned, or does not exist any
        // more.
        Ok(()) => match std::fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o777
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_private_and_in_place_of_an_older_one() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let mut new = DurableFile::create(&file).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        new.publish().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(mode(&file), 0o600);
        write_surviving(Durability::ProcessEnd, &file, b"newest").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"newest");
        assert_eq!(mode(&file), 0o600);
        assert_eq!(names(home.path()), ["file"]);
    }

    #[test]
    fn a_file_that_is_not_published_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        drop(DurableFile::create(&home.path().join("file")).unwrap());
        assert_eq!(names(home.path()), [""; 0]);
    }

    #[test]
    fn symbolic_links_and_directories_are_refused_and_stay() {
        let home = tempfile::tempdir().unwrap();
        let victim = home.path().join("victim");
        let link = home.path().join("link");
        fs::write(&victim, "victim").unwrap();
        symlink(&victim, &link).unwrap();
        let dangling = home.path().join("dangling");
        symlink(home.path().join("nowhere"), &dangling).unwrap();
        let directory = home.path().join("directory");
        fs::create_dir(&directory).unwrap();
        for (target, what) in
            [(&link, "symbolic link"), (&dangling, "symbolic link"), (&directory, "directory")]
        {
            let error = write(target, b"x").unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"victim");
        assert_eq!(names(home.path()), ["dangling", "directory", "link", "victim"]);
    }

    #[test]
    fn abandoned_temporary_files_are_removed_and_those_in_use_are_not() {
        let home = tempfile::tempdir().unwrap();
        let abandoned = format!("{TEMPORARY_PREFIX}{}", Uuid::new_v4().simple());
        let foreign = format!("{TEMPORARY_PREFIX}mine");
        fs::write(home.path().join(&abandoned), "x").unwrap();
        fs::write(home.path().join(&foreign), "x").unwrap();
        let used = DurableFile::create(&home.path().join("a")).unwrap();
        write(&home.path().join("b"), b"b").unwrap();
        used.publish().unwrap();
        assert_eq!(names(home.path()), [&foreign[..], "a", "b"]);
    }

    #[test]
    fn directories_are_created_private_and_existing_ones_stay() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        let inner = home.path().join("outer/inner");
        create_directory(&inner).unwrap();
        create_directory(&inner).unwrap();
        assert_eq!(mode(&inner), 0o700);
        assert_eq!(mode(&home.path().join("outer")), 0o700);
        assert_eq!(mode(home.path()), 0o755);
        fs::write(home.path().join("file"), "").unwrap();
        symlink(home.path().join("nowhere"), home.path().join("dangling")).unwrap();
        for name in ["file", "dangling"] {
            let error = create_directory(&home.path().join(name)).unwrap_err();
            assert!(error.to_string().contains("not a directory"), "{error}");
        }
        // A link to a directory is one.
        symlink(&inner, home.path().join("link")).unwrap();
        create_directory(&home.path().join("link/below")).unwrap();
        assert!(inner.join("below").is_dir());
    }

    #[test]
    fn restricting_takes_the_permissions_of_others_away() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o754)).unwrap();
        assert!(restrict(&file).unwrap());
        assert_eq!(mode(&file), 0o700);
        assert!(!restrict(&file).unwrap());
    }

    #[test]
    fn parents_of_bare_names_and_of_the_root_exist() {
        assert_eq!(parent_of(Path::new("name")), Path::new("."));
        assert_eq!(parent_of(Path::new("a/b")), Path::new("a"));
        assert_eq!(parent_of(Path::new("/a")), Path::new("/"));
        assert_eq!(parent_of(Path::new("/")), Path::new("/"));
    }
}
