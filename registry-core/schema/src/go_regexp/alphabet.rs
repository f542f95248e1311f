//! Characters as letters of a small alphabet.
//!
//! A class such as `\p{L}` has hundreds of ranges, which are thousands of states in UTF-8. An expression tells few characters
//! apart, though: all that are in the same of its classes are one letter. With letters of one byte every class is one state.

use std::collections::{BTreeMap, HashMap};

use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition,
};

/// Maximum product of the number of classes and the number of ranges of characters that they make. Both are small except in
/// expressions that are made for it.
const MAX_WORK: usize = 4_000_000;
/// Maximum depth of an expression, each level of which takes some of the stack.
const MAX_DEPTH: u32 = 250;
/// The number of characters of ASCII.
const ASCII: usize = 128;

/// The letter of each character.
#[derive(Debug)]
pub(super) struct Alphabet {
    ascii: [u8; ASCII],
    /// The first characters of ranges with one letter, in order.
    starts: Vec<(u32, u8)>,
}

/// The characters that an expression tells apart.
#[derive(Default)]
struct Characters<'h> {
    classes: BTreeMap<&'h [ClassUnicodeRange], &'h ClassUnicode>,
    /// The first characters of ranges.
    starts: Vec<u32>,
    /// Characters that are told apart from all others.
    literals: Vec<u32>,
    has_lines: bool,
    has_words: bool,
}

/// The reason for the absence of an expression's alphabet.
const TOO_MANY: &str = "expression too large";
const TOO_DEEP: &str = "expression nests too deeply";

// === impl Alphabet ===

impl Alphabet {
    /// Makes the alphabet of an expression, and the expression over its letters.
    ///
    /// # Errors
    /// Fails if the expression tells too many characters apart, or is nested too deeply.
    pub(super) fn make(hir: &Hir) -> Result<(Self, Hir), &'static str> {
        let mut characters = Characters::default();
        characters.collect(hir, 0)?;
        let alphabet = characters.alphabet()?;
        let mut classes = BTreeMap::new();
        let translated = alphabet.translate(hir, &mut classes);
        Ok((alphabet, translated))
    }

    /// Returns the letter of a character.
    #[inline]
    pub(super) fn letter(&self, character: char) -> u8 {
        let code = u32::from(character);
        match self.ascii.get(code as usize) {
            Some(letter) => *letter,
            None => self.letter_of(code),
        }
    }

    fn letter_of(&self, code: u32) -> u8 {
        let after = self.starts.partition_point(|(start, _)| *start <= code);
        after.checked_sub(1).and_then(|place| self.starts.get(place)).map_or(0, |(_, letter)| *letter)
    }

    fn translate<'h>(&self, hir: &'h Hir, classes: &mut BTreeMap<&'h [ClassUnicodeRange], Hir>) -> Hir {
        match hir.kind() {
            HirKind::Empty => Hir::empty(),
            HirKind::Look(look) => Hir::look(*look),
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0);
                let letters: Vec<u8> = text.chars().map(|character| self.letter(character)).collect();
                Hir::literal(letters)
            }
            HirKind::Class(Class::Unicode(class)) => {
                classes.entry(class.ranges()).or_insert_with(|| self.class(class)).clone()
            }
            // Expressions are about characters.
            HirKind::Class(Class::Bytes(_)) => Hir::fail(),
            HirKind::Repetition(repetition) => Hir::repetition(Repetition {
                sub: Box::new(self.translate(&repetition.sub, classes)),
                ..repetition.clone()
            }),
            HirKind::Capture(capture) => self.translate(&capture.sub, classes),
            HirKind::Concat(parts) => {
                Hir::concat(parts.iter().map(|part| self.translate(part, classes)).collect())
            }
            HirKind::Alternation(parts) => {
                Hir::alternation(parts.iter().map(|part| self.translate(part, classes)).collect())
            }
        }
    }

    fn class(&self, class: &ClassUnicode) -> Hir {
        let mut letters = ClassBytes::empty();
        for range in class.iter() {
            let (start, end) = (u32::from(range.start()), u32::from(range.end()));
            let first = self.letter_of(start);
            letters.push(ClassBytesRange::new(first, first));
            let from = self.starts.partition_point(|(other, _)| *other <= start);
            let within = self.starts.iter().skip(from).take_while(|(other, _)| *other <= end);
            for (_, letter) in within {
                letters.push(ClassBytesRange::new(*letter, *letter));
            }
        }
        Hir::class(Class::Bytes(letters))
    }
}

// === impl Characters ===

