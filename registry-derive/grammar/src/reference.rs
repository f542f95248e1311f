//! The reference of everything that can be written on a struct and its fields, as data.
//!
//! `cargo xtask codegen` writes `grammar.md` and `docs/reference/attributes.md` from it, and `cargo xtask explain`
//! prints its entries. The examples are parts of `registry-derive/tests/attributes.rs`, which compiles them and
//! compares the schemas.

mod declaration;
mod schema;

use std::fmt::Write as _;

use crate::model::names;

/// An attribute, or a form of one.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name, as it is looked up: `column`, `serde(default)`, `x-kubernetes-list-type`.
    pub name: &'static str,
    /// The form in which it is written; `FIELD` is a path.
    pub form: &'static str,
    /// A phrase that says its meaning.
    pub meaning: &'static str,
    /// Sentences about what a client observes.
    pub client: &'static str,
    /// The anchors of its examples.
    pub examples: &'static [&'static str],
    /// The fields of the example with the schemas that they get, in JSON, as a CustomResourceDefinition would have them.
    pub schema: &'static [(&'static str, &'static str)],
    /// Messages of the compiler about wrong uses.
    pub errors: &'static [&'static str],
}

/// The parts of the reference.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The entries.
    pub entries: &'static [Entry],
}

/// The sections about `#[resource(…)]`.
const DECLARATION: [Section; 3] = [
    Section {
        title: "Where it is served, and under which names. The defaults of the names come from the struct's.",
        entries: declaration::NAMES,
    },
    Section { title: "The parts of its objects.", entries: declaration::PARTS },
    Section { title: "Its behaviour.", entries: declaration::BEHAVIOUR },
];

/// The sections about schemas.
const SCHEMA: [Section; 3] = [
    Section { title: "`#[serde(…)]` and types", entries: schema::SERDE },
    Section { title: "`#[schemars(…)]`", entries: schema::SCHEMARS },
    Section { title: "`x-kubernetes-…`, in `#[schemars(extend(…))]`", entries: schema::EXTENSIONS },
];

/// Notes on paths, which many attributes name.
const PATHS: &str = "\
A `FIELD` is a path of tokens such as `spec.keeper`; keywords are written `r#type`. Its JSON name is the same in camelCase,
or given: `status.pod_ip = \"status.podIP\"`. A column's `type` is `string` (the default), `integer`, `number`, `boolean` or
`date`, its `format` is `plain` or `name`. A column of a foreign type has the description of its field, and shows an absent one
as empty, 0 or false. On a field, `#[resource(status)]` marks the status, an `Option`.
";

/// Introduction of the reference.
const HEAD: &str = "\
<!-- Written by `cargo xtask codegen` from registry-derive/grammar/src/reference. Do not edit. -->

# Attributes

Everything that can be written on a struct with `#[derive(Resource)]` and on its fields, and the effect for clients.
`cargo xtask explain ATTRIBUTE` prints an entry in the terminal. The examples are parts of
[`registry-derive/tests/attributes.rs`](../../registry-derive/tests/attributes.rs), which a test compiles; the compiler's messages
are those of [`registry-derive/tests/ui`](../../registry-derive/tests/ui). A schema is shown as the schema of a
CustomResourceDefinition would have it, which is what validates objects and what `kubectl explain` shows.

The compiler checks attributes on the annotated struct and its fields. A schema of a type inside it is checked when the server
starts; if it is wrong, the server does not start, and names the kind, the type and the field.
";

// === impl Entry ===

impl Entry {
    /// An entry whose example has its name.
    const fn new(
        name: &'static str,
        form: &'static str,
        meaning: &'static str,
        examples: &'static [&'static str],
    ) -> Self {
        Self { name, form, meaning, client: "", examples, schema: &[], errors: &[] }
    }

    const fn client(self, client: &'static str) -> Self {
        Self { client, ..self }
    }

    const fn schema(self, schema: &'static [(&'static str, &'static str)]) -> Self {
        Self { schema, ..self }
    }

    const fn errors(self, errors: &'static [&'static str]) -> Self {
        Self { errors, ..self }
    }

    /// Writes the entry in Markdown, below its heading, with examples out of the text of their file.
    pub fn describe(&self, examples: &str) -> String {
        let meaning = self.meaning;
        let mut text = format!("`{}`: {meaning}.", self.form);
        if !self.client.is_empty() {
            let _ = write!(text, " {}", self.client);
        }
        let shown: Vec<String> = self.examples.iter().filter_map(|name| anchored(examples, name)).collect();
        let _ = write!(text, "\n\n```rust\n{}\n```\n", shown.join("\n"));
        for (field, schema) in self.schema {
            let _ = write!(text, "\nSchema of `{field}`: `{schema}`\n");
        }
        if !self.errors.is_empty() {
            let _ = write!(text, "\nThe compiler's messages:\n\n```text\n{}\n```\n", self.errors.join("\n"));
        }
        text
    }
}

/// Returns all entries.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    DECLARATION.iter().chain(&SCHEMA).flat_map(|section| section.entries)
}

