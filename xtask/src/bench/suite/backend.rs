//! What the suite measures over.

/// A store to measure over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Backend {
    /// In the server's process.
    Embedded,
    /// An etcd beside it.
    Etcd,
}

// === impl Backend ===

impl Backend {
    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Etcd => "etcd",
        }
    }
}