impl<'h> Characters<'h> {
    fn collect(&mut self, hir: &'h Hir, depth: u32) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Class(Class::Bytes(_)) => {}
            HirKind::Look(look) => match look {
                Look::Start | Look::End => {}
                Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF => self.has_lines = true,
                _ => self.has_words = true,
            },
            HirKind::Literal(literal) => {
                self.literals.extend(String::from_utf8_lossy(&literal.0).chars().map(u32::from));
            }
            HirKind::Class(Class::Unicode(class)) => {
                self.classes.insert(class.ranges(), class);
            }
            HirKind::Repetition(repetition) => self.collect(&repetition.sub, depth + 1)?,
            HirKind::Capture(capture) => self.collect(&capture.sub, depth + 1)?,
            HirKind::Concat(parts) | HirKind::Alternation(parts) => {
                for part in parts {
                    self.collect(part, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Divides all characters into ranges, and gives each range a letter: the same to those that are in the same classes.
    fn alphabet(mut self) -> Result<Alphabet, &'static str> {
        self.literals.sort_unstable();
        self.literals.dedup();
        if self.has_lines && self.literals.binary_search(&u32::from('\n')).is_err() {
            self.literals.push(u32::from('\n'));
        }
        let words = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]
            .map(|(start, end)| ClassUnicodeRange::new(start, end));
        let words = ClassUnicode::new(words);
        let mut classes: Vec<&ClassUnicode> = self.classes.values().copied().collect();
        // The last one, so that its members are told apart by it.
        if self.has_words {
            classes.push(&words);
        }
        let mut starts = vec![0];
        for range in classes.iter().flat_map(|class| class.iter()) {
            starts.extend([u32::from(range.start()), u32::from(range.end()) + 1]);
        }
        starts.extend(self.literals.iter().flat_map(|literal| [*literal, *literal + 1]));
        starts.sort_unstable();
        starts.dedup();
        self.starts = starts;
        if self.starts.len().saturating_mul(classes.len()) > MAX_WORK {
            return Err(TOO_MANY);
        }
        let groups = self.groups(&classes);
        self.name(groups)
    }

    /// Returns the number of each range's group.
    fn groups(&self, classes: &[&ClassUnicode]) -> Vec<u32> {
        let mut groups = vec![0; self.starts.len()];
        let mut count = 1;
        for class in classes {
            let mut inside: HashMap<u32, u32> = HashMap::new();
            for range in class.iter() {
                let (start, end) = (u32::from(range.start()), u32::from(range.end()));
                let from = self.starts.partition_point(|other| *other < start);
                let members = self.starts.iter().zip(&mut groups).skip(from);
                for (_, group) in members.take_while(|(other, _)| **other <= end) {
                    *group = *inside.entry(*group).or_insert_with(|| {
                        count += 1;
                        count - 1
                    });
                }
            }
        }
        for literal in &self.literals {
            if let Some(group) = self.starts.binary_search(literal).ok().and_then(|at| groups.get_mut(at)) {
                *group = count;
                count += 1;
            }
        }
        groups
    }

    /// Gives the groups of ranges their letters. Where assertions look at bytes, the letters of words and the end of a line
    /// are such bytes.
    fn name(&self, groups: Vec<u32>) -> Result<Alphabet, &'static str> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let mut of_words = (0..=u8::MAX).filter(is_word);
        let mut others = (0..=u8::MAX).filter(|byte| !is_word(byte) && *byte != b'\n');
        let mut letters: HashMap<u32, u8> = HashMap::new();
        let mut starts = Vec::with_capacity(self.starts.len());
        for (start, group) in self.starts.iter().zip(groups) {
            let letter = if let Some(letter) = letters.get(&group) {
                *letter
            } else {
                let character = u8::try_from(*start).unwrap_or(u8::MAX);
                let free = if self.has_lines && character == b'\n' {
                    Some(b'\n')
                } else if self.has_words && is_word(&character) {
                    of_words.next()
                } else {
                    others.next().or_else(|| of_words.next_back().filter(|_| !self.has_words))
                };
                *letters.entry(group).or_insert(free.ok_or(TOO_MANY)?)
            };
            if starts.last().is_none_or(|(_, last)| *last != letter) {
                starts.push((*start, letter));
            }
        }
        let mut alphabet = Alphabet { ascii: [0; ASCII], starts };
        let ascii: [u8; ASCII] =
            std::array::from_fn(|code| alphabet.letter_of(u32::try_from(code).unwrap_or(0)));
        alphabet.ascii = ascii;
        Ok(alphabet)
    }
}
