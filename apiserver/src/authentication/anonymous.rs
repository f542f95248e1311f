//! Requests without credentials.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication/request/anonymous`.

use std::collections::HashSet;

use registry_core::context::UserInfo;

use super::{ANONYMOUS, UNAUTHENTICATED};

/// The requests that are accepted without credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anonymous {
    /// None.
    #[default]
    Nowhere,
    /// All.
    Everywhere,
    /// Those to one of these paths.
    Paths(HashSet<String>),
}

// === impl Anonymous ===

impl Anonymous {
    /// Returns the user of a request without credentials to this path, if it is accepted.
    pub(super) fn user(&self, path: &str) -> Option<UserInfo> {
        let is_accepted = match self {
            Self::Nowhere => false,
            Self::Everywhere => true,
            Self::Paths(paths) => paths.contains(path),
        };
        is_accepted.then(|| UserInfo {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        })
    }
}
