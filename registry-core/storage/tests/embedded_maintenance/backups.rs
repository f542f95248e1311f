//! Backups, and stores that are restored from them.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_raises_nothing_brings_the_history_back() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let cold = home.path().join("cold.backup");
    let warm = home.path().join("warm.backup");
    let expected = fill(&original).await;
    let report = check(&original).unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert_eq!((report.revision, report.compacted_revision), (expected.revision, KEYS / 2));

    assert_eq!(backup(Source::Directory(&original), &cold).unwrap(), report);
    let store = Embedded::open(options(&original)).unwrap();
    assert!(matches!(check(&original), Err(MaintenanceError::Open(OpenError::Locked { .. }))));
    assert_eq!(backup(Source::Engine(&store), &warm).unwrap().revision, report.revision);
    store.close().await;

    for file in [&cold, &warm] {
        let restored = restore(file, &copy, 0).unwrap();
        assert_eq!(
            restored,
            Restored { backup: report.clone(), increments: Vec::new(), store: report.clone() }
        );
        assert_eq!(check(&copy).unwrap().problems, [""; 0]);
        let store = Embedded::open(options(&copy)).unwrap();
        let all = everything(&store).await;
        assert_eq!((all.revision, &all.key_values), (expected.revision, &expected.key_values));
        assert_eq!(store.statistics().compacted_revision, KEYS / 2);
        assert!(store.watch("/", "0", KEYS / 2).await.is_ok());
        store.close().await;
        assert!(matches!(restore(file, &copy, 0), Err(MaintenanceError::Occupied { .. })));
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_use_is_backed_up_while_it_is_written() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let file = home.path().join("file.backup");
    fill(&original).await;
    // A server that was killed leaves its socket behind.
    drop(UnixListener::bind(original.join("store.sock")).unwrap());
    let store = Embedded::open(options(&original)).unwrap();
    let save = || {
        let (original, file) = (original.clone(), file.clone());
        tokio::task::spawn_blocking(move || backup(Source::Directory(&original), &file))
    };
    let refused = save().await.unwrap();
    assert!(matches!(refused, Err(MaintenanceError::Open(OpenError::Locked { .. }))), "{refused:?}");
    store.serve_commands().unwrap();
    assert_eq!(fs::metadata(original.join("store.sock")).unwrap().mode() & 0o777, 0o600);

    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 0.. {
                let (key, value) = (format!("/later/{number:06}"), Bytes::from(number.to_string()));
                if store.put_if(&key, 0, value, None).await.is_err() {
                    return number;
                }
            }
            0
        }
    });
    let mut revision = 0;
    for _ in 0..4 {
        let report = save().await.unwrap().unwrap();
        assert!(report.revision >= revision, "{report:?}");
        revision = report.revision;
        assert_eq!(restore(&file, &copy, 0).unwrap().store, report);
        let copied = Embedded::open(options(&copy)).unwrap();
        let all = everything(&copied).await;
        copied.close().await;
        let exact = RangeRequest { start: "/", end: "0", limit: 0, revision: Some(report.revision) };
        assert_eq!(all.key_values, store.range(exact).await.unwrap().key_values);
        fs::remove_dir_all(&copy).unwrap();
    }
    store.close().await;
    assert!(writer.await.unwrap() > 0);
    assert!(!original.join("store.sock").exists());
    assert_eq!(save().await.unwrap().unwrap(), check(&original).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_during_a_backup_leaves_the_one_before() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let file = home.path().join("file.backup");
    fill(&original).await;
    backup(Source::Directory(&original), &file).unwrap();
    let whole = fs::read(&file).unwrap();
    let greeted = [&b"ORLOPST1"[..], &whole].concat();
    let _used = DirectoryLock::acquire(&original).unwrap();
    for length in [0, 7, 8, 15, 16, 40, whole.len() / 2, greeted.len() - 1] {
        let socket = original.join("store.sock");
        let server = UnixListener::bind(&socket).unwrap();
        let sent = greeted[..length].to_vec();
        let sending = std::thread::spawn(move || server.accept().unwrap().0.write_all(&sent).unwrap());
        let refused = backup(Source::Directory(&original), &file);
        assert!(matches!(refused, Err(MaintenanceError::Interrupted { .. })), "{length}: {refused:?}");
        sending.join().unwrap();
        fs::remove_file(&socket).unwrap();
    }
    let mut damaged = greeted.clone();
    damaged[whole.len() / 2] ^= 1;
    let socket = original.join("store.sock");
    let server = UnixListener::bind(&socket).unwrap();
    let sending = std::thread::spawn(move || {
        let mut stream = server.accept().unwrap().0;
        stream.read_exact(&mut [0; 9]).unwrap();
        // The reader may end before everything is written.
        drop(stream.write_all(&damaged));
    });
    let refused = backup(Source::Directory(&original), &file);
    assert!(matches!(refused, Err(MaintenanceError::Damaged { .. })), "{refused:?}");
    sending.join().unwrap();
    assert_eq!(fs::read(&file).unwrap(), whole);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing else is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_answers_every_revision_of_its_clients_as_compacted() {
    const BUMP: u64 = 1_000_000_000;
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let file = home.path().join("file.backup");
    fill(&original).await;
    let store = Embedded::open(options(&original)).unwrap();
    store.put_if("/lease", 0, Bytes::new(), Some(Duration::from_hours(1))).await.unwrap();
    store.close().await;
    let report = backup(Source::Directory(&original), &file).unwrap();

    let refused = restore(&file, &copy, u64::MAX);
    assert!(matches!(refused, Err(MaintenanceError::TooManyRevisions(_))), "{refused:?}");
    assert!(!copy.exists());
    let restored = restore(&file, &copy, BUMP).unwrap();
    assert_eq!(restored.backup, report);
    let revision = report.revision + BUMP;
    assert_eq!((restored.store.revision, restored.store.compacted_revision), (revision, revision));
    assert_eq!(restored.store.keys as u64, restored.store.records, "no record is without use");
    assert_eq!(check(&copy).unwrap(), restored.store);
    assert_eq!(keys(&copy), keys(&original));

    let store = Embedded::open(options(&copy)).unwrap();
    for known in [KEYS / 2, report.revision, report.revision + 60, revision - 1] {
        let refused = store.watch("/", "0", known).await.err();
        assert!(matches!(refused, Some(MvccError::Compacted { .. })), "{known}: {refused:?}");
    }
    assert!(store.watch("/", "0", revision).await.is_ok());
    let written = store.put_if("/new", 0, Bytes::new(), None).await.unwrap();
    assert!(matches!(written, Committed::At(new) if new == revision + 1), "{written:?}");
    store.close().await;

    // It is saved and restored as every other store.
    let report = backup(Source::Directory(&copy), &file).unwrap();
    let again = home.path().join("again");
    assert_eq!(restore(&file, &again, BUMP).unwrap().store.revision, report.revision + BUMP);
    assert_eq!(keys(&again), keys(&copy));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_before_anything_is_written() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let file = home.path().join("file.backup");
    fill(&original).await;
    backup(Source::Directory(&original), &file).unwrap();
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 150) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x20;
        for damaged in [&flipped[..], &bytes[..at]] {
            fs::write(&file, damaged).unwrap();
            let refused =
                restore(&file, &copy, 1).err().unwrap_or_else(|| panic!("byte {at} went unnoticed"));
            assert!(matches!(refused, MaintenanceError::Damaged { .. }), "byte {at}: {refused}");
            assert!(!copy.exists());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_never_completed_is_created_again() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    let backup_file = home.path().join("backup");
    fill(&home.path().join("other")).await;
    backup(Source::Directory(&home.path().join("other")), &backup_file).unwrap();
    let leftovers = |directory: &Path| {
        fs::create_dir_all(directory.join("log.new/keyspaces/1/tables")).unwrap();
        fs::write(directory.join("log.new/version"), "").unwrap();
        fs::write(directory.join("LOCK"), "").unwrap();
    };
    leftovers(&directory);
    let error = check(&directory).unwrap_err().to_string();
    assert!(error.contains("there is no store"), "{error}");
    restore(&backup_file, &directory, 1).unwrap();
    assert_eq!(check(&directory).unwrap().problems, [""; 0]);
    fs::remove_dir_all(&directory).unwrap();

    leftovers(&directory);
    // The remains of an earlier version after a power loss.
    fs::write(directory.join("acknowledged"), [0; 16]).unwrap();
    let store = Embedded::open(options(&directory)).unwrap();
    assert_eq!(store.current_revision().await.unwrap(), 1);
    store.close().await;
    assert!(!directory.join("log.new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_does_not_follow_links_and_is_private() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    fill(&original).await;
    let before = snapshot(&original);
    let victim = home.path().join("victim");
    let link = home.path().join("link");
    fs::write(&victim, "victim").unwrap();
    symlink(&victim, &link).unwrap();
    let error = backup(Source::Directory(&original), &link).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(fs::read(&victim).unwrap(), b"victim");
    // An older backup that all users can read is replaced by a backup that only its owner can read.
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o666)).unwrap();
    backup(Source::Directory(&original), &victim).unwrap();
    assert_eq!(victim.metadata().unwrap().mode() & 0o777, 0o600);
    assert_unchanged(&original, &before, "a backup");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_others_can_enter_is_closed_to_them() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    fill(&directory).await;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    Embedded::open(options(&directory)).unwrap().close().await;
    assert_eq!(directory.metadata().unwrap().mode() & 0o777, 0o700);
}
