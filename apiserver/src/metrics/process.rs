//! The process's use of processor time, memory and file descriptors, read from `/proc` (Linux) at a scrape.

use std::fs;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec};
use registry_core::metrics::{Families, MetricsError};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use super::names::process as names;

/// The collector of the numbers of this process.
struct ProcessNumbers {
    cpu_seconds: IntCounterVec,
    open_files: IntGaugeVec,
    max_files: IntGaugeVec,
    virtual_bytes: IntGaugeVec,
    resident_bytes: IntGaugeVec,
    start_seconds: IntGaugeVec,
    threads: IntGaugeVec,
}

/// The numbers in `/proc/self/stat`, in the kernel's units.
#[derive(Debug, PartialEq, Eq)]
struct Status {
    /// Processor time of the process itself and of the kernel for it, in ticks of the clock.
    cpu_ticks: u64,
    threads: u64,
    /// Time from the start of the machine to that of the process, in ticks of the clock.
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

/// Registers the metrics of this process.
///
/// # Errors
/// Fails if they are registered already.
pub(super) fn register(families: &mut Families) -> Result<(), MetricsError> {
    let numbers = ProcessNumbers::new(families)?;
    families.collect(Box::new(numbers))
}

// === impl ProcessNumbers ===

impl ProcessNumbers {
    fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let cpu_seconds = families.unregistered_counter(&names::CPU_SECONDS)?;
        let mut gauge = |definition| families.unregistered_gauge(definition);
        Ok(Self {
            cpu_seconds,
            open_files: gauge(&names::OPEN_FILES)?,
            max_files: gauge(&names::MAX_FILES)?,
            virtual_bytes: gauge(&names::VIRTUAL_BYTES)?,
            resident_bytes: gauge(&names::RESIDENT_BYTES)?,
            start_seconds: gauge(&names::START_SECONDS)?,
            threads: gauge(&names::THREADS)?,
        })
    }

    fn read(&self) {
        set(&self.open_files, open_files());
        // `None` means no limit.
        set(&self.max_files, Some(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)));
        let text = fs::read_to_string("/proc/self/stat").ok();
        self.set_status(text.as_deref().and_then(Status::parse).as_ref());
    }

    /// Sets the numbers of a status; without one they are not shown.
    fn set_status(&self, status: Option<&Status>) {
        let ticks_per_second = clock_ticks_per_second();
        match status {
            Some(status) => {
                let cpu_seconds = self.cpu_seconds.with_label_values::<&str>(&[]);
                cpu_seconds.inc_by((status.cpu_ticks / ticks_per_second).saturating_sub(cpu_seconds.get()));
            }
            None => self.cpu_seconds.reset(),
        }
        let page_bytes = page_size() as u64;
        set(&self.virtual_bytes, status.map(|status| status.virtual_bytes));
        set(&self.resident_bytes, status.map(|status| status.resident_pages.saturating_mul(page_bytes)));
        set(&self.threads, status.map(|status| status.threads));
        let start = status.zip(start_of_machine());
        set(
            &self.start_seconds,
            start.map(|(status, machine)| machine + status.start_ticks / ticks_per_second),
        );
    }

    fn all(&self) -> [&dyn Collector; 7] {
        [
            &self.cpu_seconds,
            &self.open_files,
            &self.max_files,
            &self.virtual_bytes,
            &self.resident_bytes,
            &self.start_seconds,
            &self.threads,
        ]
    }
}

impl Collector for ProcessNumbers {
    fn desc(&self) -> Vec<&Desc> {
        self.all().into_iter().flat_map(|metric| metric.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.read();
        self.all().into_iter().flat_map(Collector::collect).collect()
    }
}

// === impl Status ===

impl Status {
    /// Parses the text of `/proc/PID/stat`.
    fn parse(text: &str) -> Option<Self> {
        // The name, in parentheses, may contain anything.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The first field after the name is the third of the manual page proc_pid_stat(5).
        let number = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: number(14)?.saturating_add(number(15)?),
            threads: number(20)?,
            start_ticks: number(22)?,
            virtual_bytes: number(23)?,
            resident_pages: number(24)?,
        })
    }
}

/// Sets a number; one that is not known is not shown.
fn set(gauge: &IntGaugeVec, value: Option<u64>) {
    match value {
        Some(value) => gauge.with_label_values::<&str>(&[]).set(i64::try_from(value).unwrap_or(i64::MAX)),
        None => gauge.reset(),
    }
}

/// Returns the number of open file descriptors.
fn open_files() -> Option<u64> {
    const DIRECTORY: &str = "/proc/self/fd";
    // Since Linux 6.2 it is the directory's size.
    let size = fs::metadata(DIRECTORY).ok()?.len();
    if size > 0 {
        return Some(size);
    }
    Some(fs::read_dir(DIRECTORY).ok()?.count() as u64)
}

/// Returns when the machine was started, in seconds since 1970.
fn start_of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_whatever_the_name_of_the_program_is() {
        let text = "4242 (a) b (c) S 1 4242 4242 0 -1 4194560 9000 0 3 0 750 250 0 0 20 0 17 0 123456 \
                    987654321 4321 18446744073709551615 1 1 0 0 0 0 0 4096 17642 0 0 0 17 1 0 0 0 0 0\n";
        let expected = Status {
            cpu_ticks: 1000,
            threads: 17,
            start_ticks: 123_456,
            virtual_bytes: 987_654_321,
            resident_pages: 4321,
        };
        assert_eq!(Status::parse(text), Some(expected));
        assert_eq!(Status::parse("4242 (short) S 1 4242"), None);
        assert_eq!(Status::parse(""), None);
    }

    #[test]
    fn numbers_that_cannot_be_read_are_not_shown() {
        let numbers = ProcessNumbers::new(&mut Families::default()).unwrap();
        let shown = |numbers: &ProcessNumbers| {
            let families = numbers.all().into_iter().flat_map(Collector::collect);
            families.filter(|family| !family.get_metric().is_empty()).count()
        };
        numbers.read();
        assert_eq!(shown(&numbers), 7);
        numbers.set_status(None);
        assert_eq!(shown(&numbers), 2, "the descriptors");
    }

    #[test]
    fn the_numbers_of_this_process_are_plausible() {
        let mut families = Families::default();
        register(&mut families).unwrap();
        let page = Families::encode(&families.gather()).unwrap();
        let value = |name: &str| {
            let mut values =
                page.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
            values.next().unwrap_or_else(|| panic!("{name} in {page}"))
        };
        let resident = value("process_resident_memory_bytes");
        assert!(resident > 100e3 && resident < value("process_virtual_memory_bytes"), "{page}");
        assert!(value("process_threads") >= 1.0, "{page}");
        assert!((3.0..value("process_max_fds")).contains(&value("process_open_fds")), "{page}");
        let now = jiff::Timestamp::now().as_duration().as_secs_f64();
        let start = value("process_start_time_seconds");
        assert!((now - 3600.0..now + 2.0).contains(&start), "{now}: {page}");
        assert!(value("process_cpu_seconds_total") >= 0.0, "{page}");
    }
}
