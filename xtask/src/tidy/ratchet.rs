//! Rules that the tree does not keep everywhere yet: the known violations are counted in a committed list, and the counts
//! only decrease.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::Failure;

/// The places that break a rule, by the file or the dependency that they belong to.
pub(super) type Places = BTreeMap<String, Vec<String>>;

/// The committed numbers of violations.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known(BTreeMap<String, usize>);

// === impl Known ===

impl Known {
    /// Reads the list. A list that is missing allows every violation, so that `--write` can begin one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display()).into()),
        }
    }

    /// Parses lines of a name and a number.
    fn parse(text: &str) -> Result<Self, Failure> {
        let parse = |line: &str| {
            let (name, count) = line.rsplit_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let counts =
            lines.map(|line| parse(line).ok_or_else(|| format!("`{line}` is not a name and a number")));
        Ok(Self(counts.collect::<Result<_, _>>()?))
    }

    /// Returns the messages of all violations of the names that have more of them than before.
    pub(super) fn grown(&self, found: &Places) -> Vec<String> {
        let mut messages = Vec::new();
        for (name, places) in found {
            let known = self.0.get(name).copied().unwrap_or_default();
            if places.len() > known {
                messages.extend(places.iter().cloned());
                if known > 0 {
                    messages.push(format!("{name}: {} such places, {known} are known", places.len()));
                }
            }
        }
        messages
    }

    /// Returns the list with lower counts where there are fewer violations now.
    pub(super) fn lowered(&self, found: &Places) -> Self {
        let lower = |(name, known): (&String, &usize)| {
            let count = found.get(name).map_or(0, Vec::len).min(*known);
            (count > 0).then(|| (name.clone(), count))
        };
        Self(self.0.iter().filter_map(lower).collect())
    }

    /// Returns the list of all violations that there are.
    pub(super) fn all(found: &Places) -> Self {
        let counts = found.iter().filter(|(_, places)| !places.is_empty());
        Self(counts.map(|(name, places)| (name.clone(), places.len())).collect())
    }

    /// Returns the number of violations.
    pub(super) fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Writes the list.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text =
            "# Known violations, which only decrease: `cargo xtask tidy --write` lowers the numbers.\n"
                .to_owned();
        for (name, count) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {count}");
        }
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(counts: &[(&str, usize)]) -> Places {
        let places = |count| (1..=count).map(|line| format!("line {line}")).collect();
        counts.iter().map(|(name, count)| ((*name).to_owned(), places(*count))).collect()
    }

    #[test]
    fn more_violations_than_known_are_refused() {
        let known = Known::parse("# comment\na.rs 2\na -> b 1\n").expect("a list");
        assert_eq!(known.grown(&found(&[("a.rs", 2), ("a -> b", 1)])), [] as [&str; 0]);
        assert_eq!(known.grown(&found(&[])), [] as [&str; 0]);
        let message = "a.rs: 3 such places, 2 are known";
        assert_eq!(known.grown(&found(&[("a.rs", 3)])), ["line 1", "line 2", "line 3", message]);
        assert_eq!(known.grown(&found(&[("new.rs", 1)])), ["line 1"], "new files have none");
    }

    #[test]
    fn the_list_is_only_lowered() {
        let known = Known::parse("a.rs 2\nb.rs 3\nc.rs 1\n").expect("a list");
        let lowered = known.lowered(&found(&[("a.rs", 5), ("b.rs", 1), ("new.rs", 4)]));
        assert_eq!(lowered, Known::parse("a.rs 2\nb.rs 1").expect("a list"));
        assert_eq!((known.total(), lowered.total()), (6, 3));
    }

    #[test]
    fn a_written_list_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list.txt");
        assert_eq!(Known::read(&path).expect("no error"), None);
        let known = Known::all(&found(&[("src/a.rs", 2), ("core: a -> b", 7), ("none.rs", 0)]));
        known.write(&path).expect("written");
        assert_eq!(Known::read(&path).expect("a list"), Some(known));
        std::fs::write(&path, "a.rs many\n").expect("written");
        let error = Known::read(&path).expect_err("no number").to_string();
        assert!(error.contains("`a.rs many` is not a name and a number"), "{error}");
    }
}
