//! A minor release of Kubernetes.

use darling::FromMeta;

/// A minor release: its major and its minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The major version.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
}

// === impl Release ===

impl FromMeta for Release {
    fn from_string(text: &str) -> darling::Result<Self> {
        let parts = text.split_once('.');
        let numbers = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let message = "expected a minor release of Kubernetes, for example `introduced = \"1.34\"`";
        let (major, minor) = numbers.ok_or_else(|| darling::Error::custom(message))?;
        Ok(Self { major, minor })
    }
}
