//! The pages of the guide whose commands are run with `apiserver`, and what holds of all pages.

use std::collections::BTreeSet;

use crate::page::{PAGES, files, fits, steps};
use crate::session::{File, Program, Step};
use crate::{read, workspace};

follow_pages! {
    "apiserver", &[Program { name: "apiserver", path: env!("CARGO_BIN_EXE_apiserver").into() }];
    the_page_on_start_shows_the_output_that_there_is => "operate/start.md",
    the_page_on_kubectl_shows_the_output_that_there_is => "operate/kubectl.md",
    the_page_on_users_shows_the_output_that_there_is => "operate/users.md",
    the_page_on_certificates_shows_the_output_that_there_is => "operate/certificates.md",
    the_page_on_audit_shows_the_output_that_there_is => "operate/audit.md",
    the_page_on_admission_shows_the_output_that_there_is => "operate/admission.md",
    the_page_on_encryption_shows_the_output_that_there_is => "operate/encryption.md",
    the_page_on_etcd_shows_the_output_that_there_is => "operate/etcd.md",
    the_page_on_backup_shows_the_output_that_there_is => "operate/backup.md",
    the_page_on_moving_shows_the_output_that_there_is => "operate/moving.md",
    the_page_on_monitoring_shows_the_output_that_there_is => "operate/monitoring.md",
    the_page_on_dashboards_shows_the_output_that_there_is => "operate/ui.md",
    the_page_on_test_servers_shows_the_output_that_there_is => "test/servers.md",
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
    assert_eq!(with_commands, PAGES.map(|(page, _)| page.to_owned()).into());
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
