//! CONTRIBUTING.md names commands, files and forms of cases that there are.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the texts in single back-ticks.
fn code() -> Vec<&'static str> {
    let outside_of_blocks = CONTRIBUTING.split("```").step_by(2);
    outside_of_blocks.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
}

/// Returns the contents of the blocks in a language, without the indentation of the list.
fn block(language: &str) -> Vec<String> {
    let blocks = CONTRIBUTING.split("```").skip(1).step_by(2);
    let of_language = blocks.filter_map(|block| block.strip_prefix(language));
    of_language
        .map(|text| text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned())
        .collect()
}

#[test]
fn every_command_is_in_the_table_and_every_named_command_exists() {
    let help = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let list = list.lines().take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let existing: BTreeSet<&str> = names.map(|line| line.split_whitespace().next().unwrap()).collect();
    let named = code().into_iter().filter_map(|text| text.split("cargo xtask ").nth(1));
    let mut named: BTreeSet<&str> = named.map(|text| text.split_whitespace().next().unwrap()).collect();
    named.insert("help");
    assert_eq!(named, existing);
}

#[test]
fn every_named_file_exists() {
    let in_top_level = |text: &&str| {
        ["resources/", "docs/", "registry-derive/", ".ci/", "xtask/"]
            .iter()
            .any(|folder| text.starts_with(folder))
    };
    let files: Vec<&str> = code().into_iter().filter(in_top_level).collect();
    assert!(files.contains(&"resources/src/api/core/configmaps/strategy.rs"), "{files:?}");
    for file in files {
        assert!(workspace().join(file).exists(), "{file} does not exist");
    }
}

#[test]
fn the_first_change_fits_the_sources() {
    let read = |path: &str| std::fs::read_to_string(workspace().join(path)).unwrap();
    let [column, rule] = <[String; 2]>::try_from(block("rust")).expect("the column and the rule");
    let configmaps = read("resources/src/api/core/configmaps.rs");
    assert!(configmaps.contains("static COLUMNS") && configmaps.contains("printers::length"));
    assert!(column.contains("Column::boolean") && column.contains("printers::flag"));
    for (path, declaration) in [
        ("registry-core/src/resource/columns.rs", "pub const fn boolean("),
        ("resources/src/support/printers.rs", "fn flag(object: &Object, path: &[&str])"),
    ] {
        assert!(read(path).contains(declaration), "{path} has no `{declaration}`");
    }
    let strategy = read("resources/src/api/core/configmaps/strategy.rs");
    assert!(
        strategy.contains("for (key, field) in data.entries()") && rule.contains("field.path()"),
        "{rule}"
    );
    let cases = block("json").pop().expect("the cases");
    let table = read("resources/tests/rules/core/configmap.jsonl");
    let keys = |line: &str| -> BTreeSet<String> {
        let value: Value = serde_json::from_str(line).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    for case in cases.lines() {
        assert!(
            table.lines().any(|line| keys(line) == keys(case)),
            "no line of the table is of this form: {case}"
        );
    }
}

#[test]
fn it_fits_on_a_page() {
    let lines = CONTRIBUTING.lines().count();
    assert!(lines <= 100, "{lines} lines");
}