/// Returns the entries of a name: those that have it, or whose name contains it as a word.
pub fn find(name: &str) -> Vec<&'static Entry> {
    let exact: Vec<_> = entries().filter(|entry| entry.name == name).collect();
    let is_word = |entry: &&Entry| words(entry.name).any(|word| word == name);
    if exact.is_empty() { entries().filter(is_word).collect() } else { exact }
}

/// Returns names of entries that resemble a name.
pub fn suggestions(name: &str) -> Vec<&'static str> {
    let contains = |entry: &&Entry| name.len() > 2 && entry.name.contains(name);
    let mut found: Vec<&str> = entries().filter(contains).map(|entry| entry.name).collect();
    for entry in entries() {
        let is_near = names::nearest(name, words(entry.name).chain([entry.name])).is_some();
        if is_near && !found.contains(&entry.name) {
            found.push(entry.name);
        }
    }
    found
}

/// Returns the words of an entry's name: `serde` and `default` of `serde(default)`.
fn words(name: &'static str) -> impl Iterator<Item = &'static str> {
    name.split(['(', ')', ',', ' ']).filter(|word| !word.is_empty())
}

/// Returns the text between the marks of an anchor, without other marks and common indentation.
pub fn anchored(text: &str, name: &str) -> Option<String> {
    let mark = |line: &str, word: &str| line.trim().strip_prefix(word).is_some_and(|rest| rest == name);
    let begins = text.lines().position(|line| mark(line, "// ANCHOR: "))?;
    let after: Vec<&str> = text.lines().skip(begins + 1).collect();
    let ends = after.iter().position(|line| mark(line, "// ANCHOR_END: "))?;
    let is_mark = |line: &str| line.trim().starts_with("// ANCHOR");
    let lines: Vec<&str> = after.into_iter().take(ends).filter(|line| !is_mark(line)).collect();
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let full = lines.iter().filter(|line| !line.trim().is_empty());
    let common = full.map(indentation).min().unwrap_or_default();
    let cut: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect();
    Some(cut.join("\n"))
}

/// Returns `grammar.md`: all forms of `#[resource(…)]` in one block.
pub fn grammar() -> String {
    let mut text = "```text\n#[resource(\n".to_owned();
    for (position, section) in DECLARATION.iter().enumerate() {
        let gap = if position == 0 { "" } else { "\n" };
        let _ = writeln!(text, "{gap}    // {}", section.title);
        for entry in section.entries.iter().filter(|entry| entry.name != "status on a field") {
            let form = format!("{},", entry.form);
            let _ = writeln!(text, "    {form:<49} // {}", entry.meaning);
        }
    }
    let _ = write!(text, ")]\n```\n\n{PATHS}");
    text
}

/// Returns `docs/reference/attributes.md`, with examples out of the text of their file.
pub fn page(examples: &str) -> String {
    let mut text = format!("{HEAD}\n## `#[resource(…)]`\n\n{}", grammar());
    for section in DECLARATION {
        write_section(&mut text, &section, examples);
    }
    text.push_str(
        "\n## The schema\n\nThe struct is the schema, which `JsonSchema` of the crate `schemars` makes.\n",
    );
    for section in SCHEMA {
        write_section(&mut text, &section, examples);
    }
    text
}

fn write_section(text: &mut String, section: &Section, examples: &str) {
    let title = section.title.trim_end_matches('.').split_once(". ");
    let title = title.map_or(section.title.trim_end_matches('.'), |(first, _)| first);
    let _ = write!(text, "\n## {title}\n");
    for entry in section.entries {
        let _ = write!(text, "\n### `{}`\n\n{}", entry.name, entry.describe(examples));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_grammar_has_an_entry() {
        let source = syn::parse_file(include_str!("attributes.rs")).expect("Rust");
        let attributes = source.items.iter().find_map(|item| match item {
            syn::Item::Struct(item) if item.ident == "Attributes" => Some(item),
            _ => None,
        });
        let fields = attributes.expect("the grammar's struct").fields.iter();
        let keys = fields.filter_map(|field| field.ident.as_ref()).map(ToString::to_string);
        for key in keys.filter(|key| !matches!(key.as_str(), "ident" | "generics" | "attrs" | "data")) {
            assert!(entries().any(|entry| entry.name == key), "`{key}` has no entry");
        }
    }

    #[test]
    fn misspelt_names_are_suggested_right() {
        let names = |found: Vec<&'static Entry>| found.iter().map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(names(find("column")), ["column"]);
        assert_eq!(names(find("default")), ["serde(default)"]);
        assert!(find("colum").is_empty());
        assert!(suggestions("colum").contains(&"column"));
        assert!(suggestions("list-type").contains(&"x-kubernetes-list-type"));
        assert!(suggestions("rename-all").contains(&"serde(rename_all)"));
    }

    #[test]
    fn examples_lose_marks_and_indentation() {
        let text = "  // ANCHOR: a\n    x(\n      // ANCHOR: b\n      y\n      // ANCHOR_END: b\n    )\n  // ANCHOR_END: a\n";
        assert_eq!(anchored(text, "a").as_deref(), Some("x(\n  y\n)"));
        assert_eq!(anchored(text, "b").as_deref(), Some("y"));
        assert_eq!(anchored(text, "c"), None);
    }
}
