//! The parts of sources that the pages of the guide show. They stand in the pages, so that these can be read where no program
//! inserts them.
//!
//! The line `<!-- include PATH:NAME -->` precedes the block; the part is between the lines `// ANCHOR: NAME` and
//! `// ANCHOR_END: NAME` of the file.

use std::fmt::Write as _;
use std::path::Path;

use super::output::Output;
use crate::Failure;
use crate::workspace::Workspace;

const PAGES: &str = "docs/guide/src";
const MARK: &str = "<!-- include ";

/// A part that cannot be shown.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum SnippetError {
    #[error("an include is a line `<!-- include PATH:NAME -->`, which a block follows")]
    Malformed,
    #[error("there is not exactly one line `// {0}`")]
    Anchor(String),
    #[error("the part contains a line of back-ticks, which would end the block")]
    Fence,
}

/// Returns the pages that show parts of sources, with the present text of these.
pub(super) fn emit(workspace: &Workspace) -> Result<Vec<Output>, Failure> {
    let mut outputs = Vec::new();
    let mut folders = vec![workspace.root.join(PAGES)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let page = std::fs::read_to_string(&path)?;
                if page.contains(MARK) {
                    let text = filled(&page, &folder)
                        .map_err(|error| format!("{}: {error}", workspace.shown(&path)))?;
                    outputs.push(Output { path, bytes: text.into_bytes() });
                }
            }
        }
    }
    outputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(outputs)
}

/// Returns a page with the present text of the parts that it shows. Their paths are relative to the folder.
fn filled(page: &str, folder: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(named) = line.strip_prefix(MARK) else { continue };
        let named = named.strip_suffix(" -->").and_then(|named| named.rsplit_once(':'));
        let fence = lines.next().filter(|fence| fence.starts_with("```"));
        let (Some((path, anchor)), Some(fence)) = (named, fence) else {
            return Err(SnippetError::Malformed.into());
        };
        let path = folder.join(path);
        let source =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let part = part(&source, anchor).map_err(|error| format!("{}: {error}", path.display()))?;
        // Writing to a String cannot fail.
        let _ = write!(text, "{fence}\n{part}```\n");
        if !lines.any(|line| line == "```") {
            return Err(SnippetError::Malformed.into());
        }
    }
    Ok(text)
}

/// Returns the part of a source with this name, without its indentation and the marks of other parts.
fn part(source: &str, anchor: &str) -> Result<String, SnippetError> {
    let lines: Vec<&str> = source.lines().collect();
    let at = |mark: String| {
        let wanted = format!("// {mark}");
        let mut found = lines.iter().enumerate().filter(|(_, line)| line.trim() == wanted);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            _ => Err(SnippetError::Anchor(mark)),
        }
    };
    let (start, end) = (at(format!("ANCHOR: {anchor}"))?, at(format!("ANCHOR_END: {anchor}"))?);
    let inside =
        lines.get(start + 1..end).ok_or_else(|| SnippetError::Anchor(format!("ANCHOR: {anchor}")))?;
    let inside: Vec<&str> =
        inside.iter().filter(|line| !line.trim_start().starts_with("// ANCHOR")).copied().collect();
    if inside.iter().any(|line| line.contains("```")) {
        return Err(SnippetError::Fence);
    }
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let common = inside.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let dedented = inside.iter().flat_map(|line| [line.get(common..).unwrap_or_default(), "\n"]);
    Ok(dedented.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_replace_what_stood_in_the_block() {
        let folder = tempfile::tempdir().unwrap();
        let source = "a\n    // ANCHOR: inner\n    fn b() {\n    // ANCHOR: other\n        c\n\n    // ANCHOR_END: other\n    }\n    // ANCHOR_END: inner\n";
        std::fs::write(folder.path().join("s.rs"), source).unwrap();
        let page = "x\n<!-- include s.rs:inner -->\n```rust,ignore\nold\n```\ny\n";
        let shown = "x\n<!-- include s.rs:inner -->\n```rust,ignore\nfn b() {\n    c\n\n}\n```\ny\n";
        assert_eq!(filled(page, folder.path()).unwrap(), shown);
        assert_eq!(filled(shown, folder.path()).unwrap(), shown);
    }

    #[test]
    fn parts_that_cannot_be_shown_are_refused() {
        let source = "// ANCHOR: a\n// ```\n// ANCHOR_END: a\n// ANCHOR: b\n// ANCHOR_END: c\n// ANCHOR: c\n";
        assert_eq!(part(source, "a"), Err(SnippetError::Fence));
        assert_eq!(part(source, "b"), Err(SnippetError::Anchor("ANCHOR_END: b".to_owned())));
        assert_eq!(part(source, "c"), Err(SnippetError::Anchor("ANCHOR: c".to_owned())));
        assert_eq!(part(source, "d"), Err(SnippetError::Anchor("ANCHOR: d".to_owned())));
        for page in ["<!-- include s.rs -->\n```\n```\n", "<!-- include s.rs:a -->\ntext\n"] {
            let refused = filled(page, Path::new("")).unwrap_err().to_string();
            assert_eq!(refused, SnippetError::Malformed.to_string(), "{page}");
        }
    }
}
