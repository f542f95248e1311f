//! Files that are damaged or missing: reported, and never a reason to delete data.

use super::*;

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Whether a store opens and has all its content. If not, opening must report it, or at the latest a read (for damage
/// of parts that only single reads use).
async fn is_harmless(directory: &Path, expected: &Ranged, place: &str) -> bool {
    let store = match Embedded::open(options(directory)) {
        Ok(store) => store,
        Err(error) => {
            let text = error.to_string();
            let is_damaged =
                matches!(error, OpenError::Damaged { .. }) && text.contains("apiserver storage restore");
            // A changed number of the version cannot be told from another version.
            let is_clear = is_damaged || text.contains("was written by another version of this program");
            assert!(is_clear, "{place}: {error}");
            return false;
        }
    };
    let all = try_everything(&store).await;
    store.close().await;
    match all {
        Ok(all) => {
            assert_eq!((all.revision, &all.key_values), (expected.revision, &expected.key_values), "{place}");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("apiserver storage check"), "{place}: {error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_anywhere_is_refused_or_harmless_but_never_loses_data_silently() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let expected = fill(&original).await;
    // After another open, the journal ends where its data does.
    Embedded::open(options(&original)).unwrap().close().await;

    let mut refused = 0;
    let mut harmless = 0;
    for file in files(&original) {
        let bytes = fs::read(&file).unwrap();
        let offsets = (0..bytes.len()).step_by((bytes.len() / 25).max(1));
        for at in offsets {
            let damaged = home.path().join("damaged");
            copy_directory(&original, &damaged);
            let target = damaged.join(file.strip_prefix(&original).unwrap());
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x20;
            fs::write(&target, flipped).unwrap();
            let place = format!("byte {at} of {}", file.display());
            if is_harmless(&damaged, &expected, &place).await {
                harmless += 1;
            } else {
                refused += 1;
                // The damage persists, and a check reports it too.
                let report = check(&damaged);
                assert!(report.is_err() || !report.unwrap().problems.is_empty(), "{place}");
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    println!("{refused} refused, {harmless} harmless");
    assert!(refused > 50);
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Deleted,
    Emptied,
    CutShort,
    Zeroed,
}

// === impl Damage ===

impl Damage {
    const ALL: [Self; 4] = [Self::Deleted, Self::Emptied, Self::CutShort, Self::Zeroed];

    fn inflict(self, file: &Path) {
        let bytes = fs::read(file).unwrap();
        match self {
            Self::Deleted => fs::remove_file(file),
            Self::Emptied => fs::write(file, ""),
            Self::CutShort => fs::write(file, &bytes[..bytes.len() / 2]),
            Self::Zeroed => fs::write(file, vec![0; bytes.len()]),
        }
        .unwrap();
    }
}

/// Fills a store with tables, an old manifest and journals of more than one generation.
async fn fill_with_tables(directory: &Path) -> Ranged {
    fill(directory).await;
    for round in 0..4 {
        let store = Embedded::open(options(directory)).unwrap();
        for number in 0..60 {
            let value = Bytes::from("y".repeat(700));
            store.put_if(&format!("/round/{round}/{number}"), 0, value, None).await.unwrap();
        }
        store.close().await;
    }
    let store = Embedded::open(options(directory)).unwrap();
    let all = everything(&store).await;
    store.close().await;
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn no_damage_to_a_single_file_lets_a_check_or_a_start_delete_data() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let expected = fill_with_tables(&original).await;
    let before = snapshot(&original);
    assert_eq!(check(&original).unwrap().problems, [""; 0]);
    assert_unchanged(&original, &before, "an intact store");

    let mut refused = Vec::new();
    let mut harmless = Vec::new();
    for file in files(&original) {
        let name = file.strip_prefix(&original).unwrap();
        for damage in Damage::ALL {
            let place = format!("{damage:?} {}", name.display());
            let damaged = home.path().join("damaged");
            copy_directory(&original, &damaged);
            let target = damaged.join(name);
            damage.inflict(&target);

            let before = snapshot(&damaged);
            let report = check(&damaged);
            assert_unchanged(&damaged, &before, &place);

            if is_harmless(&damaged, &expected, &place).await {
                harmless.push(place.clone());
            } else {
                assert!(report.is_err() || !report.unwrap().problems.is_empty(), "{place}");
                refused.push(place.clone());
                // With the file restored, all content is present.
                fs::copy(&file, &target).unwrap();
                assert!(is_harmless(&damaged, &expected, &place).await, "{place}: data is lost");
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    println!("refused: {refused:#?}\nharmless: {harmless:#?}");
    assert!(refused.iter().any(|place| place == "Deleted log/keyspaces/1/current"), "{refused:?}");
    assert!(refused.len() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_named_with_the_way_out() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    fill_with_tables(&original).await;
    let before = snapshot(&original);
    let tables: Vec<_> = files(&original.join("log/keyspaces/1/tables"));
    let mut paths = vec![original.join("log"), original.join("log/keyspaces"), original.join("log/version")];
    for keyspace in ["0", "1"] {
        let keyspace = original.join("log/keyspaces").join(keyspace);
        paths.extend([keyspace.clone(), keyspace.join("current"), keyspace.join("tables")]);
    }
    paths.extend(tables);
    let aside = home.path().join("aside");
    for path in paths {
        fs::rename(&path, &aside).unwrap();
        for error in [
            Embedded::open(options(&original)).map(|_| ()).unwrap_err().to_string(),
            check(&original).unwrap_err().to_string(),
        ] {
            // A missing directory of tables is reported by the first table, and one of a keyspace by its parent: its number is
            // not known without it.
            let reported = if path.ends_with("keyspaces/1") { path.parent().unwrap() } else { &path };
            assert!(error.contains(reported.to_str().unwrap()), "{}: {error}", path.display());
            assert!(error.contains("apiserver storage restore"), "{error}");
        }
        fs::rename(&aside, &path).unwrap();
    }
    let after = snapshot(&original);
    // Except for the lock and the times of moved files.
    for (path, (content, ..)) in before.iter().filter(|(path, _)| !path.ends_with("LOCK")) {
        assert_eq!(&after[path].0, content, "{}", path.display());
    }
}
