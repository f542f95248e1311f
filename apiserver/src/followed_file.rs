//! A file, or a directory of files, that is looked at again and again: configuration that changes while the server runs.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file, and its content when it was looked at last.
pub(crate) type FollowedFile = Followed<Vec<u8>>;

/// A path, and its content when it was looked at last.
pub(crate) struct Followed<C> {
    path: PathBuf,
    /// Time between two looks.
    period: Duration,
    /// Reads the content.
    read: fn(&Path) -> io::Result<C>,
    /// `None` if the content is looked at again, whether or not it changes.
    content: Option<C>,
    /// The last failure: repeated ones are reported once.
    failure: Option<ErrorKind>,
}

// === impl FollowedFile ===

impl FollowedFile {
    /// Follows a file that has been read.
    pub(crate) fn new(path: &Path, content: Vec<u8>, period: Duration) -> Self {
        Self::read_by(path, content, period, |path| std::fs::read(path))
    }
}

// === impl Followed ===

impl<C: Clone + PartialEq + Send + 'static> Followed<C> {
    /// Follows a path whose content has been read by this function.
    pub(crate) fn read_by(
        path: &Path,
        content: C,
        period: Duration,
        read: fn(&Path) -> io::Result<C>,
    ) -> Self {
        Self { path: path.to_owned(), period, read, content: Some(content), failure: None }
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until there is another content, and returns that.
    ///
    /// # Errors
    /// Fails if the content cannot be read any more.
    pub(crate) async fn changed(&mut self) -> io::Result<C> {
        loop {
            tokio::time::sleep(self.period).await;
            let (path, read) = (self.path.clone(), self.read);
            let content = tokio::task::spawn_blocking(move || read(&path)).await;
            match content.map_err(io::Error::other).flatten() {
                Ok(content) => {
                    self.failure = None;
                    if self.content.as_ref() != Some(&content) {
                        self.content = Some(content.clone());
                        return Ok(content);
                    }
                }
                Err(error) if self.failure == Some(error.kind()) => {}
                Err(error) => {
                    self.failure = Some(error.kind());
                    return Err(error);
                }
            }
        }
    }

    /// Returns the same content once more after the next look: it may be usable then.
    pub(crate) fn look_again(&mut self) {
        self.content = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_content_and_each_failure_is_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut file = FollowedFile::new(&path, b"first".to_vec(), Duration::from_millis(1));
        assert_eq!(file.changed().await.unwrap_err().kind(), ErrorKind::NotFound);
        let silent = async |file: &mut FollowedFile| {
            assert!(tokio::time::timeout(Duration::from_millis(20), file.changed()).await.is_err());
        };
        silent(&mut file).await;
        std::fs::write(&path, "first").unwrap();
        silent(&mut file).await;
        std::fs::write(&path, "second").unwrap();
        assert_eq!(file.changed().await.unwrap(), b"second");
        silent(&mut file).await;
        file.look_again();
        assert_eq!(file.changed().await.unwrap(), b"second");
        std::fs::remove_file(&path).unwrap();
        assert!(file.changed().await.is_err());
    }
}
