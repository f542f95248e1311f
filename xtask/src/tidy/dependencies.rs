//! Licences and sources of the dependencies, and their requirements of versions: what `deny.toml` says of them. `cargo deny`
//! checks the same and more, but takes minutes to build.
//!
//! Of `deny.toml` only what it contains is understood: `allow` of the licences, and exceptions of single crates.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Failure;

/// The file with the rules.
const RULES: &str = "deny.toml";
/// The only source beside the workspace.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Dependencies of other platforms need not be there.
const TARGET: &str = "x86_64-unknown-linux-gnu";

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Crate>,
}

#[derive(Debug, Deserialize)]
struct Crate {
    name: String,
    version: String,
    license: Option<String>,
    /// `None` of a crate in the workspace.
    source: Option<String>,
    dependencies: Vec<Requirement>,
}

#[derive(Debug, Deserialize)]
struct Requirement {
    name: String,
    req: String,
    path: Option<String>,
}

/// The licences that are allowed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rules {
    everywhere: Vec<String>,
    /// Those of single crates.
    exceptions: BTreeMap<String, Vec<String>>,
}

/// Returns what the rules of the workspace refuse.
pub(super) fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let rules = Rules::parse(&std::fs::read_to_string(root.join(RULES))?);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--locked", "--quiet", "--format-version=1", "--filter-platform", TARGET]);
    let output = command.current_dir(root).output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    Ok(metadata.packages.iter().flat_map(|package| rules.refused(package)).collect())
}

// === impl Rules ===

impl Rules {
    fn parse(text: &str) -> Self {
        let mut rules = Self::default();
        let (mut section, mut name) = ("", "");
        for line in text.lines().map(str::trim) {
            let quoted = || line.split('"').skip(1).step_by(2);
            if line.starts_with('[') {
                (section, name) = (line, "");
            } else if line.starts_with("crate = ") {
                name = quoted().next().unwrap_or_default();
            } else if line.starts_with("allow = ") {
                let allowed: Vec<String> = quoted().map(str::to_owned).collect();
                match section {
                    "[licenses]" => rules.everywhere = allowed,
                    "[[licenses.exceptions]]" => drop(rules.exceptions.insert(name.to_owned(), allowed)),
                    _ => {}
                }
            }
        }
        rules
    }

    fn refused(&self, package: &Crate) -> Vec<String> {
        let mut findings = Vec::new();
        let shown = format!("{} {}", package.name, package.version);
        match package.license.as_deref() {
            Some(license) if self.allow(&package.name, license) => {}
            license => {
                let license = license.unwrap_or("no licence");
                findings.push(format!("{RULES}: {shown} has {license}, which is not allowed"));
            }
        }
        match &package.source {
            Some(source) if source == REGISTRY => {}
            Some(source) => findings.push(format!("{RULES}: {shown} is from {source}")),
            None => {
                let any =
                    package.dependencies.iter().filter(|found| found.req == "*" && found.path.is_none());
                findings
                    .extend(any.map(|found| format!("{RULES}: {shown} takes any version of {}", found.name)));
            }
        }
        findings
    }

    /// Whether a crate may have a licence: an expression of SPDX, or the older form with slashes.
    fn allow(&self, name: &str, expression: &str) -> bool {
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = words.as_slice();
        self.any(name, &mut rest) && rest.is_empty()
    }

    /// Reads alternatives.
    fn any(&self, name: &str, rest: &mut &[&str]) -> bool {
        let mut allowed = self.all(name, rest);
        while let Some(behind) = rest.strip_prefix(&["OR"]) {
            *rest = behind;
            allowed |= self.all(name, rest);
        }
        allowed
    }

    /// Reads licences that all hold.
    fn all(&self, name: &str, rest: &mut &[&str]) -> bool {
        let mut allowed = self.single(name, rest);
        while let Some(behind) = rest.strip_prefix(&["AND"]) {
            *rest = behind;
            allowed &= self.single(name, rest);
        }
        allowed
    }

    fn single(&self, name: &str, rest: &mut &[&str]) -> bool {
        let Some((first, behind)) = rest.split_first() else { return false };
        *rest = behind;
        if *first == "(" {
            let allowed = self.any(name, rest);
            let Some(behind) = rest.strip_prefix(&[")"]) else { return false };
            *rest = behind;
            return allowed;
        }
        // `+` means later versions of the licence too.
        let mut license = first.trim_end_matches('+').to_owned();
        if let [with, exception, behind @ ..] = *rest
            && *with == "WITH"
        {
            license = format!("{license} WITH {exception}");
            *rest = behind;
        }
        let own = self.exceptions.get(name).into_iter().flatten();
        self.everywhere.iter().chain(own).any(|allowed| *allowed == license)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[licenses]\nallow = [\"MIT\", \"ISC\", \"Apache-2.0 WITH LLVM-exception\"]\n\
        [[licenses.exceptions]]\ncrate = \"imbl\"\nallow = [\"MPL-2.0\"]\n[bans]\nallow = [\"GPL-3.0\"]\n";

    #[test]
    fn expressions_of_licences_are_understood() {
        let rules = Rules::parse(FILE);
        for (name, expression, expected) in [
            ("a", "MIT", true),
            ("a", "GPL-3.0", false),
            ("a", "GPL-3.0 OR MIT", true),
            ("a", "GPL-3.0/MIT", true),
            ("a", "GPL-3.0 AND MIT", false),
            ("a", "ISC AND (GPL-3.0 OR MIT)", true),
            ("a", "(ISC AND GPL-3.0) OR MIT", true),
            ("a", "ISC AND (GPL-3.0 OR MIT", false),
            ("a", "Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("a", "Apache-2.0", false),
            ("a", "MPL-2.0+", false),
            ("imbl", "MPL-2.0+", true),
            ("a", "", false),
            ("a", "MIT MIT", false),
        ] {
            assert_eq!(rules.allow(name, expression), expected, "{name}: {expression}");
        }
    }

    #[test]
    fn sources_and_wildcards_are_refused() {
        let rules = Rules::parse(FILE);
        let refused = |source: Option<&str>, license: Option<&str>, req: &str, path: Option<&str>| {
            let found =
                Requirement { name: "b".to_owned(), req: req.to_owned(), path: path.map(str::to_owned) };
            rules.refused(&Crate {
                name: "a".to_owned(),
                version: "1.0.0".to_owned(),
                license: license.map(str::to_owned),
                source: source.map(str::to_owned),
                dependencies: vec![found],
            })
        };
        assert!(
            refused(Some(REGISTRY), Some("MIT"), "*", None).is_empty(),
            "others may require what they like"
        );
        assert!(refused(None, Some("MIT"), "*", Some("/b")).is_empty());
        assert_eq!(refused(None, Some("MIT"), "*", None), ["deny.toml: a 1.0.0 takes any version of b"]);
        let git = refused(Some("git+https://example.com/a"), None, "1", None);
        assert_eq!(
            git,
            [
                "deny.toml: a 1.0.0 has no licence, which is not allowed",
                "deny.toml: a 1.0.0 is from git+https://example.com/a"
            ]
        );
    }

    #[test]
    fn documents_name_the_oldest_toolchain() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let manifest = read("Cargo.toml");
        let oldest = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
        let oldest = oldest.trim_matches('"');
        for (path, text) in
            [("README.md", format!("Rust {oldest} or newer")), ("Dockerfile", format!("FROM rust:{oldest}-"))]
        {
            assert!(read(path).contains(&text), "{path} does not say `{text}`");
        }
    }
}
