//! Go's syntax of regular expressions, where it differs from the syntax of the `regex` crate.
//!
//! `\d`, `\s`, `\w`, `\b` and `\B` know ASCII only, operators of sets do not exist in classes, repetitions cannot be
//! stacked, a brace that repeats nothing stands for itself, and there are octal escapes and quoted parts. All that Go
//! refuses is refused here, in the order in which Go meets it.

use std::fmt::Write;

mod class;
mod escape;
mod operand;
mod properties;

use class::Classes;
use operand::{MAX_HEIGHT, MAX_SIZE, Open, Operand, Times};

/// Maximum number of repetitions. The numbers of nested repetitions are multiplied.
const MAX_REPETITIONS: u32 = 1_000;

/// A pattern in the syntax of the `regex` crate.
pub(super) struct Translated {
    pub(super) text: String,
    /// The size that Go's program for the pattern has at most, in instructions.
    pub(super) size: u64,
    pub(super) classes: Classes,
    /// Whether a part of it ignores case.
    pub(super) ignores_case: bool,
}

/// Error of an expression that Go refuses, with the part that is wrong and Go's text. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A group is not closed.
    #[error("error parsing regexp: missing closing ): `{0}`")]
    UnclosedGroup(String),
    /// A group is closed that was not opened.
    #[error("error parsing regexp: unexpected ): `{0}`")]
    UnopenedGroup(String),
    /// The name of a group is malformed.
    #[error("error parsing regexp: invalid named capture: `{0}`")]
    GroupName(String),
    /// No flags follow `(?`.
    #[error("error parsing regexp: invalid or unsupported Perl syntax: `{0}`")]
    Flags(String),
    /// A class of characters is not closed.
    #[error("error parsing regexp: missing closing ]: `{0}`")]
    UnclosedClass(String),
    /// A range of characters or the name of a class is invalid.
    #[error("error parsing regexp: invalid character class range: `{0}`")]
    ClassRange(String),
    /// An escape is invalid.
    #[error("error parsing regexp: invalid escape sequence: `{0}`")]
    Escape(String),
    /// The expression ends within an escape.
    #[error("error parsing regexp: trailing backslash at end of expression: ``")]
    TrailingBackslash,
    /// A repetition is repeated.
    #[error("error parsing regexp: invalid nested repetition operator: `{0}`")]
    StackedRepetition(String),
    /// Nothing precedes an operator of repetition.
    #[error("error parsing regexp: missing argument to repetition operator: `{0}`")]
    NothingToRepeat(String),
    /// Something is repeated too often.
    #[error("error parsing regexp: invalid repeat count: `{0}`")]
    RepeatCount(String),
    /// The expression is too large.
    #[error("error parsing regexp: expression too large: `{0}`")]
    TooLarge(String),
    /// The expression nests too deeply.
    #[error("error parsing regexp: expression nests too deeply: `{0}`")]
    TooDeep(String),
}

struct Translator<'p> {
    whole: &'p str,
    rest: &'p str,
    out: String,
    classes: Classes,
    ignores_case: bool,
    /// Whether no named class can follow, because none ends.
    has_no_named_class: bool,
    /// The parts that contain this place, the outermost first.
    outer: Vec<Open>,
    current: Open,
    /// The groups of flags behind the last operand: an operator that follows repeats the operand.
    flags: String,
    /// The text from the last repetition operator on, if nothing else followed it.
    repetition: Option<&'p str>,
    /// Whether what was written last is a repetition operator.
    ends_with_repetition: bool,
}

