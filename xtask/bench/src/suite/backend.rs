//! The stores that the suite measures.

/// A store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Backend {
    /// In the server's process.
    Embedded,
    /// A separate etcd.
    Etcd,
}

// === impl Backend ===

impl Backend {
    /// Returns the name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Etcd => "etcd",
        }
    }
}
