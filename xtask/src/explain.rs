//! `cargo xtask explain`: the reference of attributes, in the terminal.

use clap::Args;
use registry_grammar::reference::{self, Entry};

use crate::Failure;
use crate::workspace::Workspace;

/// The file of the examples.
pub(crate) const EXAMPLES: &str = "registry-derive/tests/attributes.rs";

/// Explain an attribute of an annotated struct or its fields: its forms, an example, its effect, and errors.
///
/// Without a name, all are listed. The same is in docs/reference/attributes.md.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// For example `column`, `default`, `x-kubernetes-list-type`
    attribute: Option<String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let Some(name) = &options.attribute else {
        print!("{}", list());
        return Ok(());
    };
    let found = reference::find(name);
    if found.is_empty() {
        return Err(unknown(name).into());
    }
    let workspace = Workspace::load()?;
    let examples = std::fs::read_to_string(workspace.root.join(EXAMPLES))?;
    for entry in found {
        println!("{}\n\n{}", entry.name, plain(&entry.describe(&examples)));
    }
    Ok(())
}

/// Returns the names with their meanings.
fn list() -> String {
    let line = |entry: &Entry| format!("{:<52}{}\n", entry.name, entry.meaning);
    reference::entries().map(line).collect()
}

/// Returns the message about a name that is not in the reference.
fn unknown(name: &str) -> String {
    let near = reference::suggestions(name);
    if near.is_empty() {
        format!("no attribute `{name}`: `cargo xtask explain` lists all")
    } else {
        format!("no attribute `{name}`: did you mean {}?", near.join(", "))
    }
}

/// Returns Markdown as a terminal shows it: blocks are indented, without their fences.
fn plain(text: &str) -> String {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            lines.push(format!("    {line}"));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_explained_and_a_misspelt_name_suggested() {
        let examples = include_str!("../../registry-derive/tests/attributes.rs");
        let [entry] = reference::find("ttl_seconds")[..] else { panic!("no entry") };
        let shown = plain(&entry.describe(examples));
        assert!(
            shown.starts_with("`ttl_seconds = 3600`: time after which objects expire. Objects are removed"),
            "{shown}"
        );
        assert!(shown.contains("\n    ttl_seconds = 3600,\n"), "{shown}");
        assert!(shown.contains("\n    expected a whole number of seconds without quotes"), "{shown}");
        assert_eq!(unknown("ttl_second"), "no attribute `ttl_second`: did you mean ttl_seconds?");
        assert_eq!(unknown("zzzzzz"), "no attribute `zzzzzz`: `cargo xtask explain` lists all");
        assert!(list().contains("\nx-kubernetes-list-type"), "{}", list());
    }
}
