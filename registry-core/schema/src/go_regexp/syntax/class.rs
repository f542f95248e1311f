//! Classes of characters.

use super::properties::Property;
use super::{SyntaxError, Translator};

/// The names that a class may contain as `[:name:]`.
const NAMED: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// The number of characters that there are.
const ALL_CHARACTERS: u64 = 0x11_0000;
/// Properties that most characters have or lack, as [`Property::find`] returns them.
const WIDE: [&str; 6] = ["any", "assigned", "c", "cn", "other", "unassigned"];

/// Counts of the contents of a pattern's classes, from which the work of compiling it follows.
#[derive(Debug, Default)]
pub(in super::super) struct Classes {
    /// The number of classes in brackets.
    pub(in super::super) number: u64,
    /// The number of characters and ranges in them.
    pub(in super::super) ranges: u64,
    /// The number of characters in these ranges. A negation in a class counts as all characters.
    pub(in super::super) characters: u64,
    /// The number of Unicode properties, such as `\p{Greek}`, in classes and outside.
    pub(in super::super) properties: u64,
}

/// The members of a class of one letter, and whether it is negated.
pub(super) fn letter_class(letter: char) -> Option<(&'static str, bool)> {
    Some(match letter {
        'd' => ("0-9", false),
        'D' => ("0-9", true),
        'w' => ("0-9A-Za-z_", false),
        'W' => ("0-9A-Za-z_", true),
        's' => (r"\t\n\x0C\r ", false),
        'S' => (r"\t\n\x0C\r ", true),
        _ => return None,
    })
}

impl<'p> Translator<'p> {
    /// Writes a class of one letter, which may also be a member of another class.
    pub(super) fn letter_class(&mut self, letter: char) {
        if let Some((members, is_negated)) = letter_class(letter) {
            for part in ["[", if is_negated { "^" } else { "" }, members, "]"] {
                self.out.push_str(part);
            }
        }
    }

    /// Translates a Unicode property, with its name of one letter or in braces.
    pub(super) fn property(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        let is_negated = start.starts_with(r"\P");
        self.advance(2);
        let name = match self.rest.chars().next() {
            Some('{') => {
                let Some(end) = self.rest.find('}') else {
                    return Err(SyntaxError::ClassRange(start.to_owned()));
                };
                self.advance(end + 1).get(1..end).unwrap_or_default()
            }
            letter => self.advance(letter.map_or(0, char::len_utf8)),
        };
        let written = self.taken_since(start);
        let (name, is_negated) =
            name.strip_prefix('^').map_or((name, is_negated), |name| (name, !is_negated));
        let Some(property) = Property::find(name) else {
            return Err(SyntaxError::ClassRange(written.to_owned()));
        };
        self.classes.properties += 1;
        let is_wide = matches!(property, Property::Named(name) if WIDE.contains(&name));
        if is_negated || is_wide {
            self.classes.characters += ALL_CHARACTERS;
        }
        match property {
            // Texts have no surrogates, and the syntax that is written has no name for them.
            Property::Surrogates if is_negated => self.out.push_str(r"[\x{0}-\x{10FFFF}]"),
            Property::Surrogates => self.out.push_str(r"[^\x{0}-\x{10FFFF}]"),
            Property::Named(name) => {
                for part in [if is_negated { r"\P{" } else { r"\p{" }, name, "}"] {
                    self.out.push_str(part);
                }
            }
        }
        Ok(())
    }

    /// Translates a class: what it contains is characters, ranges and named classes, and nothing else.
    pub(super) fn class(&mut self) -> Result<(), SyntaxError> {
        let class = self.rest;
        self.classes.number += 1;
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            self.class_item(class)?;
            is_first = false;
        }
        self.copy(1);
        Ok(())
    }

    fn class_item(&mut self, class: &'p str) -> Result<(), SyntaxError> {
        if !self.has_no_named_class && self.rest.starts_with("[:") && self.named_class()? {
            return Ok(());
        }
        let letter = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
        match letter {
            Some('p' | 'P') => self.property(),
            Some(letter) if letter_class(letter).is_some() => {
                self.classes.ranges += 1;
                if letter.is_ascii_uppercase() {
                    self.classes.characters += ALL_CHARACTERS;
                }
                self.advance(2);
                self.letter_class(letter);
                Ok(())
            }
            _ => self.range(class),
        }
    }

    /// Copies `[:name:]`. Returns whether there is one: without its end the bracket is a character.
    fn named_class(&mut self) -> Result<bool, SyntaxError> {
        let inner = self.rest.get(2..).unwrap_or_default();
        let Some(end) = inner.find(":]") else {
            // Not searched for again: a class may have an opening bracket at each character.
            self.has_no_named_class = true;
            return Ok(false);
        };
        let name = inner.get(..end).unwrap_or_default();
        if !NAMED.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(SyntaxError::ClassRange(format!("[:{name}:]")));
        }
        self.classes.ranges += 1;
        if name.starts_with('^') {
            self.classes.characters += ALL_CHARACTERS;
        }
        self.copy(end + 4);
        Ok(true)
    }

    /// Translates a character or a range.
    fn range(&mut self, class: &'p str) -> Result<(), SyntaxError> {
        let start = self.rest;
        let low = self.class_character(class)?;
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1;
        self.push_character(low);
        self.classes.ranges += 1;
        if !is_range {
            self.classes.characters += 1;
            return Ok(());
        }
        self.copy(1);
        let high = self.class_character(class)?;
        if high < low {
            return Err(SyntaxError::ClassRange(self.taken_since(start).to_owned()));
        }
        self.push_character(high);
        self.classes.characters += u64::from(u32::from(high) - u32::from(low)) + 1;
        Ok(())
    }

    fn class_character(&mut self, class: &str) -> Result<char, SyntaxError> {
        match self.rest.chars().next() {
            Some('\\') => self.escaped_character(),
            Some(character) => {
                self.advance(character.len_utf8());
                Ok(character)
            }
            None => Err(SyntaxError::UnclosedClass(class.to_owned())),
        }
    }
}
