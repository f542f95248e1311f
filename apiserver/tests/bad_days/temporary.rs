//! The directory of a server in memory, which is gone when the server is.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use kube::api::PostParams;
use tempfile::TempDir;

use crate::config_map;
use crate::process::Process;
use crate::start::names;

const MEMORY: [&str; 2] = ["--secure-port=0", "--storage-backend=memory"];

/// Returns the temporary directories of servers.
fn temporary(home: &Path) -> Vec<String> {
    names(&home.join("tmp"))
}

#[tokio::test]
async fn a_server_in_memory_leaves_nothing_however_it_is_stopped() {
    let home = TempDir::new().unwrap();
    for signal in ["TERM", "INT"] {
        let mut server = Process::spawn_in(home.path(), "server", &MEMORY);
        server.announced();
        let present = temporary(home.path());
        assert_eq!(present.len(), 1, "{present:?}");
        let directory = home.path().join("tmp").join(&present[0]);
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(server.kubeconfig().starts_with(&directory), "{}", server.kubeconfig().display());
        let maps = server.config_maps().await;
        maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        server.signal(signal);
        assert!(server.ended().await.success());
        assert_eq!(temporary(home.path()), [""; 0], "{signal}");
        assert_eq!(names(&home.path().join("work")), [""; 0]);
    }
}

/// The first signal begins a shutdown that takes long, the second one ends the process at once.
#[tokio::test]
async fn the_second_signal_removes_the_directory_too() {
    let home = TempDir::new().unwrap();
    let flags = [&MEMORY[..], &["--shutdown-delay-duration=10m", "--ready-file=ready"]].concat();
    let mut server = Process::spawn_in(home.path(), "server", &flags);
    server.announced();
    server.signal("TERM");
    server.says("a second signal ends the process at once").await;
    assert_eq!(temporary(home.path()).len(), 1, "it still serves");
    server.signal("TERM");
    assert_eq!(server.ended().await.code(), Some(1));
    assert_eq!(temporary(home.path()), [""; 0]);
    assert_eq!(names(&home.path().join("work")), [""; 0]);
}

#[tokio::test]
async fn after_a_kill_the_directory_lies_where_temporary_files_do_and_disturbs_nobody() {
    let home = TempDir::new().unwrap();
    let mut servers = Vec::new();
    // Two at once in the same working directory.
    for name in ["first", "second"] {
        let mut server = Process::spawn_in(home.path(), name, &MEMORY);
        server.announced();
        servers.push(server);
    }
    assert_eq!(temporary(home.path()).len(), 2);
    for server in servers {
        server.kill();
    }
    assert_eq!(temporary(home.path()).len(), 2);
    assert_eq!(names(&home.path().join("work")), [""; 0]);
    let mut server = Process::spawn_in(home.path(), "third", &MEMORY);
    server.announced();
    server.signal("TERM");
    assert!(server.ended().await.success());
    assert_eq!(temporary(home.path()).len(), 2, "only its own");
}

#[tokio::test]
async fn a_start_that_fails_late_leaves_nothing() {
    let home = TempDir::new().unwrap();
    // Files cannot be made there, not even by root.
    let flags = [&MEMORY[..], &["--write-kubeconfig=/proc/test.kubeconfig"]].concat();
    let logged = Process::spawn_in(home.path(), "server", &flags).fails().await;
    assert!(logged.contains("cannot write /proc/test.kubeconfig: "), "{logged}");
    assert_eq!(temporary(home.path()), [""; 0]);

    let flags = [&MEMORY[..], &["--ready-file=/proc/ready"]].concat();
    let logged = Process::spawn_in(home.path(), "server", &flags).fails().await;
    assert!(logged.contains("cannot write /proc/ready: "), "{logged}");
    assert_eq!(temporary(home.path()), [""; 0]);
}

/// No file may be larger than a block, which certificates are.
#[tokio::test]
async fn a_full_disk_under_the_keys_is_told_and_leaves_nothing() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("tmp")).unwrap();
    let prepare = format!("trap '' XFSZ; ulimit -f 1; export TMPDIR={}", home.path().join("tmp").display());
    let directory = home.path().join("certificates");
    let flags = ["--storage-backend=memory", &format!("--cert-dir={}", directory.display())];
    let mut server = Process::spawn_prepared(&home.path().join("data"), &flags, &prepare, Stdio::null());
    assert_eq!(server.ended().await.code(), Some(1));
    assert_eq!(names(&directory), ["ca.key"], "nothing is half written");
    assert_eq!(temporary(home.path()), [""; 0]);
    let flag = format!("--cert-dir={}", directory.display());
    let mut server = Process::spawn_in(home.path(), "server", &[&MEMORY[..], &[&flag]].concat());
    server.announced();
    server.config_maps().await;
}

/// Nothing is removed from a directory that is given.
#[tokio::test]
async fn a_directory_that_is_given_stays_and_its_certificates_are_used_again() {
    let home = TempDir::new().unwrap();
    for (flag, authority, kubeconfig) in [
        ("--data-dir=given", "work/given/pki/ca.crt", "work/given/admin.kubeconfig"),
        ("--cert-dir=certificates", "work/certificates/ca.crt", "work/certificates/admin.kubeconfig"),
    ] {
        let flags = [&MEMORY[..], &[flag]].concat();
        let mut seen = Vec::new();
        for _ in 0..2 {
            let mut server = Process::spawn_in(home.path(), "server", &flags);
            server.announced();
            assert_eq!(server.kubeconfig(), home.path().join(kubeconfig), "{flag}");
            server.config_maps().await;
            server.signal("TERM");
            assert!(server.ended().await.success());
            seen.push(std::fs::read(home.path().join(authority)).unwrap());
        }
        assert_eq!(seen[0], seen[1], "{flag}");
        assert_eq!(temporary(home.path()), [""; 0]);
    }
    assert_eq!(names(&home.path().join("work")), ["certificates", "given"]);
}