/// Writes a pattern in the syntax of the `regex` crate, in linear time.
pub(super) fn translate(pattern: &str) -> Result<Translated, SyntaxError> {
    let mut translator = Translator {
        whole: pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len()),
        classes: Classes::default(),
        ignores_case: false,
        has_no_named_class: false,
        outer: Vec::new(),
        current: Open::default(),
        flags: String::new(),
        repetition: None,
        ends_with_repetition: false,
    };
    while let Some(character) = translator.rest.chars().next() {
        translator.step(character)?;
    }
    translator.write_flags();
    if !translator.outer.is_empty() {
        return Err(SyntaxError::UnclosedGroup(pattern.to_owned()));
    }
    let whole = translator.current.as_operand();
    translator.check_limits(whole)?;
    Ok(Translated {
        text: translator.out,
        size: whole.size,
        classes: translator.classes,
        ignores_case: translator.ignores_case,
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

    /// Returns the text from an earlier place up to this one.
    fn taken_since(&self, start: &'p str) -> &'p str {
        start.get(..start.len() - self.rest.len()).unwrap_or(start)
    }

    fn write_flags(&mut self) {
        self.out.push_str(&self.flags);
        self.flags.clear();
    }

    fn step(&mut self, character: char) -> Result<(), SyntaxError> {
        match character {
            '*' | '+' | '?' => return self.repeat(1, None),
            '{' => {
                if let Some((length, times)) = self.counted_repetition()? {
                    return self.repeat(length, Some(times));
                }
            }
            _ => {}
        }
        self.repetition = None;
        if self.rest.starts_with("(?") {
            return self.group_with_flags();
        }
        self.write_flags();
        self.ends_with_repetition = false;
        match character {
            // What groups match is asked for nowhere.
            '(' => self.open_group("(?:", 1, true),
            ')' => return self.close_group(),
            '|' => {
                self.copy(1);
                self.current.begin_alternative();
            }
            '[' => {
                self.class()?;
                self.current.add_operand(Operand::CHARACTER);
            }
            '\\' => self.escape()?,
            '{' => {
                self.replace(1, r"\{");
                self.current.add_operand(Operand::CHARACTER);
            }
            other => {
                self.copy(other.len_utf8());
                self.current.add_operand(Operand::CHARACTER);
            }
        }
        Ok(())
    }

    /// Writes something else for a part.
    fn replace(&mut self, bytes: usize, written: &str) {
        self.advance(bytes);
        self.out.push_str(written);
    }

    fn open_group(&mut self, written: &str, length: usize, captures: bool) {
        self.replace(length, written);
        self.outer.push(std::mem::replace(&mut self.current, Open::group(captures)));
    }

    /// Checks the limits of Go.
    fn check_limits(&self, operand: Operand) -> Result<(), SyntaxError> {
        if operand.size > MAX_SIZE {
            return Err(SyntaxError::TooLarge(self.whole.to_owned()));
        }
        if operand.height > MAX_HEIGHT {
            return Err(SyntaxError::TooDeep(self.whole.to_owned()));
        }
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), SyntaxError> {
        let Some(outer) = self.outer.pop() else {
            return Err(SyntaxError::UnopenedGroup(self.whole.to_owned()));
        };
        self.copy(1);
        let group = std::mem::replace(&mut self.current, outer).as_operand();
        self.check_limits(group)?;
        self.current.add_operand(group);
        Ok(())
    }

    /// Translates a group with a name or flags, or flags for the rest of the group. Names are left out: Go allows the same
    /// name twice.
    fn group_with_flags(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        let name_at = match start {
            _ if start.starts_with("(?P<") && start.len() > 4 => Some(4),
            _ if start.starts_with("(?<") && start.len() > 3 => Some(3),
            _ => None,
        };
        let Some(name_at) = name_at else { return self.flags() };
        let Some(end) = start.find('>') else {
            return Err(SyntaxError::GroupName(start.to_owned()));
        };
        let name = start.get(name_at..end).unwrap_or_default();
        let is_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(SyntaxError::GroupName(start.get(..=end).unwrap_or(start).to_owned()));
        }
        self.write_flags();
        self.ends_with_repetition = false;
        self.open_group("(?:", end + 1, true);
        Ok(())
    }

    /// Translates `(?flags)` and `(?flags:`.
    fn flags(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        self.advance(2);
        let mut on = String::new();
        let mut off: Option<String> = None;
        while let Some(letter) = self.rest.chars().next() {
            self.advance(letter.len_utf8());
            match letter {
                'i' | 'm' | 's' | 'U' => {
                    on.retain(|other| other != letter);
                    let flags = off.as_mut().unwrap_or(&mut on);
                    if !flags.contains(letter) {
                        flags.push(letter);
                    }
                    self.ignores_case |= letter == 'i';
                }
                '-' if off.is_none() => off = Some(String::new()),
                ':' | ')' if !off.as_ref().is_some_and(String::is_empty) => {
                    let off = off.map(|off| format!("-{off}")).unwrap_or_default();
                    self.write_group_of_flags(&format!("{on}{off}"), letter);
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(SyntaxError::Flags(self.taken_since(start).to_owned()))
    }

    fn write_group_of_flags(&mut self, flags: &str, end: char) {
        if end == ':' {
            self.write_flags();
            self.ends_with_repetition = false;
            self.open_group(&format!("(?{flags}:"), 0, false);
        } else if !flags.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(self.flags, "(?{flags})");
        }
    }

    /// Writes a repetition operator with the mark for few repetitions.
    fn repeat(&mut self, length: usize, times: Option<Times>) -> Result<(), SyntaxError> {
        let start = self.rest;
        let operator = self.advance(length);
        let mark = if self.rest.starts_with('?') { self.advance(1) } else { "" };
        if let Some(previous) = self.repetition {
            return Err(SyntaxError::StackedRepetition(self.taken_since(previous).to_owned()));
        }
        if !self.current.has_operand {
            return Err(SyntaxError::NothingToRepeat(self.taken_since(start).to_owned()));
        }
        let repeated = self.current.last.repeated(times);
        if times.is_some_and(|times| times.most > 1) && repeated.repetitions > MAX_REPETITIONS {
            return Err(SyntaxError::RepeatCount(self.taken_since(start).to_owned()));
        }
        self.check_limits(repeated)?;
        self.current.replace_operand(repeated);
        // A question mark behind another operator would be its mark for few repetitions.
        let is_after_repetition = self.ends_with_repetition && operator == "?";
        self.out.push_str(if is_after_repetition { "{0,1}" } else { operator });
        self.out.push_str(mark);
        self.repetition = Some(start);
        self.ends_with_repetition = true;
        Ok(())
    }

    /// The length of `{n}`, `{n,}` or `{n,m}` at this place, and how often it repeats; `None` if the brace is none of them.
    fn counted_repetition(&self) -> Result<Option<(usize, Times)>, SyntaxError> {
        let Some(rest) = self.rest.strip_prefix('{') else { return Ok(None) };
        // Only what can be a repetition is searched: a pattern may have a brace at each character.
        let end = rest.find(|letter: char| letter != ',' && !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (inner, rest) = rest.split_at(end);
        if !rest.starts_with('}') {
            return Ok(None);
        }
        let (min, max) = inner.split_once(',').map_or((inner, Some(inner)), |(min, max)| (min, Some(max)));
        let max = max.filter(|max| !max.is_empty());
        let is_number = |text: &str| {
            let has_leading_zero = text.len() > 1 && text.starts_with('0');
            !text.is_empty() && !has_leading_zero && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(min) || max.is_some_and(|max| !is_number(max)) {
            return Ok(None);
        }
        let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
        let (min, max) = (number(min), max.map(number));
        if min > MAX_REPETITIONS || max.is_some_and(|max| max > MAX_REPETITIONS || max < min) {
            return Err(SyntaxError::RepeatCount(format!("{{{inner}}}")));
        }
        let times = Times { least: min, most: max.unwrap_or(min.max(1)), is_open: max.is_none() };
        Ok(Some((inner.len() + 2, times)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at what is missing")]
mod tests {
    use super::super::Pattern;
    use registry_meta::budget::Budget;

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
            (r"\Bé", "é", true),
            (r"^\p{^Greek}$", "a", true),
            (r"^(?P<n>a)(?P<n>b)$", "ab", true),
            (r"^a(?i)+B$", "aab", true),
            (r"^a+(?i)?$", "", true),
            (r"^(?)a$", "a", true),
        ];
        for (pattern, text, expected) in cases {
            let parsed = Pattern::parse(pattern).unwrap();
            assert_eq!(parsed.is_match(text, &Budget::default()), Ok(expected), "{pattern} {text}");
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
            (r"\xZb", r"invalid escape sequence: `\xZb`"),
            (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
            (r"[\b]", r"invalid escape sequence: `\b`"),
            (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
            (r"\p{Foo}(", r"invalid character class range: `\p{Foo}`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            ("((a{10}){10}b){11}", "invalid repeat count: `{11}`"),
            ("a)b", "unexpected ): `a)b`"),
            ("(a", "missing closing ): `(a`"),
            ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
            ("(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"),
            ("(?i)*", "missing argument to repetition operator: `*`"),
            ("a|*?", "missing argument to repetition operator: `*?`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("*a", "missing argument to repetition operator: `*`"),
        ];
        for (pattern, reason) in cases {
            assert_eq!(
                Pattern::parse(pattern).unwrap_err().to_string(),
                format!("error parsing regexp: {reason}")
            );
        }
    }
}
