//! The pages of the guide. Each block of the language `console` consists of commands, which begin with `$ `, and of their
//! output. In the output `…` stands for any text within a line, and alone for any lines; the number of spaces does not
//! matter. A block of the language `yaml` whose first line is `# NAME` is the file of that name.

use std::collections::BTreeSet;

use crate::session::{File, Session, Step};
use crate::{read, workspace};

/// The pages whose commands are run.
const PAGES: [&str; 10] = [
    "operate/start.md",
    "operate/kubectl.md",
    "operate/users.md",
    "operate/audit.md",
    "operate/encryption.md",
    "operate/etcd.md",
    "operate/backup.md",
    "operate/moving.md",
    "operate/monitoring.md",
    "test/servers.md",
];

/// Returns the blocks of a page with their languages.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("```").skip(1).step_by(2);
    parts.map(|block| block.split_once('\n').unwrap_or((block, ""))).collect()
}

/// Returns the commands of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (_, block) in blocks(page).into_iter().filter(|(language, _)| *language == "console") {
        let mut continues = false;
        for line in block.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
                (None, Some(step)) if continues => {
                    step.command.push('\n');
                    step.command.push_str(line);
                }
                (None, Some(step)) => step.shown.push(line.to_owned()),
                (None, None) => panic!("a block begins with output: {line}"),
            }
            continues = line.ends_with('\\');
        }
    }
    steps
}

/// Returns the files that a page shows.
fn files(page: &str) -> Vec<File> {
    let of_files = blocks(page).into_iter().filter(|(language, _)| *language == "yaml");
    let named = of_files.filter_map(|(_, content)| {
        let (first, _) = content.split_once('\n')?;
        let name = first.strip_prefix("# ").filter(|name| !name.contains(' '))?;
        Some(File { name: name.to_owned(), content: content.to_owned() })
    });
    named.collect()
}

/// Whether a line of output is as shown.
fn line_fits(shown: &str, line: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, line) = (plain(shown), plain(line));
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Whether an output is as shown.
fn fits(shown: &[String], lines: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((first, others)) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| fits(others, &lines[skipped..]))
        }
        Some((first, others)) => {
            lines.split_first().is_some_and(|(line, rest)| line_fits(first, line) && fits(others, rest))
        }
    }
}

/// Runs the commands of a page, and compares their output with what the page shows.
fn follow(name: &str) {
    let page = read(&format!("docs/guide/src/{name}"));
    let steps = steps(&page);
    assert!(!steps.is_empty(), "{name} has no commands");
    let results = Session::new(&files(&page)).run(&steps);
    let mut wrong = Vec::new();
    for (step, output) in steps.iter().zip(results) {
        let lines: Vec<&str> = output.lines().collect();
        if !fits(&step.shown, &lines) {
            wrong.push(format!("$ {}\n{output}", step.command));
        }
    }
    assert!(wrong.is_empty(), "{name} shows another output than there is:\n{}", wrong.join("\n\n"));
}

#[test]
fn the_page_on_start_shows_the_output_that_there_is() {
    follow("operate/start.md");
}

#[test]
fn the_page_on_kubectl_shows_the_output_that_there_is() {
    follow("operate/kubectl.md");
}

#[test]
fn the_page_on_users_shows_the_output_that_there_is() {
    follow("operate/users.md");
}

#[test]
fn the_page_on_audit_shows_the_output_that_there_is() {
    follow("operate/audit.md");
}

#[test]
fn the_page_on_encryption_shows_the_output_that_there_is() {
    follow("operate/encryption.md");
}

#[test]
fn the_page_on_etcd_shows_the_output_that_there_is() {
    follow("operate/etcd.md");
}

#[test]
fn the_page_on_backup_shows_the_output_that_there_is() {
    follow("operate/backup.md");
}

#[test]
fn the_page_on_moving_shows_the_output_that_there_is() {
    follow("operate/moving.md");
}

#[test]
fn the_page_on_monitoring_shows_the_output_that_there_is() {
    follow("operate/monitoring.md");
}

