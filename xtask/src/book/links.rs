//! Links of the guide: those that leave the book are rewritten, and those of the built book are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::Failure;

/// The directory of the pages, relative to that of the workspace.
pub(super) const PAGES: &str = "docs/guide/src";

/// Returns a page whose links stay within the book, or lead to the repository. Without the address of a repository, links
/// to its files become their text and their path.
pub(super) fn rewritten(page: &str, folder: &Path, repository: Option<&str>) -> String {
    let parts = page.split("```").enumerate().map(|(number, part)| {
        // Every second part is a block of code.
        if number % 2 == 1 { part.to_owned() } else { rewritten_text(part, folder, repository) }
    });
    parts.collect::<Vec<_>>().join("```")
}

fn rewritten_text(text: &str, folder: &Path, repository: Option<&str>) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let opened = opening_bracket(before);
        let (Some(start), Some((target, behind))) = (opened, after.split_once(')')) else {
            done.push_str(before);
            done.push_str("](");
            rest = after;
            continue;
        };
        let (outside, label) = before.split_at(start);
        let label = label.strip_prefix('[').unwrap_or(label);
        done.push_str(outside);
        done.push_str(&link(label, target, folder, repository));
        rest = behind;
    }
    done.push_str(rest);
    done
}

/// Returns the position of the bracket that opens the label at the end of a text.
fn opening_bracket(text: &str) -> Option<usize> {
    let mut closed = 0_usize;
    for (position, character) in text.char_indices().rev() {
        match character {
            ']' => closed += 1,
            '[' if closed == 0 => return Some(position),
            '[' => closed -= 1,
            _ => {}
        }
    }
    None
}

fn link(label: &str, target: &str, folder: &Path, repository: Option<&str>) -> String {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let file = plain(&folder.join(path));
    if path.is_empty() || path.contains("://") || file.starts_with(PAGES) {
        return format!("[{label}]({target})");
    }
    let file = file.display();
    let heading = if heading.is_empty() { String::new() } else { format!("#{heading}") };
    match repository {
        // HEAD is the branch that the repository shows first, whatever its name is.
        Some(address) => format!("[{label}]({}/blob/HEAD/{file}{heading})", address.trim_end_matches('/')),
        None if label.trim_matches('`') == file.to_string() => label.to_owned(),
        None => format!("{label} (`{file}`)"),
    }
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            _ => plain.push(component),
        }
    }
    plain
}

/// Returns the links of a built book that lead nowhere, each with the page that has it.
pub(super) fn dead(book: &Path) -> Result<Vec<String>, Failure> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    let names: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(path, page)| (path.as_path(), values(page, "id").collect())).collect();
    let mut dead = Vec::new();
    for (path, page) in &pages {
        // The page for unknown addresses is shown at any of them: its links begin at the root of the site.
        let folder = if path.ends_with("404.html") { Some(book) } else { path.parent() };
        for target in values(page, "href").chain(values(page, "src")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            if is_elsewhere(file) {
                continue;
            }
            let file = if file.is_empty() { path.clone() } else { plain(&folder.unwrap_or(book).join(file)) };
            let has_heading =
                || heading.is_empty() || names.get(file.as_path()).is_some_and(|ids| ids.contains(heading));
            if !(file.exists() && has_heading()) {
                let page = path.strip_prefix(book).unwrap_or(path);
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    Ok(dead)
}

/// Whether a target begins with a scheme or the name of a host.
fn is_elsewhere(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|letter| letter.is_ascii_alphanumeric());
    is_scheme || target.starts_with("//")
}

/// Reads all pages below a directory.
fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let page = std::fs::read_to_string(&path)?;
            pages.insert(path, page);
        }
    }
    Ok(())
}

/// Returns the values of an attribute. Quotes in texts are escaped, so that no text looks like an attribute.
fn values<'page>(page: &'page str, attribute: &str) -> impl Iterator<Item = &'page str> {
    let parts: Vec<&str> = page.split(&format!(" {attribute}=\"")).skip(1).collect();
    parts.into_iter().filter_map(|part| part.split_once('"').map(|(value, _)| value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_book_lead_to_the_repository() {
        let page = "[a](first.md#b) [c [d]](../../../reference/flags.md#e)\n```sh\n[f](../../../g.md)\n```\n[h](https://i.dev/)";
        let folder = Path::new("docs/guide/src/author");
        assert_eq!(
            rewritten(page, folder, Some("https://example.dev/orlop/")),
            "[a](first.md#b) [c [d]](https://example.dev/orlop/blob/HEAD/docs/reference/flags.md#e)\n```sh\n[f](../../../g.md)\n```\n[h](https://i.dev/)"
        );
    }

    #[test]
    fn without_a_repository_the_book_names_the_path() {
        let folder = Path::new("docs/guide/src/operate");
        let page = "[Every flag](../../../reference/flags.md), [`Dockerfile`](../../../../Dockerfile) and [start](start.md)";
        assert_eq!(
            rewritten(page, folder, None),
            "Every flag (`docs/reference/flags.md`), `Dockerfile` and [start](start.md)"
        );
    }

    #[test]
    fn brackets_that_are_no_links_stay() {
        let folder = Path::new("docs/guide/src");
        for text in ["a](b)", "[a](b", "f(x[0])", "[a] (b)"] {
            assert_eq!(rewritten(text, folder, None), text);
        }
    }

    #[test]
    fn files_and_headings_that_do_not_exist_are_dead_links() {
        let book = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            let path = book.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        write("author/first.html", "<h2 id=\"try\"></h2><a href=\"../gone.html\"></a><a href=\"#try\"></a>");
        write(
            "index.html",
            "<a href=\"author/first.html#try\"></a><a href=\"author/first.html#lost\"></a><a href=\"https://a.dev\"></a>",
        );
        let dead = dead(book.path()).expect("pages");
        assert_eq!(dead, ["author/first.html: ../gone.html", "index.html: author/first.html#lost"]);
    }
}
