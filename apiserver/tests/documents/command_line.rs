//! Completion scripts and the manual page, which the program prints.

use std::io::Write as _;
use std::process::{Command, Stdio};

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_apiserver")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completion_scripts_know_commands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completion", shell]);
        for word in ["apiserver", "etcd-servers", "kubeconfig", "without-keys"] {
            assert!(script.contains(word), "{word} is not in the script for {shell}");
        }
    }
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(printed(&["completion", "bash"]).as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success(), "bash reads the script");
}

/// Returns the flags of a help.
fn flags(help: &str) -> Vec<&str> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags = lines.filter_map(|line| {
        let (_, flag) = line.split_once("--")?;
        flag.split(|next: char| !next.is_ascii_alphanumeric() && next != '-').next()
    });
    flags.collect()
}

/// Returns the description of a flag in a manual page; empty if it has none.
fn description<'p>(page: &'p str, flag: &str) -> &'p str {
    let mut lines = page.lines().skip_while(|line| {
        let name = line.split("\\fB--").nth(1).and_then(|name| name.split("\\fR").next());
        name != Some(flag) || line.split("\\fB--").count() > 2
    });
    lines.nth(1).unwrap_or_default()
}

/// Returns the commands that a manual page names, such as `storage-backup`.
fn named_pages(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("apiserver-")?.strip_suffix("(1)")).collect()
}

#[test]
fn the_manual_page_describes_every_flag_of_the_help() {
    let page = printed(&["man-page"]);
    assert!(page.contains(".TH apiserver 1"), "{page:.200}");
    let page = page.replace("\\-", "-");
    let help = printed(&["--help"]);
    let flags = flags(&help);
    assert!(flags.len() > 100, "{} flags", flags.len());
    let undescribed: Vec<_> = flags.iter().filter(|flag| description(&page, flag).len() < 5).collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
    assert!(page.contains("apiserver test -- pytest tests"), "the examples");
}

#[test]
fn every_command_that_a_manual_page_names_has_a_page() {
    let page = printed(&["man-page"]).replace("\\-", "-");
    let mut commands = named_pages(&page);
    commands.sort_unstable();
    assert_eq!(commands, ["completion", "kubeconfig", "storage", "test", "token"]);
    for command in commands {
        let page = printed(&["man-page", command]).replace("\\-", "-");
        assert!(page.contains(&format!(".TH apiserver-{command} 1")), "{page:.200}");
        assert!(page.contains(&format!("\\fBapiserver {command}\\fR")), "{page:.600}");
        assert!(!page.contains("-apiserver-"), "{page:.600}");
    }
    let page = printed(&["man-page", "storage"]).replace("\\-", "-");
    let commands = named_pages(&page);
    assert_eq!(commands.len(), 6, "{commands:?}");
    let page = printed(&["man-page", "storage", "backup"]).replace("\\-", "-");
    assert!(page.contains(".TH apiserver-storage-backup 1"), "{page:.200}");
    assert!(description(&page, "without-keys").starts_with("Leave out the keys"), "{page}");
}

#[test]
fn a_manual_page_of_an_unknown_command_is_refused() {
    for command in [&["man-page", "zork"][..], &["man-page", "storage", "zork"], &["man-page", ""]] {
        let output = Command::new(env!("CARGO_BIN_EXE_apiserver")).args(command).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && message.contains("there is no command '"),
            "{command:?}: {message}"
        );
    }
}
