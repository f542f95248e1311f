//! The pages of the guide. Each block of the language `console` consists of commands, which begin with `$ `, and of their
//! output. In the output `…` stands for any text within a line, and alone for any lines; the number of spaces does not
//! matter. A block of the language `yaml` whose first line is `# NAME` is the file of that name.
//!
//! The tests of `apiserver` and of each example include this file, because a test knows the programs of its own package only.

use std::path::{Path, PathBuf};

use crate::session::{File, Program, Session, Step};

/// The pages whose commands are run, each with the program whose package has its test.
pub(crate) const PAGES: [(&str, &str); 30] = [
    ("operate/start.md", "apiserver"),
    ("operate/kubectl.md", "apiserver"),
    ("operate/users.md", "apiserver"),
    ("operate/certificates.md", "apiserver"),
    ("operate/audit.md", "apiserver"),
    ("operate/admission.md", "apiserver"),
    ("operate/encryption.md", "apiserver"),
    ("operate/etcd.md", "apiserver"),
    ("operate/backup.md", "apiserver"),
    ("operate/moving.md", "apiserver"),
    ("operate/monitoring.md", "apiserver"),
    ("operate/ui.md", "apiserver"),
    ("test/servers.md", "apiserver"),
    ("author/first.md", "zoo"),
    ("author/kubebuilder.md", "zoo"),
    ("author/validation.md", "zoo"),
    ("author/defaults.md", "zoo"),
    ("author/immutability.md", "zoo"),
    ("author/status.md", "zoo"),
    ("author/subresources.md", "zoo"),
    ("author/columns.md", "zoo"),
    ("author/selectors.md", "zoo"),
    ("author/versions.md", "zoo"),
    ("author/admission.md", "zoo"),
    ("author/controllers.md", "zoo"),
    ("author/extension.md", "zoo"),
    ("author/deploying.md", "zoo"),
    ("author/upgrading.md", "zoo"),
    ("author/actions.md", "fleet"),
    ("author/storage.md", "library"),
];

/// The page whose first block starts a server for the other pages that link a heading of it.
const BEGINNING: &str = "author/first.md";

/// Returns the path of a file of the workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = package.ancestors();
    folders.find(|folder| folder.join("docs/guide").exists()).unwrap().join(path)
}

/// Returns a file of the workspace.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(workspace(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the blocks of a page with their languages.
pub(crate) fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("```").skip(1).step_by(2);
    parts.map(|block| block.split_once('\n').unwrap_or((block, ""))).collect()
}

/// Returns the commands of a page.
pub(crate) fn steps(page: &str) -> Vec<Step> {
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
pub(crate) fn files(page: &str) -> Vec<File> {
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
pub(crate) fn fits(shown: &[String], lines: &[&str]) -> bool {
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
pub(crate) fn follow(name: &str, programs: &[Program]) {
    let page = read(&format!("docs/guide/src/{name}"));
    let mut steps = steps(&page);
    assert!(!steps.is_empty(), "{name} has no commands");
    if page.contains(&format!("({}#", BEGINNING.trim_start_matches("author/"))) {
        let beginning = read(&format!("docs/guide/src/{BEGINNING}"));
        let (start, _) = beginning.split_once("```yaml").unwrap();
        steps.splice(0..0, self::steps(start));
    }
    // A page leaves no server behind, which the commands of the next page would use instead of their own.
    steps.push(Step { command: "jobs -rp".to_owned(), shown: Vec::new() });
    let results = Session::new(&files(&page), programs).run(&steps);
    let mut wrong = Vec::new();
    for (step, output) in steps.iter().zip(results) {
        let lines: Vec<&str> = output.lines().collect();
        if !fits(&step.shown, &lines) {
            wrong.push(format!("$ {}\n{output}", step.command));
        }
    }
    assert!(wrong.is_empty(), "{name} shows another output than there is:\n{}", wrong.join("\n\n"));
}

/// Declares a test for each page of a program, and one that compares them with [`PAGES`].
macro_rules! follow_pages {
    ($program:literal, $programs:expr; $($test:ident => $page:literal),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                crate::page::follow($page, $programs);
            }
        )+

        #[test]
        fn each_page_of_the_program_is_followed() {
            let pages = crate::page::PAGES.iter().filter(|(_, program)| *program == $program);
            let pages: Vec<&str> = pages.map(|(page, _)| *page).collect();
            assert_eq!(pages, [$($page),+]);
        }
    };
}
