//! The name that the process is started under. Test environments start `kube-apiserver` and `etcd` from a directory of
//! programs; this program takes the place of both.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The first argument of a process that guards a command.
pub(super) const GUARD_NAME: &str = "orlop-guard";

/// The program that the process takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartedAs {
    /// None: it has a name of its own.
    Itself,
    /// Kubernetes' API server.
    KubeApiserver,
    /// The store of that server.
    Etcd,
    /// The process beside a command that removes what the command's server leaves if it is killed.
    Guard,
}

// === impl StartedAs ===

impl StartedAs {
    /// Returns the program by the first argument of a command line, which may be a path.
    pub(super) fn read(arguments: &[OsString]) -> Self {
        let name = arguments.first().and_then(|first| Path::new(first).file_name());
        match name.and_then(OsStr::to_str) {
            Some("kube-apiserver") => Self::KubeApiserver,
            Some("etcd") => Self::Etcd,
            Some(GUARD_NAME) => Self::Guard,
            _ => Self::Itself,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_of_the_first_argument_names_the_program() {
        for (arguments, expected) in [
            (&["/assets/kube-apiserver", "etcd"][..], StartedAs::KubeApiserver),
            (&["./etcd"], StartedAs::Etcd),
            (&["etcd"], StartedAs::Etcd),
            (&["orlop-guard"], StartedAs::Guard),
            (&["apiserver", "kube-apiserver"], StartedAs::Itself),
            (&["kube-apiserver/apiserver"], StartedAs::Itself),
            (&["kube-apiserver.exe"], StartedAs::Itself),
            (&["etcd/.."], StartedAs::Itself),
            (&[""], StartedAs::Itself),
            (&[], StartedAs::Itself),
        ] {
            let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
            assert_eq!(StartedAs::read(&arguments), expected, "{arguments:?}");
        }
    }
}
