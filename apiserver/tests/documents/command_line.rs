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

#[test]
fn the_manual_page_has_every_flag_of_the_help() {
    let page = printed(&["man-page"]);
    assert!(page.contains(".TH apiserver 1"), "{page:.200}");
    let page = page.replace("\\-", "-");
    let help = printed(&["--help"]);
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags = lines.filter_map(|line| {
        let (_, flag) = line.split_once("--")?;
        flag.split(|next: char| !next.is_ascii_alphanumeric() && next != '-').next()
    });
    let flags: Vec<&str> = flags.collect();
    assert!(flags.len() > 100, "{} flags", flags.len());
    for flag in flags {
        assert!(page.contains(&format!("--{flag}")), "--{flag} is not in the page");
    }
}
