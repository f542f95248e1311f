//! Writing generated files, or reporting which are stale.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::Failure;
use crate::workspace::Workspace;

/// One generated file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// Writes the files that differ.
pub(crate) fn write(workspace: &Workspace, outputs: &[Output]) -> Result<(), Failure> {
    for output in outputs {
        if std::fs::read(&output.path).is_ok_and(|present| present == output.bytes) {
            continue;
        }
        if let Some(folder) = output.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&output.path, &output.bytes)
            .map_err(|error| format!("{}: {error}", workspace.shown(&output.path)))?;
        println!("wrote {}", workspace.shown(&output.path));
    }
    Ok(())
}

/// Fails if a file differs from what would be written, and reports the first difference.
pub(crate) fn check(workspace: &Workspace, outputs: &[Output]) -> Result<(), Failure> {
    let mut stale = String::new();
    for output in outputs {
        let present = std::fs::read(&output.path).unwrap_or_default();
        if present == output.bytes {
            continue;
        }
        let texts = (std::str::from_utf8(&present), std::str::from_utf8(&output.bytes));
        let difference = match texts {
            (Ok(present), Ok(wanted)) => difference(present, wanted),
            _ => Some(format!("{} bytes that differ\n", output.bytes.len())),
        };
        if let Some(difference) = difference {
            // Writing to a String cannot fail.
            let _ = write!(stale, "\n--- {}\n{difference}", workspace.shown(&output.path));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("generated files are stale: run `cargo xtask codegen` and commit the result{stale}").into())
}

/// Returns the first lines in which two texts differ, `-` for the present one and `+` for the wanted one.
fn difference(present: &str, wanted: &str) -> Option<String> {
    const SHOWN_LINES: usize = 5;
    if present == wanted {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (present.lines().collect(), wanted.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let same_end =
        old.iter().skip(same).rev().zip(new.iter().skip(same).rev()).take_while(|(a, b)| a == b).count();
    let mut text = format!("@@ line {}\n", same + 1);
    for (sign, lines) in [('-', &old), ('+', &new)] {
        let changed = lines.len().saturating_sub(same_end).saturating_sub(same);
        for line in lines.iter().skip(same).take(changed.min(SHOWN_LINES)) {
            let _ = writeln!(text, "{sign}{line}");
        }
        if changed > SHOWN_LINES {
            let _ = writeln!(text, "{sign}… {} more lines", changed - SHOWN_LINES);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn differences_are_shown_where_they_are() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\nd\n", "a\nc\nd\n").as_deref(), Some("@@ line 2\n-b\n+c\n"));
        assert_eq!(difference("", "a\n").as_deref(), Some("@@ line 1\n+a\n"));
        let long = "x\n".repeat(9);
        assert!(difference("", &long).expect("they differ").ends_with("+… 4 more lines\n"));
    }
}
