//! The picture of the crates in `docs/architecture.md`, compared with their dependencies.

use std::collections::BTreeMap;

use crate::workspace::Workspace;

/// The page with the picture: its first block of text.
pub(super) const PAGE: &str = "docs/architecture.md";

/// Returns what is wrong with the picture of a page: a crate that it does not show, or a dependency that does not point down.
pub(super) fn check(workspace: &Workspace, page: &str) -> Vec<String> {
    let picture =
        page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    let packages: Vec<(&str, Vec<&str>)> = workspace
        .packages
        .iter()
        .map(|package| (package.name.as_str(), package.dependency_names().collect()))
        .collect();
    compare(picture, &packages)
}

/// Compares a picture with packages and the names of their dependencies.
fn compare(picture: &str, packages: &[(&str, Vec<&str>)]) -> Vec<String> {
    let mut lines = BTreeMap::new();
    for (line, text) in picture.lines().enumerate() {
        for word in text.split_whitespace() {
            lines.entry(word).or_insert(line);
        }
    }
    let mut findings = Vec::new();
    for (package, dependencies) in packages {
        let Some(line) = lines.get(package) else {
            findings.push(format!("{PAGE}: the picture does not show the crate `{package}`"));
            continue;
        };
        let is_upward = |dependency: &&&str| lines.get(**dependency).is_some_and(|below| below <= line);
        let shown = packages.iter().map(|(name, _)| name);
        for dependency in shown.filter(|name| dependencies.contains(name)).filter(|name| is_upward(name)) {
            findings.push(format!(
                "{PAGE}: `{package}` depends on `{dependency}`, which is not below it in the picture"
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_shown_above_their_dependencies() {
        let packages = [("server", vec!["engine", "serde"]), ("engine", vec![])];
        assert_eq!(compare("  server\n    │\n  engine   keeps objects\n", &packages), [""; 0]);
        let upward =
            "docs/architecture.md: `server` depends on `engine`, which is not below it in the picture";
        assert_eq!(compare("engine\nserver\n", &packages), [upward]);
        let missing = "docs/architecture.md: the picture does not show the crate `engine`";
        assert_eq!(compare("server\n", &packages), [missing]);
    }
}
