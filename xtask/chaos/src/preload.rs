//! The library that is loaded into servers before libc, and the file by which it is controlled: failures of their disks, and another
//! time of day.
//!
//! Unsafe code is forbidden in this project, so the library is the C file beside this one. It maps the control file; this module
//! reads and writes it as a file, and Linux shows either side what the other one has written.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;

/// The source of the library.
const SOURCE: &str = include_str!("preload.c");

/// Number of bytes of each setting and counter in the control file.
const NUMBER: u64 = 8;

/// Number of settings and counters.
const NUMBERS: u64 = 7;

/// The library, compiled for this machine.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
}

/// The control file of a server.
#[derive(Debug)]
pub(crate) struct Control {
    file: File,
    /// The variables with which the server loads the library.
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
}

/// The way in which accesses to files below the data directory fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskFault {
    /// Writes fail with EIO, after a part of the data was written.
    FailWrites,
    /// Flushes to the disk fail with EIO.
    FailSyncs,
    /// Writes take a part of the data, without an error.
    ShortenWrites,
}

/// A number of calls that the library has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter {
    /// Processes that have loaded the library.
    Processes,
    /// Times of day that differed from the machine's.
    ChangedTimes,
    /// Calls that a disk fault has changed.
    Disk(DiskFault),
}

/// The place of the offset of the clock in the control file.
const CLOCK_OFFSET: u64 = 0;

/// The place of the disk fault in the control file.
const DISK_FAULT: u64 = NUMBER;

// === impl Library ===

impl Library {
    /// Compiles the library into a directory.
    ///
    /// # Errors
    /// The error says why servers cannot have these faults here.
    pub(crate) fn compile(directory: &Path) -> Result<Self, Failure> {
        if !cfg!(all(target_os = "linux", target_env = "gnu")) {
            return Err("they need Linux with glibc".into());
        }
        let path = directory.join("preload.so");
        let text = path.to_str().ok_or("the directory for temporary files has a name that is not UTF-8")?;
        if text.contains([' ', ':']) {
            return Err(format!(
                "{text} has a space or a colon, at which LD_PRELOAD ends a path; TMPDIR names another one"
            )
            .into());
        }
        let source = directory.join("preload.c");
        std::fs::write(&source, SOURCE)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&path).arg(&source);
        let ended = compiler.output().map_err(|error| format!("there is no C compiler, cc: {error}"))?;
        if ended.status.success() {
            return Ok(Self { path });
        }
        Err(format!("cc does not compile their library: {}", String::from_utf8_lossy(&ended.stderr)).into())
    }

    /// Creates the control file of a server with this data directory, without a fault.
    pub(crate) fn control(&self, data_directory: &Path) -> Result<Control, Failure> {
        let parent = data_directory.parent().ok_or("a data directory without a parent")?.canonicalize()?;
        let name = data_directory.file_name().ok_or("a data directory without a name")?;
        let path = data_directory.with_extension("control");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        file.set_len(NUMBER * NUMBERS)?;
        let environment = vec![
            ("LD_PRELOAD", self.path.clone()),
            ("ORLOP_CHAOS_CONTROL", path),
            ("ORLOP_CHAOS_DIRECTORY", parent.join(name)),
        ];
        Ok(Control { file, environment })
    }
}

// === impl Control ===

impl Control {
    /// Adds this to the time of day that the server reads; 0 ends it.
    pub(crate) fn set_clock_offset(&self, seconds: i64) -> Result<(), Failure> {
        Ok(self.file.write_all_at(&seconds.to_ne_bytes(), CLOCK_OFFSET)?)
    }

    /// Lets accesses to the files of the server fail, or no longer.
    pub(crate) fn set_disk_fault(&self, fault: Option<DiskFault>) -> Result<(), Failure> {
        let number = fault.map_or(0, DiskFault::number);
        Ok(self.file.write_all_at(&number.to_ne_bytes(), DISK_FAULT)?)
    }

    /// Returns a counter.
    pub(crate) fn count(&self, counter: Counter) -> Result<u64, Failure> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, counter.place() * NUMBER)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Whether the server has loaded the library. A program that is linked statically does not.
    pub(crate) fn is_loaded(&self) -> Result<bool, Failure> {
        Ok(self.count(Counter::Processes)? > 0)
    }
}

