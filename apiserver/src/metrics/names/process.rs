//! The metrics of the process, whose names and texts are those of every Prometheus client.

use registry_core::metrics::Definition;

pub(in crate::metrics) const CPU_SECONDS: Definition =
    Definition::new("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", &[]);

pub(in crate::metrics) const OPEN_FILES: Definition =
    Definition::new("process_open_fds", "Number of open file descriptors.", &[]);

pub(in crate::metrics) const MAX_FILES: Definition =
    Definition::new("process_max_fds", "Maximum number of open file descriptors.", &[]);

pub(in crate::metrics) const VIRTUAL_BYTES: Definition =
    Definition::new("process_virtual_memory_bytes", "Virtual memory size in bytes.", &[]);

pub(in crate::metrics) const RESIDENT_BYTES: Definition =
    Definition::new("process_resident_memory_bytes", "Resident memory size in bytes.", &[]);

pub(in crate::metrics) const START_SECONDS: Definition = Definition::new(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    &[],
);

pub(in crate::metrics) const THREADS: Definition =
    Definition::new("process_threads", "Number of OS threads in the process.", &[]);
