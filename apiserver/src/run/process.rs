//! Another process, which may end, so that its number becomes that of a third one. Linux has descriptors of processes
//! against this.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
#[cfg(not(target_os = "linux"))]
use std::time::Duration;

use rustix::process::{Pid, Signal};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};

/// Time between two looks at the process.
#[cfg(not(target_os = "linux"))]
const PAUSE: Duration = Duration::from_millis(50);

/// Another process.
#[cfg(target_os = "linux")]
pub(super) struct Process(OwnedFd);

/// Another process.
#[cfg(not(target_os = "linux"))]
pub(super) struct Process(Pid);

// === impl Process ===

#[cfg(target_os = "linux")]
impl Process {
    /// Opens the process with this number.
    ///
    /// # Errors
    /// Fails if there is none, or the kernel has no descriptors of processes.
    pub(super) fn open(number: Pid) -> io::Result<Self> {
        let descriptor = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty());
        Ok(Self(descriptor?))
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// Fails if the runtime cannot wait for it.
    #[expect(
        deprecated,
        reason = "sound for a descriptor that is owned; the function that replaces it is unsafe"
    )]
    pub(super) async fn ended(&self) -> io::Result<()> {
        let descriptor = AsyncFd::with_interest(self.0.try_clone()?, Interest::READABLE)?;
        descriptor.readable().await.map(|_| ())
    }

    /// Sends a signal, unless it has ended.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = rustix::process::pidfd_send_signal(&self.0, signal);
    }
}

#[cfg(not(target_os = "linux"))]
impl Process {
    /// Takes the process with this number.
    ///
    /// # Errors
    /// Fails if there is none.
    pub(super) fn open(number: Pid) -> io::Result<Self> {
        rustix::process::test_kill_process(number)?;
        Ok(Self(number))
    }

    /// Waits until it has ended and its parent knows.
    ///
    /// # Errors
    /// Never fails.
    pub(super) async fn ended(&self) -> io::Result<()> {
        while rustix::process::test_kill_process(self.0).is_ok() {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Sends a signal, unless it has ended.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process(self.0, signal);
    }
}
