//! Go's syntax of regular expressions, where it differs from that of the `regex` crate.
//!
//! `\d`, `\s`, `\w` and `\b` know ASCII only, operators of sets do not exist in classes, repetitions cannot be stacked, a
//! brace that repeats nothing stands for itself, and there are octal escapes and quoted parts.

use std::fmt::Write;

/// Maximum number of repetitions.
const MAX_REPETITIONS: u32 = 1_000;

struct Translator<'p> {
    rest: &'p str,
    out: String,
    /// The text from the last repetition operator on, if nothing else followed it.
    repetition: Option<&'p str>,
}

/// Writes a pattern in the syntax of the `regex` crate. Errors have Go's reasons.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translator =
        Translator { rest: pattern, out: String::with_capacity(pattern.len()), repetition: None };
    while let Some(character) = translator.rest.chars().next() {
        translator.step(character)?;
    }
    Ok(translator.out)
}

/// The members of a class of one letter, and whether it is negated.
fn letter_class(letter: char) -> Option<(&'static str, bool)> {
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

// === impl Translator ===

impl<'p> Translator<'p> {
    fn advance(&mut self, bytes: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Copies a part as it is.
    fn copy(&mut self, bytes: usize) {
        let taken = self.advance(bytes);
        self.out.push_str(taken);
    }

    fn step(&mut self, character: char) -> Result<(), String> {
        let start = self.rest;
        match character {
            '*' | '+' | '?' => return self.repeat(start, 1),
            '{' => match self.repetition_length()? {
                Some(length) => return self.repeat(start, length),
                None => {
                    self.advance(1);
                    self.out.push_str(r"\{");
                }
            },
            '[' => self.class()?,
            '\\' => self.escape()?,
            // The group and its flags are the same in both.
            '(' if start.starts_with("(?") => self.copy(2),
            other => self.copy(other.len_utf8()),
        }
        self.repetition = None;
        Ok(())
    }

    /// Copies a repetition operator with the mark for few repetitions.
    fn repeat(&mut self, start: &'p str, length: usize) -> Result<(), String> {
        self.copy(length);
        if self.rest.starts_with('?') {
            self.copy(1);
        }
        if let Some(previous) = self.repetition {
            let end = previous.len() - self.rest.len();
            let stacked = previous.get(..end).unwrap_or(previous);
            return Err(format!("invalid nested repetition operator: `{stacked}`"));
        }
        self.repetition = Some(start);
        Ok(())
    }

    /// The length of `{n}`, `{n,}` or `{n,m}` at this place; `None` if the brace is none of them.
    fn repetition_length(&self) -> Result<Option<usize>, String> {
        let Some((inner, _)) = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            return Ok(None);
        };
        let (min, max) = inner.split_once(',').map_or((inner, None), |(min, max)| (min, Some(max)));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(min) || max.is_some_and(|max| !max.is_empty() && !is_number(max)) {
            return Ok(None);
        }
        let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
        let min = number(min);
        let max = max.filter(|max| !max.is_empty()).map_or(min, number);
        if min > MAX_REPETITIONS || max > MAX_REPETITIONS || max < min {
            return Err(format!("invalid repeat count: `{{{inner}}}`"));
        }
        Ok(Some(inner.len() + 2))
    }

    /// Translates an escape outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        let start = self.rest;
        let Some(letter) = start.chars().nth(1) else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        if let Some((members, is_negated)) = letter_class(letter) {
            self.advance(2);
            let not = if is_negated { "^" } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(self.out, "[{not}{members}]");
            return Ok(());
        }
        match letter {
            'b' => {
                self.advance(2);
                self.out.push_str(r"(?-u:\b)");
            }
            'A' | 'B' | 'z' => self.copy(2),
            'p' | 'P' => self.property(),
            'Q' => {
                self.advance(2);
                let (quoted, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
                self.out.push_str(&regex::escape(quoted));
                self.rest = rest;
            }
            _ => {
                let character = self.escaped_character()?;
                self.push_character(character);
            }
        }
        Ok(())
    }

    /// Copies a Unicode property, with its name of one letter or in braces.
    fn property(&mut self) {
        let name = self.rest.get(2..).unwrap_or_default();
        let length = match name.chars().next() {
            Some('{') => name.find('}').map_or(name.len(), |end| end + 1),
            letter => letter.map_or(0, char::len_utf8),
        };
        self.copy(2 + length);
    }

    /// Writes a character so that it stands for itself, also in a class.
    fn push_character(&mut self, character: char) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "\\x{{{:X}}}", u32::from(character));
    }

    /// Reads an escape that stands for a character.
    fn escaped_character(&mut self) -> Result<char, String> {
        let start = self.rest;
        let letter = start.chars().nth(1).unwrap_or_default();
        self.advance(1 + letter.len_utf8());
        let invalid = |end: &str| {
            let length = start.len() - end.len();
            format!("invalid escape sequence: `{}`", start.get(..length).unwrap_or(start))
        };
        let code = match letter {
            'a' => 7,
            'f' => 0xc,
            'n' => 0xa,
            'r' => 0xd,
            't' => 9,
            'v' => 0xb,
            'x' => {
                let braced = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let digits = braced.map_or_else(|| self.rest.get(..2).unwrap_or(""), |(digits, _)| digits);
                let length = if braced.is_some() { digits.len() + 2 } else { digits.len() };
                let code = u32::from_str_radix(digits, 16).map_err(|_| invalid(self.rest))?;
                self.advance(length);
                code
            }
            '0'..='7' => {
                let digits =
                    self.rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                if letter != '0' && digits == 0 {
                    return Err(invalid(self.rest));
                }
                let digits = self.advance(digits);
                u32::from_str_radix(&format!("{letter}{digits}"), 8).unwrap_or(0)
            }
            other if other.is_ascii_punctuation() => u32::from(other),
            _ => return Err(invalid(self.rest)),
        };
        char::from_u32(code).ok_or_else(|| invalid(self.rest))
    }

    /// Translates a class: what it contains is characters, ranges and named classes, and nothing else.
    fn class(&mut self) -> Result<(), String> {
        let start = self.rest;
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut is_first = true;
        loop {
            match self.rest.chars().next() {
                None => return Err(format!("missing closing ]: `{start}`")),
                Some(']') if !is_first => break,
                Some(_) => self.class_item()?,
            }
            is_first = false;
        }
        self.copy(1);
        Ok(())
    }

    fn class_item(&mut self) -> Result<(), String> {
        if self.rest.starts_with("[:")
            && let Some(end) = self.rest.find(":]")
        {
            self.copy(end + 2);
            return Ok(());
        }
        let letter = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
        if let Some((members, is_negated)) = letter.and_then(letter_class) {
            self.advance(2);
            // Writing to a string cannot fail.
            let _ = if is_negated { write!(self.out, "[^{members}]") } else { write!(self.out, "{members}") };
            return Ok(());
        }
        if let Some('p' | 'P') = letter {
            self.property();
            return Ok(());
        }
        let item = self.rest;
        let low = self.class_character()?;
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1;
        self.push_character(low);
        if !is_range {
            return Ok(());
        }
        self.copy(1);
        let high = self.class_character()?;
        if high < low {
            let length = item.len() - self.rest.len();
            return Err(format!("invalid character class range: `{}`", item.get(..length).unwrap_or(item)));
        }
        self.push_character(high);
        Ok(())
    }

    fn class_character(&mut self) -> Result<char, String> {
        match self.rest.chars().next() {
            Some('\\') => self.escaped_character(),
            Some(character) => {
                self.advance(character.len_utf8());
                Ok(character)
            }
            None => Err("missing closing ]: ``".to_owned()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at what is missing")]
mod tests {
    use super::super::compile;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            (r"^\w+$", "aé", false),
            (r"^\w+$", "a_1", true),
            (r"^\d$", "٣", false),
            (r"^[\d\-x]+$", "1-x", true),
            (r"^[^\s]+$", "\u{b}", true),
            (r"^[\W]$", "é", true),
            (r"\bfoo\b", "éfoo", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^a{2}$", "aa", true),
            (r"^{$", "{", true),
            (r"^[a[b]$", "[", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[]a]$", "]", true),
            (r"^[^]a]$", "]", false),
            (r"^[[:alpha:]_]+$", "a_", true),
            (r"^[\pL\p{Nd}]+$", "é1", true),
            (r"^\p{L}\pN+$", "é12", true),
            (r"^\101\x42\x{43}$", "ABC", true),
            (r"^\Qa.b\E.$", "a.bc", true),
            (r"^\<\.$", "<.", true),
            (r"(?i)^K$", "k", true),
            (r"^(?P<name>a)+?$", "aa", true),
            ("^\\s$", "\u{a0}", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        let cases = [
            ("x++", "invalid nested repetition operator: `++`"),
            ("x**", "invalid nested repetition operator: `**`"),
            ("x*?+", "invalid nested repetition operator: `*?+`"),
            ("x{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("x{1001}", "invalid repeat count: `{1001}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("[a", "missing closing ]: `[a`"),
            (r"\8", "invalid escape sequence: `\\8`"),
            (r"\u00e9", "invalid escape sequence: `\\u`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("*a", "missing argument to repetition operator: `*`"),
        ];
        for (pattern, reason) in cases {
            assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {reason}"));
        }
    }
}
