//! The machine of a measurement.

/// Returns processor, memory and kernel, in one line.
pub(crate) fn describe() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let processor = read("/proc/cpuinfo");
    let memory = read("/proc/meminfo");
    let model = processor.lines().find_map(|line| line.strip_prefix("model name\t: "));
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    let kibibytes =
        total.split_whitespace().next().and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "{cores} cores of {}, {} GiB, Linux {}",
        model.unwrap_or("unknown processor"),
        kibibytes.div_ceil(1024 * 1024),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

/// Returns the system load of the last minute.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
