//! Paths of the tree in documents: `` `apiserver/src/lib.rs` `` exists.

use std::path::Path;

use super::Finding;

/// The folders at the top of the tree. Other texts in back-ticks may be anything.
const TOP: [&str; 8] = [
    "apiserver/",
    "clients/",
    "docs/",
    "examples/",
    "registry-core/",
    "registry-derive/",
    "resources/",
    "xtask/",
];
/// One of these is in a path of the tree. (`apiserver/oidc` is a package of Kubernetes' tests.)
const SOURCE_FOLDERS: [&str; 5] = ["/src/", "/tests/", "/benches/", "/docs/", "/README.md"];

/// Returns the paths in a document that exist neither below the root of the workspace nor below the folder of the document.
pub(super) fn check(root: &Path, document: &Path, text: &str) -> Vec<Finding> {
    let folders = [root, document.parent().unwrap_or(root)];
    let exists = |path: &str| folders.iter().any(|folder| folder.join(path).exists());
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // The texts in back-ticks are every second part.
        for path in line.split('`').skip(1).step_by(2).filter(|text| is_path(text)) {
            if !exists(path) && !exists(&format!("{path}.rs")) {
                findings.push(Finding { line: index + 1, message: format!("there is no `{path}`") });
            }
        }
    }
    findings
}

fn is_path(text: &str) -> bool {
    let is_plain =
        text.chars().all(|character| character.is_ascii_alphanumeric() || "/._-".contains(character));
    is_plain
        && TOP.iter().any(|top| text.starts_with(top))
        && (Path::new(text).extension().is_some_and(|extension| extension == "rs")
            || SOURCE_FOLDERS.iter().any(|folder| text.contains(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_do_not_exist_are_found_and_other_texts_are_not_paths() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = "`xtask/src/main.rs` and `xtask/src/main` and `xtask/src/nothing.rs`,\n\
                    `apiserver/oidc` is a package of Kubernetes, and `docs/…/x.md` an example\n\
                    `apiserver/src/nothing/{a,b}.rs` `resources/src/nothing`";
        let found: Vec<String> = check(root, &root.join("README.md"), text)
            .iter()
            .map(|finding| format!("{}: {}", finding.line, finding.message))
            .collect();
        assert_eq!(
            found,
            ["1: there is no `xtask/src/nothing.rs`", "3: there is no `resources/src/nothing`"]
        );
    }
}
