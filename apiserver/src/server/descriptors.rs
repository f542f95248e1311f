//! File descriptors: the process's limit, and its division.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::proxy;

/// Maximum number of open connections, if the process may have enough descriptors.
const MAX_CONNECTIONS: usize = 32_768;
/// Number of connections below which a warning is logged.
const FEW_CONNECTIONS: usize = 4096;
/// Descriptors that storage, listeners and the server's own clients need.
const OWN_DESCRIPTORS: usize = 1024;

/// Division of the process's descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// Maximum number of open descriptors.
    pub(super) limit: usize,
    /// Maximum number of client connections.
    pub(super) connections: usize,
    /// Maximum number of proxied requests, each over a connection of its own.
    pub(super) proxied: usize,
}

/// Raises the limit on open descriptors as far as the process may. A limit that cannot be raised is not an
/// error: the server then accepts fewer connections.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!("cannot raise the limit on open files: {error}");
    }
}

// === impl Descriptors ===

impl Descriptors {
    /// Divides the process's current limit.
    pub(super) fn for_process() -> Self {
        // `None` means no limit.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self::divide(usize::try_from(limit).unwrap_or(usize::MAX))
    }

    fn divide(limit: usize) -> Self {
        let kept = (limit / 2).min(OWN_DESCRIPTORS + proxy::MAX_CONNECTIONS);
        let proxied = kept.saturating_sub(OWN_DESCRIPTORS).max(kept / 4).min(proxy::MAX_CONNECTIONS);
        Self { limit, connections: limit.saturating_sub(kept).clamp(1, MAX_CONNECTIONS), proxied }
    }

    /// Returns these numbers, after a warning in the log when there are few.
    pub(super) fn reported(self) -> Self {
        if self.connections < FEW_CONNECTIONS {
            tracing::warn!(
                limit = self.limit,
                max_connections = self.connections,
                "the limit on open files allows few connections: raise it (ulimit -n, LimitNOFILE=)"
            );
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_never_take_the_descriptors_of_storage() {
        for (limit, connections, proxied) in [
            (1_048_576, 32_768, 4096),
            (65_536, 32_768, 4096),
            (8192, 4096, 3072),
            (1024, 512, 128),
            (256, 128, 32),
            (0, 1, 0),
        ] {
            assert_eq!(Descriptors::divide(limit), Descriptors { limit, connections, proxied });
        }
    }
}
