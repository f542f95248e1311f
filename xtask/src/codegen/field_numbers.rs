//! `src/generated/field_numbers.lock`: the protobuf numbers of the fields of a package's own structs.
//!
//! Numbers are permanent: bytes written with one must never be read as another field. The file is therefore read before
//! it
//! is written. A field that has a number keeps it wherever it is declared, a new field gets the next number that its
//! type
//! never used, and the lines of removed fields are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Crate;
use super::output::Output;
use super::scan::Message;
use crate::Failure;
use crate::workspace::Workspace;

const HEAD: &str = "# Written by `cargo xtask codegen`: the protobuf field numbers of this crate's own structs. Never edit it:
# numbers are forever, also those of fields that are gone. After a merge, take one side's file and run codegen again.
";
/// The beginning of the line with the checksum.
const SUM: &str = "# sum ";

/// Numbers by type and field.
type Numbers = BTreeMap<String, BTreeMap<String, u32>>;

/// Returns the lock file of a package; `None` if it has no structs of its own.
pub(super) fn emit(workspace: &Workspace, found: &Crate<'_>) -> Result<Option<Output>, Failure> {
    let path = found.package.folder().join("src/generated/field_numbers.lock");
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    if found.resources.messages.is_empty() && present.is_empty() {
        return Ok(None);
    }
    let text = updated(&present, &found.resources.messages)
        .map_err(|wrong| format!("{}: {wrong}", workspace.shown(&path)))?;
    Ok(Some(Output { path, bytes: text.into_bytes() }))
}

/// Returns the new contents, from the present ones and the declared structs.
fn updated(present: &str, messages: &[Message]) -> Result<String, Failure> {
    let mut numbers = read(present)?;
    let mut seen = BTreeSet::new();
    for message in messages {
        let name = &message.name;
        if !seen.insert(name) {
            return Err(format!(
                "two structs are called `{name}` in JSON schemas, and field numbers go by name: \
                 give one `#[schemars(rename = \"…\")]`"
            )
            .into());
        }
        let fields = numbers.entry(name.clone()).or_default();
        for field in &message.fields {
            let next = fields.values().max().map_or(1, |highest| highest + 1);
            fields.entry(field.clone()).or_insert(next);
        }
    }
    let mut lines = String::new();
    for (name, fields) in &numbers {
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_by_key(|(_, number)| **number);
        for (field, number) in fields {
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{name} {field} {number}");
        }
    }
    Ok(format!("{HEAD}{SUM}{:016x}\n{lines}", sum(&lines)))
}

/// Reads the assigned numbers. Fails if the file was edited by hand.
fn read(text: &str) -> Result<Numbers, Failure> {
    let mut numbers = Numbers::new();
    if text.is_empty() {
        return Ok(numbers);
    }
    let mut lines = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(name), Some(field), Some(Ok(number)), None) =
            (words.next(), words.next(), words.next().map(str::parse), words.next())
        else {
            return Err(format!("`{line}` is not `<type> <field> <number>`").into());
        };
        numbers.entry(name.to_owned()).or_default().insert(field.to_owned(), number);
        lines.push_str(line);
        lines.push('\n');
    }
    let written = text.lines().find_map(|line| line.strip_prefix(SUM)).unwrap_or_default();
    if written != format!("{:016x}", sum(&lines)) {
        return Err(
            "edited by hand: take it back from version control, for numbers in use must not change".into()
        );
    }
    Ok(numbers)
}

/// FNV-1a: sufficient to detect an edit, and the same on every platform.
fn sum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(fields: &[&str]) -> Vec<Message> {
        vec![Message { name: "Pen".to_owned(), fields: fields.iter().map(ToString::to_string).collect() }]
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.starts_with('#')).collect()
    }

    #[test]
    fn a_number_is_given_once_and_kept() {
        let first = updated("", &messages(&["metadata", "spec", "status"])).unwrap();
        assert_eq!(lines(&first), ["Pen metadata 1", "Pen spec 2", "Pen status 3"]);
        let reordered = updated(&first, &messages(&["status", "spec", "metadata"])).unwrap();
        assert_eq!(reordered, first, "the order of declaration decides for new fields only");
        let changed = updated(&first, &messages(&["notes", "metadata", "spec"])).unwrap();
        assert_eq!(lines(&changed), ["Pen metadata 1", "Pen spec 2", "Pen status 3", "Pen notes 4"]);
        assert_eq!(updated(&changed, &[]).unwrap(), changed, "a type that is gone keeps its numbers too");
    }

    #[test]
    fn changes_of_numbers_are_refused() {
        let lock = updated("", &messages(&["metadata", "spec"])).unwrap();
        let renumbered = lock.replace("spec 2", "spec 3");
        assert!(
            updated(&renumbered, &messages(&["metadata", "spec"]))
                .unwrap_err()
                .to_string()
                .contains("edited by hand")
        );
        assert!(updated("Pen spec two\n", &[]).is_err());
        let twice = [messages(&["a"]), messages(&["b"])].concat();
        assert!(updated("", &twice).unwrap_err().to_string().contains("two structs are called `Pen`"));
    }
}
