//! The places of everything that the server writes.

use std::path::{Path, PathBuf};

use clap::Args;
use registry_core::durable_file::Durability;

use super::{Options, OptionsError, StorageBackend, UnwritableFile};

/// The name of the administrator's kubeconfig.
pub(crate) const ADMIN_KUBECONFIG: &str = "admin.kubeconfig";

/// The data directory of a server that is not told otherwise.
const DEFAULT_DATA_DIRECTORY: &str = "./apiserver-data";

/// The places of everything that the server writes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "General")]
pub struct LocationOptions {
    /// Directory for everything that the server writes: objects, keys, certificates and the admin.kubeconfig
    /// [default: ./apiserver-data; with --etcd-servers or --storage-backend=memory, --cert-dir if that is given;
    /// otherwise, with memory, a temporary directory that is removed at the end]
    #[arg(long, global = true, value_name = "DIRECTORY")]
    pub data_dir: Option<PathBuf>,

    /// Also write the kubeconfig of the administrator to this file, readable by its owner only, once the port is open. It is
    /// kept when the server stops
    #[arg(long, value_name = "PATH")]
    pub write_kubeconfig: Option<PathBuf>,

    /// File that exists while the server is ready, and contains its URL. A file that a killed server left is removed at the
    /// start
    #[arg(long, value_name = "PATH")]
    pub ready_file: Option<PathBuf>,

    /// Whether the data directory is removed when the server ends, so that nothing in it is flushed to disk. No flag:
    /// whoever makes the directory knows it.
    #[arg(skip)]
    pub removes_data_dir: bool,
}

// === impl LocationOptions ===

impl LocationOptions {
    /// Returns the events that generated files in the data directory must survive.
    pub(crate) fn durability(&self) -> Durability {
        if self.removes_data_dir { Durability::ProcessEnd } else { Durability::PowerLoss }
    }

    /// Checks the flags. Changes nothing on disk.
    ///
    /// # Errors
    /// Fails if a file can certainly not be written; the text names the flag.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        for (flag, path) in
            [("--write-kubeconfig", &self.write_kubeconfig), ("--ready-file", &self.ready_file)]
        {
            let Some(path) = path else { continue };
            check_writable(path).map_err(|problem| OptionsError::Unwritable {
                flag,
                path: path.clone(),
                problem,
            })?;
        }
        if self.write_kubeconfig.is_some() && self.write_kubeconfig == self.ready_file {
            return Err(OptionsError::SameFile);
        }
        Ok(())
    }
}

/// Checks that a file can be written, as far as that is known without writing it.
fn check_writable(path: &Path) -> Result<(), UnwritableFile> {
    if path.file_name().is_none() {
        return Err(UnwritableFile::NoName);
    }
    // Neither a device nor what a link names is replaced or removed.
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(UnwritableFile::Special);
    }
    let directory = registry_core::durable_file::parent_of(path);
    if directory.is_dir() { Ok(()) } else { Err(UnwritableFile::NoDirectory(directory.to_owned())) }
}

// === impl Options ===

impl Options {
    /// Returns the data directory. A server whose directory is [temporary](Self::has_temporary_directory) has another
    /// one.
    pub fn data_directory(&self) -> PathBuf {
        let own = self.locations.data_dir.clone();
        let beside_certificates =
            || self.serving.cert_dir.clone().filter(|_| self.storage.backend() != StorageBackend::Embedded);
        own.or_else(beside_certificates).unwrap_or_else(|| DEFAULT_DATA_DIRECTORY.into())
    }

    /// Whether the server has a new data directory at each start, which is removed at its end: one that keeps nothing,
    /// unless a directory is given.
    pub fn has_temporary_directory(&self) -> bool {
        self.storage.backend() == StorageBackend::Memory
            && self.locations.data_dir.is_none()
            && self.serving.cert_dir.is_none()
    }

    /// Returns the directory of generated keys and certificates.
    pub fn certificate_directory(&self) -> PathBuf {
        self.serving.cert_dir.clone().unwrap_or_else(|| self.data_directory().join("pki"))
    }

    /// Returns the path of the administrator's kubeconfig.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.data_directory().join(ADMIN_KUBECONFIG)
    }

    /// Returns the directory of the embedded store.
    pub fn storage_directory(&self) -> PathBuf {
        self.data_directory().join("storage")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_directory_is_given_or_that_of_certificates_or_temporary_or_the_default() {
        let default = "./apiserver-data";
        let etcd = "--etcd-servers=http://127.0.0.1:2379";
        let memory = "--storage-backend=memory";
        for (flags, directory, certificates, is_temporary) in [
            (&[][..], default, "./apiserver-data/pki", false),
            (&["--data-dir=d"], "d", "d/pki", false),
            (&["--cert-dir=c"], default, "c", false),
            (&["--storage-backend=embedded", "--cert-dir=c"], default, "c", false),
            (&[etcd], default, "./apiserver-data/pki", false),
            (&[etcd, "--cert-dir=c"], "c", "c", false),
            (&[etcd, "--cert-dir=c", "--data-dir=d"], "d", "c", false),
            (&[memory, "--cert-dir=c"], "c", "c", false),
            (&[memory, "--data-dir=d"], "d", "d/pki", false),
            (&[memory], default, "./apiserver-data/pki", true),
        ] {
            let options = Options::try_parse_from([&["apiserver"], flags].concat()).unwrap();
            assert_eq!(options.data_directory(), Path::new(directory), "{flags:?}");
            assert_eq!(options.certificate_directory(), Path::new(certificates), "{flags:?}");
            assert_eq!(options.kubeconfig_path(), Path::new(directory).join("admin.kubeconfig"));
            assert_eq!(options.has_temporary_directory(), is_temporary, "{flags:?}");
        }
    }

    #[test]
    fn files_that_cannot_be_written_are_refused_before_anything_is() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name).display().to_string();
        std::os::unix::fs::symlink(path("absent"), path("link")).unwrap();
        for (name, reason) in [
            ("", "it is a directory"),
            ("link", "a symbolic link"),
            ("absent/file", "there is no directory"),
            ("..", "no file"),
        ] {
            for flag in ["--write-kubeconfig", "--ready-file"] {
                let flags = ["apiserver".to_owned(), format!("{flag}={}", path(name))];
                let refused = Options::try_parse_from(flags).unwrap().validate().unwrap_err().to_string();
                assert!(refused.contains(flag) && refused.contains(reason), "{refused}");
            }
        }
        let same = ["--write-kubeconfig", "--ready-file"].map(|flag| format!("{flag}={}", path("file")));
        let both = Options::try_parse_from([&["apiserver".to_owned()], &same[..]].concat()).unwrap();
        assert!(both.validate().unwrap_err().to_string().contains("the same file"));
    }
}
