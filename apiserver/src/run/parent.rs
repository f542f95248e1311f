//! The process that started this one, whose end can be the reason to end.
//!
//! The signal that Linux can send when a parent ends (`PR_SET_PDEATHSIG`) is not used: it is sent when the *thread* ends
//! that started the process, and the runtime of Go ends threads while their process continues.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, getppid};

use super::process::Process;

/// Time between two looks at the parent, where the system does not report its end.
const PAUSE: Duration = Duration::from_millis(200);

/// Beginning of the names of directories that controller-runtime's envtest creates for a server and for etcd, and removes
/// when it stops them.
const TEST_DIRECTORY_PREFIX: &str = "k8s_test_framework_";

/// The process that started this one.
pub(super) enum Parent {
    /// The system reports its end.
    Followed { parent: Pid, process: Process },
    /// The system has to be asked.
    Asked(Pid),
    /// It has ended already.
    Gone,
    /// It is in another process namespace, as that of a container's first process is: its end cannot be seen.
    Unseen,
}

// === impl Parent ===

impl Parent {
    /// Finds the parent. To be called early: a parent that ends before leaves its children to another process.
    pub(super) fn find() -> Self {
        let Some(parent) = getppid() else { return Self::Unseen };
        if is_adopted(parent) {
            return Self::Gone;
        }
        let opened = Process::open(parent);
        // A parent that ended meanwhile may have given its number to another process.
        if getppid() != Some(parent) {
            return Self::Gone;
        }
        match opened {
            // Elsewhere the parent's number may be that of another process some day.
            Ok(process) if cfg!(target_os = "linux") => Self::Followed { parent, process },
            _ => Self::Asked(parent),
        }
    }

    /// Waits for its end.
    pub(super) async fn ended(self) {
        match self {
            Self::Followed { parent, process } => {
                // If the system refuses this, as without descriptors, the parent is asked instead.
                if process.ended().await.is_err() {
                    until_adopted(parent).await;
                }
            }
            Self::Asked(parent) => until_adopted(parent).await,
            Self::Gone => {}
            Self::Unseen => std::future::pending().await,
        }
    }
}

/// Waits until this process has another parent.
async fn until_adopted(parent: Pid) {
    while getppid() == Some(parent) {
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the parent has adopted this process, after its own parent ended. Children are born into the session of their
/// parents, and leave it only to lead one of their own.
fn is_adopted(parent: Pid) -> bool {
    let own_id = std::process::id().to_string();
    let (Some(own), Some(other)) = (session("self"), session(&parent.as_raw_nonzero().to_string())) else {
        return false;
    };
    own != other && own != own_id
}

/// Returns the session of a process, as Linux tells it.
fn session(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, rest) = status.rsplit_once(')')?;
    // State, parent, process group, session.
    rest.split_ascii_whitespace().nth(3).map(str::to_owned)
}

/// Whether a test environment has created this directory and would have removed it, had it not been killed.
pub(super) fn is_of_test_environment(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let home = directory.parent().map(fs::canonicalize);
    let temporary = fs::canonicalize(std::env::temp_dir());
    name.starts_with(TEST_DIRECTORY_PREFIX)
        && matches!((home, temporary), (Some(Ok(home)), Ok(temporary)) if home == temporary)
        && directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_test_environments_are_recognized() {
        let temporary = std::env::temp_dir();
        let named = temporary.join(format!("{TEST_DIRECTORY_PREFIX}{}", uuid::Uuid::new_v4()));
        assert!(!is_of_test_environment(&named), "it does not exist");
        fs::create_dir(&named).unwrap();
        let inner = named.join(format!("{TEST_DIRECTORY_PREFIX}1"));
        fs::create_dir(&inner).unwrap();
        let link = temporary.join(format!("{TEST_DIRECTORY_PREFIX}{}", uuid::Uuid::new_v4()));
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        assert!(is_of_test_environment(&named));
        assert!(!is_of_test_environment(&inner), "it is elsewhere");
        assert!(!is_of_test_environment(&link), "a link is not followed");
        assert!(!is_of_test_environment(&temporary));
        assert!(!is_of_test_environment(Path::new("/")));
        fs::remove_file(&link).unwrap();
        fs::remove_dir_all(&named).unwrap();
        // The parent of a test is in its session, or leads another one.
        assert!(session("self").is_some_and(|session| session.parse::<u32>().is_ok()));
        assert_eq!(session("no-such-process"), None);
    }
}
