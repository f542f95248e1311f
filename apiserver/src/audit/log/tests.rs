use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use flate2::read::GzDecoder;

use super::backups::Backups;
use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn lines(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("{number:09}\n").into_bytes()).collect()
}

#[test]
fn lines_are_never_divided_between_files_and_none_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("below").join("audit.log");
    let retention = Retention { max_bytes: Some(95), ..Retention::default() };
    let mut file = RotatingFile::open(&path, retention).unwrap();
    let all = lines(100);
    for some in all.chunks(7) {
        file.write(some.iter().map(|line| &**line)).unwrap();
    }
    drop(file);
    // An existing file is continued.
    RotatingFile::open(&path, retention).unwrap().write([&*vec![b'x'; 200]].into_iter()).unwrap();
    let below = path.parent().unwrap();
    let files = names(below);
    assert_eq!(files.len(), 13, "{files:?}");
    assert_eq!(std::fs::read(&path).unwrap().len(), 200, "a line that is too long has a file of its own");
    let mut read = Vec::new();
    for name in files.iter().filter(|name| *name != "audit.log") {
        assert!(name.starts_with("audit-20") && name.contains(".log"), "{name}");
        let content = std::fs::read(below.join(name)).unwrap();
        assert!(content.len() <= 95 && content.ends_with(b"\n"));
        read.extend(content);
        assert_eq!(std::fs::metadata(below.join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(read, all.concat(), "names sort by time");
}

#[test]
fn former_files_are_compressed_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.log");
    let names_then = [
        "audit-2026-01-01T00-00-00.000.log",
        "audit-2026-01-09T00-00-00.000.log.gz",
        "audit-2026-01-10T00-00-00.000.log",
        "audit-2026-01-11T00-00-00.500.log",
        "audit-2026-01-11.log",
        "audit.log",
        "other-2026-01-01T00-00-00.000.log",
    ];
    for name in names_then {
        std::fs::write(directory.path().join(name), "content").unwrap();
    }
    let retention = Retention {
        max_age: Some(Duration::from_hours(5 * 24)),
        max_backups: Some(2),
        compresses: true,
        ..Retention::default()
    };
    let now = "2026-01-12T00:00:00Z".parse().unwrap();
    Backups::new(&path, retention).tidy_now(now).unwrap();
    let kept = [
        "audit-2026-01-10T00-00-00.000.log.gz",
        "audit-2026-01-11.log",
        "audit-2026-01-11T00-00-00.500.log.gz",
        "audit.log",
        "other-2026-01-01T00-00-00.000.log",
    ];
    assert_eq!(names(directory.path()), kept);
    let mut content = String::new();
    let file = std::fs::File::open(directory.path().join(kept[0])).unwrap();
    GzDecoder::new(file).read_to_string(&mut content).unwrap();
    assert_eq!(content, "content");
    let only_age = Retention { max_age: Some(Duration::from_hours(24)), ..Retention::default() };
    Backups::new(&path, only_age).tidy_now(now).unwrap();
    assert_eq!(names(directory.path()).len(), 4);
}

#[test]
fn a_path_that_cannot_be_written_is_refused_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let retention = Retention::default();
    assert!(RotatingFile::open(directory.path(), retention).is_err());
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(RotatingFile::open(&file.join("audit.log"), retention).is_err());
}