// === impl DiskFault ===

impl DiskFault {
    /// Returns its number in the control file.
    fn number(self) -> u64 {
        match self {
            Self::FailWrites => 1,
            Self::FailSyncs => 2,
            Self::ShortenWrites => 3,
        }
    }
}

// === impl Counter ===

impl Counter {
    /// Returns its place among the numbers of the control file.
    fn place(self) -> u64 {
        match self {
            Self::Processes => 2,
            Self::ChangedTimes => 3,
            Self::Disk(DiskFault::FailWrites) => 4,
            Self::Disk(DiskFault::FailSyncs) => 5,
            Self::Disk(DiskFault::ShortenWrites) => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that loads the library, in the directory of the faults, with its output.
    fn run(control: &Control, directory: &Path, script: &str) -> (bool, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(directory).envs(control.environment.iter().cloned());
        let ended = command.output().unwrap();
        (ended.status.success(), String::from_utf8(ended.stdout).unwrap().trim().to_owned())
    }

    fn prepared() -> (tempfile::TempDir, PathBuf, Control) {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let control = Library::compile(home.path()).unwrap().control(&data).unwrap();
        (home, data, control)
    }

    #[test]
    fn a_program_is_left_alone_without_a_fault() {
        let (_home, data, control) = prepared();
        assert!(!control.is_loaded().unwrap());
        assert_eq!(
            run(&control, &data, "echo data > file && sync file && cat file"),
            (true, "data".to_owned())
        );
        assert!(control.is_loaded().unwrap());
        for fault in [DiskFault::FailWrites, DiskFault::FailSyncs, DiskFault::ShortenWrites] {
            assert_eq!(control.count(Counter::Disk(fault)).unwrap(), 0, "{fault:?}");
        }
        assert_eq!(control.count(Counter::ChangedTimes).unwrap(), 0);
    }

    #[test]
    fn the_time_of_day_jumps_forwards_and_backwards() {
        let (_home, data, control) = prepared();
        let time = || run(&control, &data, "date +%s").1.parse::<i64>().unwrap();
        for offset in [7_200, -7_200] {
            let before = time();
            control.set_clock_offset(offset).unwrap();
            let jumped = time() - before;
            control.set_clock_offset(0).unwrap();
            assert!((offset..offset + 60).contains(&jumped), "{jumped}");
            assert!((0..60).contains(&(time() - before)));
        }
        assert!(control.count(Counter::ChangedTimes).unwrap() >= 2);
    }

    #[test]
    fn writes_and_flushes_fail_below_the_directory_only() {
        let (home, data, control) = prepared();
        let count = |fault| control.count(Counter::Disk(fault)).unwrap();
        control.set_disk_fault(Some(DiskFault::FailWrites)).unwrap();
        assert!(!run(&control, &data, "echo 1 > file && echo 2 >> file").0);
        assert!(run(&control, home.path(), "echo 1 > file && echo 2 >> file").0);
        assert!(count(DiskFault::FailWrites) > 0);

        control.set_disk_fault(Some(DiskFault::FailSyncs)).unwrap();
        assert!(!run(&control, &data, "sync file").0);
        assert!(run(&control, home.path(), "sync file").0);
        assert_eq!(count(DiskFault::FailSyncs), 1);
        assert!(run(&control, &data, "echo data > file").0, "writes succeed");

        control.set_disk_fault(None).unwrap();
        assert!(run(&control, &data, "sync file").0);
    }

    #[test]
    fn short_writes_are_no_errors() {
        let (_home, data, control) = prepared();
        control.set_disk_fault(Some(DiskFault::ShortenWrites)).unwrap();
        let (_, _) = run(&control, &data, "printf 0123456789 > file");
        assert!(control.count(Counter::Disk(DiskFault::ShortenWrites)).unwrap() > 0);
        control.set_disk_fault(None).unwrap();
        let written = std::fs::read_to_string(data.join("file")).unwrap();
        assert!("0123456789".starts_with(&written) && !written.is_empty(), "{written}");
    }
}
