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
pub(crate) fn budget(workload: &str, size: usize) -> Option<Budget> {
    let budget =
        |reference_cpu_micros, allowed_cpu_micros| Some(Budget { reference_cpu_micros, allowed_cpu_micros });
    match (workload, size) {
        ("get", _) => budget(278.0, 28.0),
        ("list", 5_000) => budget(52_000.0, 4_000.0),
        ("create" | "create by 64" | "create beside idle watches", _) => budget(706.0, 100.0),
        ("pod create", _) => budget(2_020.0, 150.0),
        ("pod status patch", _) => budget(4_840.0, 150.0),
        ("pods as JSON", 4_000) => budget(280_000.0, 13_000.0),
        ("pods as protobuf", 4_000) => budget(149_000.0, 10_000.0),
        ("pods as table", 4_000) => budget(252_000.0, 12_000.0),
        ("watch", 200..=1_000) => budget(20.0, 2.0),
        _ => None,
    }
}
