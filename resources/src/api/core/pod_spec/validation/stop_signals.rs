//! The signals that stop containers. Only pods that were stored by a server with the feature `ContainerStopSignals` have them.

use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{Lifecycle, PodSpec};

/// The signals of Linux, sorted.
const LINUX: [&str; 65] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];
/// The signals that Windows knows, sorted.
const WINDOWS: [&str; 2] = ["SIGKILL", "SIGTERM"];

/// Checks that the pod's operating system has the signal that stops a container.
pub(super) fn check(lifecycle: &Lifecycle<'_, '_>, spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let signal = lifecycle.stop_signal();
    if !signal.exists() {
        return;
    }
    let system = spec.os();
    match system.name().text() {
        _ if !system.exists() => {
            errors.push(signal.forbidden("may not be set for containers with empty `spec.os.name`"));
        }
        "linux" => signal.check_one_of(&LINUX, errors),
        "windows" => signal.check_one_of(&WINDOWS, errors),
        _ => {}
    }
}
