//! Detection of the available memory.

use std::fs;

use super::StorageOptions;

const MEBIBYTE: usize = 1024 * 1024;

/// Memory that is assumed if it cannot be determined.
const ASSUMED_BYTES: usize = 2048 * MEBIBYTE;

/// Files with the memory limit of the process's control group, versions 2 and 1.
const GROUP_LIMITS: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

// === impl StorageOptions ===

impl StorageOptions {
    /// Returns the maximum memory of all watch caches, in bytes: the flag's value, or half of the available
    /// memory.
    pub fn watch_cache_bytes(&self) -> usize {
        match self.watch_cache_memory {
            Some(mebibytes) => mebibytes.saturating_mul(MEBIBYTE),
            None => available_bytes().unwrap_or(ASSUMED_BYTES) / 2,
        }
    }
}

/// Returns the minimum of the machine's memory and the limits on this process.
fn available_bytes() -> Option<usize> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of_meminfo(&text));
    let own_group = own_group_file().into_iter();
    let groups = GROUP_LIMITS.into_iter().map(str::to_owned).chain(own_group);
    // "max", or a number that exceeds any machine's memory, means no limit.
    let limits = groups.filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    machine.into_iter().chain(limits).min()
}

/// Returns the limit file of the process's control group outside of containers.
fn own_group_file() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{}/memory.max", path.trim_end_matches('/')))
}

/// Parses `MemTotal:       24656780 kB` into bytes.
fn total_of_meminfo(text: &str) -> Option<usize> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_what_it_has() {
        assert_eq!(total_of_meminfo("MemTotal:        2048 kB\nMemFree: 1 kB\n"), Some(2 * MEBIBYTE));
        assert_eq!(total_of_meminfo("no such line"), None);
    }
}
