//! CPU budgets of operations, and the costs of the reference server.

/// One line of the budget table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// CPU of kube-apiserver v1.36.2 per operation, in microseconds.
    pub(crate) reference_cpu_micros: f64,
    /// The CPU budget of this project per operation, in microseconds.
    pub(crate) allowed_cpu_micros: f64,
}

/// Returns the budget of a workload, if it has one at this size.
pub(crate) fn of(workload: &str, size: usize) -> Option<Budget> {
    let budget =
        |reference_cpu_micros, allowed_cpu_micros| Some(Budget { reference_cpu_micros, allowed_cpu_micros });
    match (workload, size) {
        ("get", _) => budget(278.0, 28.0),
        ("list", 5_000) => budget(52_000.0, 4_000.0),
        ("create" | "create by 64" | "create beside idle watches", _) => budget(706.0, 100.0),
        ("watch", 200..=1_000) => budget(20.0, 2.0),
        _ => None,
    }
}
