//! CHANGELOG.md, in the form of Keep a Changelog.

use crate::Failure;

/// The heading of what is not released yet.
const UNRELEASED: &str = "## [Unreleased]";

/// The groups of changes.
const GROUPS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Returns the section of a version, without its heading.
///
/// # Errors
/// Fails if there is none, or if it is not in the form.
pub(super) fn section(log: &str, version: &str) -> Result<String, Failure> {
    if !log.lines().any(|line| line == UNRELEASED) {
        return Err(format!("CHANGELOG.md has no section `{UNRELEASED}`").into());
    }
    let start = format!("## [{version}] - ");
    let mut lines = log.lines().skip_while(|line| !line.starts_with(&start));
    let heading = lines.next().ok_or_else(|| format!("CHANGELOG.md has no section `{start}YYYY-MM-DD`"))?;
    let date = heading.strip_prefix(&start).unwrap_or_default();
    if !is_date(date) {
        return Err(format!("CHANGELOG.md: {date:?} is not a date").into());
    }
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    for group in lines.iter().filter_map(|line| line.strip_prefix("### ")) {
        if !GROUPS.contains(&group) {
            return Err(format!("CHANGELOG.md: {group:?} is none of {}", GROUPS.join(", ")).into());
        }
    }
    let text = lines.join("\n").trim().to_owned();
    if text.is_empty() {
        return Err(format!("CHANGELOG.md says nothing about {version}").into());
    }
    Ok(text + "\n")
}

/// Whether a text has the form of a date, `2026-01-31`.
fn is_date(text: &str) -> bool {
    let form: String =
        text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    form == "0000-00-00"
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Fixed\n\n- A fault.\n\n## [0.1.0] - soon\n";

    #[test]
    fn the_section_of_a_version_becomes_its_notes() {
        assert_eq!(section(LOG, "0.2.0").unwrap(), "### Fixed\n\n- A fault.\n");
    }

    #[test]
    fn wrong_sections_are_refused_with_the_reason() {
        let nothing = LOG.replace("### Fixed\n\n- A fault.\n", "");
        let group = LOG.replace("Fixed", "Mended");
        let no_place = LOG.replace("## [Unreleased]\n", "");
        for (log, version, reason) in [
            (LOG, "0.3.0", "no section `## [0.3.0] - YYYY-MM-DD`"),
            (LOG, "0.1.0", "\"soon\" is not a date"),
            (&nothing, "0.2.0", "says nothing about 0.2.0"),
            (&group, "0.2.0", "\"Mended\" is none of Added"),
            (&no_place, "0.2.0", "no section `## [Unreleased]`"),
        ] {
            let told = section(log, version).unwrap_err().to_string();
            assert!(told.contains(reason), "{told}");
        }
    }

    #[test]
    fn the_log_of_this_project_has_a_place_for_changes() {
        let log = include_str!("../../../CHANGELOG.md");
        let released = log.replace(UNRELEASED, &format!("{UNRELEASED}\n\n## [9.9.9] - 2026-01-01"));
        assert!(section(&released, "9.9.9").is_ok_and(|notes| notes.contains("### ")));
    }
}