#[test]
fn the_page_on_test_servers_shows_the_output_that_there_is() {
    follow("test/servers.md");
}

/// Returns the pages that the table of contents links.
fn contents() -> BTreeSet<String> {
    let summary = read("docs/guide/src/SUMMARY.md");
    let links = summary.split("](").skip(1).filter_map(|link| link.split_once(')'));
    links.map(|(path, _)| path.to_owned()).collect()
}

#[test]
fn every_page_with_commands_is_followed() {
    let with_commands: BTreeSet<String> = contents()
        .into_iter()
        .filter(|name| !steps(&read(&format!("docs/guide/src/{name}"))).is_empty())
        .collect();
    assert_eq!(with_commands, PAGES.map(str::to_owned).into());
}

#[test]
fn links_of_the_guide_lead_to_files() {
    for name in contents() {
        let page = read(&format!("docs/guide/src/{name}"));
        let folder = workspace("docs/guide/src").join(&name);
        let folder = folder.parent().unwrap();
        let outside_of_blocks: String = page.split("```").step_by(2).collect();
        for link in outside_of_blocks.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            let leads_elsewhere = target.is_empty() || target.starts_with("https://");
            assert!(leads_elsewhere || folder.join(target).exists(), "{name}: {target} does not exist");
        }
    }
}

#[test]
fn snippets_of_the_guide_are_parts_of_files() {
    for name in contents() {
        let page = read(&format!("docs/guide/src/{name}"));
        for include in page.split("{{#include ").skip(1) {
            let (path, anchor) = include.split_once("}}").unwrap().0.rsplit_once(':').unwrap();
            let path = workspace("docs/guide/src").join(&name).parent().unwrap().join(path);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            for mark in ["ANCHOR", "ANCHOR_END"] {
                let line = format!("// {mark}: {anchor}");
                let marks = text.lines().filter(|text| text.trim() == line).count();
                assert_eq!(marks, 1, "{name}: {line} in {}", path.display());
            }
        }
    }
}

#[test]
fn files_that_the_guide_names_exist() {
    for name in contents().iter().filter(|name| name.starts_with("contribute/")) {
        let page = read(&format!("docs/guide/src/{name}"));
        let words = page.split(|c: char| c.is_whitespace() || "`()".contains(c));
        let paths = words.map(|word| word.trim_end_matches([',', '.', ':', ';']));
        let is_source =
            |path: &&str| path.contains('/') && [".rs", ".lock"].iter().any(|end| path.ends_with(end));
        let paths: Vec<&str> = paths.filter(is_source).filter(|path| !path.starts_with("src/")).collect();
        assert!(paths.len() > 5, "{name}: {paths:?}");
        for path in paths {
            assert!(workspace(path).exists(), "{name}: {path} does not exist");
        }
    }
}

#[test]
fn commands_and_outputs_are_told_apart() {
    let page = "text\n```console\n$ one \\\n  two\nout …\n$ three\n```\n```yaml\n# a.yaml\nb: 1\n```\n```sh\nnot run\n```\n";
    let step = |command: &str, shown: &[&str]| Step {
        command: command.to_owned(),
        shown: shown.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(steps(page), [step("one \\\n  two", &["out …"]), step("three", &[])]);
    let file = File { name: "a.yaml".to_owned(), content: "# a.yaml\nb: 1\n".to_owned() };
    assert_eq!(files(page), [file]);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, output, expected) in [
        ("NAME AGE\nweb …s", "NAME   AGE\nweb    12s", true),
        ("NAME AGE\nweb …s", "NAME   AGE\nweb    12m", false),
        ("a\n…\nz", "a\nb\nc\nz", true),
        ("a\n…\nz", "a\nb", false),
        ("a …, b …", "a 1, b 2", true),
        ("", "text", false),
    ] {
        assert_eq!(fits(&lines(shown), &output.lines().collect::<Vec<_>>()), expected, "{shown} {output}");
    }
}
