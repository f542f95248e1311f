//! Escapes: characters, places, and quoted parts.

use std::fmt::Write;

use super::class::letter_class;
use super::{Operand, SyntaxError, Translator};

impl Translator<'_> {
    /// Translates an escape outside of a class.
    pub(super) fn escape(&mut self) -> Result<(), SyntaxError> {
        match self.rest.chars().nth(1) {
            Some('Q') => {
                self.quoted();
                return Ok(());
            }
            Some('b') => self.replace(2, r"(?-u:\b)"),
            Some('B') => self.replace(2, r"(?-u:\B)"),
            Some('A' | 'z') => self.copy(2),
            Some('p' | 'P') => self.property()?,
            Some(letter) if letter_class(letter).is_some() => {
                self.advance(2);
                self.letter_class(letter);
            }
            _ => {
                let character = self.escaped_character()?;
                self.push_character(character);
            }
        }
        self.current.add_operand(Operand::CHARACTER);
        Ok(())
    }

    /// Translates the text between `\Q` and `\E`, in which all characters stand for themselves.
    fn quoted(&mut self) {
        self.advance(2);
        let (quoted, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
        self.rest = rest;
        if !quoted.is_empty() {
            // Operators repeat the last character only, as they do in the syntax that is written.
            for character in quoted.chars() {
                self.push_character(character);
                self.current.add_operand(Operand::CHARACTER);
            }
        }
    }

    /// Writes a character so that it stands for itself, also in a class.
    pub(super) fn push_character(&mut self, character: char) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "\\x{{{:X}}}", u32::from(character));
    }

    /// Reads an escape that stands for a character.
    pub(super) fn escaped_character(&mut self) -> Result<char, SyntaxError> {
        let start = self.rest;
        self.advance(1);
        let Some(letter) = self.rest.chars().next() else {
            return Err(SyntaxError::TrailingBackslash);
        };
        self.advance(letter.len_utf8());
        let code = match letter {
            'a' => Some(7),
            'f' => Some(0xc),
            'n' => Some(0xa),
            'r' => Some(0xd),
            't' => Some(9),
            'v' => Some(0xb),
            'x' => self.hexadecimal(),
            '0'..='7' => self.octal(letter),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Some(u32::from(other)),
            _ => None,
        };
        let invalid = || SyntaxError::Escape(self.taken_since(start).to_owned());
        code.and_then(char::from_u32).ok_or_else(invalid)
    }

    fn next_character(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.advance(character.len_utf8());
        Some(character)
    }

    /// Reads the digits behind `\x`: two, or any number in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next_character()?;
        if first != '{' {
            let second = self.next_character().and_then(|second| second.to_digit(16));
            return Some(first.to_digit(16)? * 16 + second?);
        }
        let mut code = None;
        loop {
            match self.next_character()? {
                '}' => return code,
                digit => {
                    let next = code.unwrap_or(0) * 16 + digit.to_digit(16)?;
                    code = (next <= u32::from(char::MAX)).then_some(next);
                    code?;
                }
            }
        }
    }

    /// Reads up to two more digits. A single digit other than zero would be a reference to a group.
    fn octal(&mut self, first: char) -> Option<u32> {
        let digits = self.rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        if first != '0' && digits == 0 {
            return None;
        }
        let digits = self.advance(digits);
        u32::from_str_radix(&format!("{first}{digits}"), 8).ok()
    }
}
