//! The numbers of crates that servers build, compared with the page of the features: they only decrease.
//!
//! A number that has to grow is changed in the page, where a review sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::Failure;
use crate::workspace::Workspace;

/// The page with the numbers.
pub(super) const PAGE: &str = "docs/reference/features.md";
/// The package whose features the page describes.
const SERVER: &str = "apiserver";
/// The numbers are of this platform, whichever one they are counted on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The page, with the numbers that there are now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Numbers that have grown, and features without one.
    pub(super) findings: Vec<String>,
    /// The names of the rows whose number is lower now.
    pub(super) lowered: Vec<String>,
    /// The page with lower numbers.
    pub(super) page: String,
}

/// Compares a page with the crates of the workspace.
pub(super) fn check(workspace: &Workspace, page: &str) -> Result<Counted, Failure> {
    let packages: Vec<&str> = workspace.packages.iter().map(|package| package.name.as_str()).collect();
    let features = workspace.features(SERVER)?;
    let of_server = |feature: &str| {
        let features = format!("--features={feature}");
        crates(&workspace.root, &["--package", SERVER, "--no-default-features", &features])
    };
    let without = of_server("")?;
    compare(page, &features, |name| {
        if packages.contains(&name) {
            return Ok(crates(&workspace.root, &["--package", name])?.len());
        }
        Ok(of_server(name)?.difference(&without).count())
    })
}

/// Compares the numbers in the lines of a page, each after a name, with those that are counted.
fn compare(
    page: &str,
    features: &[&str],
    count: impl Fn(&str) -> Result<usize, Failure>,
) -> Result<Counted, Failure> {
    let mut counted = Counted::default();
    let mut shown = BTreeSet::new();
    for line in page.lines() {
        let mut line = line.to_owned();
        if let Some((name, known)) = row(&line) {
            let now = count(&name)?;
            if now > known {
                counted.findings.push(format!(
                    "{PAGE}: `{name}` has {now} crates, {known} are known; \
                     `cargo tree -e normal,build -i CRATE` says which crate needs another"
                ));
            }
            if now < known {
                line = line.replacen(&format!("| {known} |"), &format!("| {now} |"), 1);
                counted.lowered.push(name.clone());
            }
            shown.insert(name);
        }
        counted.page.push_str(&line);
        counted.page.push('\n');
    }
    for feature in features.iter().filter(|feature| !shown.contains(**feature)) {
        counted.findings.push(format!("{PAGE}: there is no line of the feature `{feature}`"));
    }
    Ok(counted)
}

/// Returns the name and the number at the beginning of a line of a table.
fn row(line: &str) -> Option<(String, usize)> {
    let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
    let (number, _) = rest.split_once(" |")?;
    Some((name.to_owned(), number.parse().ok()?))
}

/// Returns the crates that a build needs, this workspace's included, with their versions.
fn crates(root: &Path, selection: &[&str]) -> Result<BTreeSet<String>, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "tree",
        "--locked",
        "--quiet",
        "--edges=normal,build",
        "--prefix=none",
        "--target",
        TARGET,
    ]);
    let output = command.args(selection).current_dir(root).output()?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    // A line is a name and a version, and whether it is a macro, or was shown before.
    let shown = String::from_utf8_lossy(&output.stdout);
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(shown.lines().filter(|line| !line.is_empty()).map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| feature | crates |\n|---|---|\n| `etcd` | 30 | a store |\n| `zoo` | 200 | |\n";

    #[test]
    fn numbers_only_decrease() {
        let with = |etcd, zoo| {
            let count = move |name: &str| Ok(if name == "etcd" { etcd } else { zoo });
            compare(TABLE, &["etcd"], count).expect("a table")
        };
        let same = with(30, 200);
        assert_eq!((same.findings, same.lowered, same.page.as_str()), (vec![], vec![], TABLE));
        let fewer = with(30, 199);
        assert_eq!(fewer.lowered, ["zoo"]);
        assert_eq!(fewer.page, TABLE.replace("200", "199"));
        let more = with(31, 200);
        assert!(more.findings[0].contains("`etcd` has 31 crates, 30 are known"), "{more:?}");
        assert_eq!(more.page, TABLE);
    }

    #[test]
    fn every_feature_is_described() {
        let counted = compare(TABLE, &["etcd", "colors"], |_| Ok(0)).expect("a table");
        assert_eq!(counted.findings, [format!("{PAGE}: there is no line of the feature `colors`")]);
    }
}
