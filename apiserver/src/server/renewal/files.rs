//! The operator's files of certificates and keys, and whether they have changed.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::options::Options;

/// The files, with what was last seen of each.
pub(super) struct GivenFiles(Vec<(PathBuf, Option<Seen>)>);

/// The properties that tell a file from its replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    modified: Option<SystemTime>,
    bytes: u64,
    #[cfg(unix)]
    inode: u64,
}

// === impl GivenFiles ===

impl GivenFiles {
    /// Returns the files that these options name.
    pub(super) fn named_by(options: &Options) -> Self {
        let serving = &options.serving;
        let kubelet = &options.kubelet;
        let authentication = &options.authentication;
        let single = [
            &serving.tls_cert_file,
            &serving.tls_private_key_file,
            &authentication.client_ca_file,
            &authentication.front_proxy.requestheader_client_ca_file,
            &kubelet.kubelet_client_certificate,
            &kubelet.kubelet_client_key,
            &options.aggregator.proxy_client_cert_file,
            &options.aggregator.proxy_client_key_file,
            &options.peers.peer_ca_file,
        ];
        let named = options.tls.tls_sni_cert_key.iter();
        let named = named.flat_map(|files| [&files.certificate, &files.key]);
        let paths = single.into_iter().flatten().chain(named);
        Self(paths.map(|path| (path.clone(), Seen::at(path))).collect())
    }

    /// Returns whether the operator has named none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a file has changed since the last look.
    pub(super) fn have_changed(&mut self) -> bool {
        let mut have_changed = false;
        for (path, seen) in &mut self.0 {
            let now = Seen::at(path);
            have_changed |= now != *seen;
            *seen = now;
        }
        have_changed
    }
}

// === impl Seen ===

impl Seen {
    /// Returns what is seen of a file; `None` if there is none.
    fn at(path: &std::path::Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&metadata),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn files_that_are_replaced_or_appear_have_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.crt");
        std::fs::write(&path, "one").unwrap();
        let flag = format!("--client-ca-file={}", path.display());
        let mut files = GivenFiles::named_by(&Options::parse_from(["apiserver", &flag]));
        assert!(!files.have_changed());
        let other = directory.path().join("other");
        std::fs::write(&other, "two").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(files.have_changed() && !files.have_changed(), "of the same length");
        std::fs::remove_file(&path).unwrap();
        assert!(files.have_changed());
        std::fs::write(&path, "three").unwrap();
        assert!(files.have_changed() && !files.have_changed());
    }
}
