//! A reader of compact JSON, as stored values and most bodies are: without white space, duplicate fields and deep nesting.
//!
//! It is several times faster than the general decoder, in passing over fields as well as in building values, and as
//! strict. Every method returns `None` for what it does not handle. The general decoder then reads the text, and also
//! words the error if the text is damaged.

use serde_json::{Map, Value};

use super::read_any;
use super::words::quote_or_backslash;

/// Maximum nesting depth of a value that is passed over: its open brackets are the bits of one number.
const MAX_DEPTH: u32 = u64::BITS;

/// Reads a JSON text from its start to its end.
pub struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// Whether numbers with a point or an exponent are floats, even those without a fraction.
    keeps_floats: bool,
    /// Whether there was such a number.
    has_floats: bool,
}

// === impl Scanner ===

impl<'t> Scanner<'t> {
    /// Creates a scanner. `None` if the text is not UTF-8, or has control characters before the newline at its end.
    pub fn new(bytes: &'t [u8]) -> Option<Self> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // Without an exit from the loop, so that the compiler can check many bytes at once.
        let least = bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte));
        if least < b' ' {
            return None;
        }
        Some(Self { text: std::str::from_utf8(bytes).ok()?, at: 0, keeps_floats: false, has_floats: false })
    }

    /// Reads numbers with a point or an exponent as floats, even those without a fraction, if it `keeps_floats`.
    pub(super) fn keeping_floats(self, keeps_floats: bool) -> Self {
        Self { keeps_floats, ..self }
    }

    /// Whether there was a float that is kept.
    pub(super) fn has_floats(&self) -> bool {
        self.has_floats
    }

    /// Whether the text has been read to its end.
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Returns the next byte without reading it.
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Reads the start of an object or list; returns whether it has entries.
    pub fn open(&mut self) -> Option<bool> {
        let close = match self.next()? {
            b'{' => b'}',
            b'[' => b']',
            _ => return None,
        };
        let has_entries = self.peek()? != close;
        if !has_entries {
            self.at += 1;
        }
        Some(has_entries)
    }

    /// Reads a field's name and the colon after it. `None` if the name has an escape.
    pub fn key(&mut self) -> Option<&'t str> {
        let start = self.at + 1;
        let has_escapes = self.skip_string()?;
        let key = self.text.get(start..self.at - 1)?;
        self.expect(b':')?;
        (!has_escapes).then_some(key)
    }

    /// Reads what follows an entry of an object or list, which `close` ends; returns whether there is another entry.
    pub fn has_next(&mut self, close: u8) -> Option<bool> {
        match self.next()? {
            b',' => Some(true),
            byte if byte == close => Some(false),
            _ => None,
        }
    }

    /// Passes over a value; returns its text.
    pub fn value_text(&mut self) -> Option<&'t str> {
        let start = self.at;
        self.skip()?;
        self.text.get(start..self.at)
    }

    /// Decodes a value that nests at most `depth` levels.
    pub fn value(&mut self, depth: usize) -> Option<Value> {
        Some(match self.peek()? {
            b'{' => Value::Object(self.fields(depth.checked_sub(1)?)?),
            b'[' => Value::Array(self.items(depth.checked_sub(1)?)?),
            b'"' => Value::String(self.string()?),
            _ => self.scalar()?,
        })
    }

    fn fields(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        let mut has_next = self.open()?;
        while has_next {
            let name = self.string()?;
            self.expect(b':')?;
            let is_duplicate = fields.insert(name, self.value(depth)?).is_some();
            if is_duplicate {
                return None;
            }
            has_next = self.has_next(b'}')?;
        }
        Some(fields)
    }

    fn items(&mut self, depth: usize) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        let mut has_next = self.open()?;
        while has_next {
            items.push(self.value(depth)?);
            has_next = self.has_next(b']')?;
        }
        Some(items)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let has_escapes = self.skip_string()?;
        if has_escapes {
            return serde_json::from_str(self.text.get(start..self.at)?).ok();
        }
        self.text.get(start + 1..self.at - 1).map(str::to_owned)
    }

    /// Decodes a value that is neither a string nor has entries.
    fn scalar(&mut self) -> Option<Value> {
        /// Numbers with fewer characters, of which all but the sign are digits, fit an `i64`.
        const MAX_CHARACTERS: usize = 19;
        let text = self.value_text()?;
        let is_small = text.len() < MAX_CHARACTERS && text != "-0";
        Some(match text {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            number if is_small && !number.contains(['.', 'e', 'E']) => number.parse::<i64>().ok()?.into(),
            number => {
                self.has_floats |= self.keeps_floats;
                read_any(number, self.keeps_floats)?
            }
        })
    }

    /// Passes over a value.
    pub fn skip(&mut self) -> Option<()> {
        // The brackets that are open, the innermost last: 1 for an object, 0 for a list.
        let mut open: u64 = 0;
        let mut depth = 0;
        loop {
            match self.peek()? {
                byte @ (b'{' | b'[') => {
                    let is_object = byte == b'{';
                    if self.open()? {
                        if depth == MAX_DEPTH {
                            return None;
                        }
                        open = open << 1 | u64::from(is_object);
                        depth += 1;
                        if is_object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                b'"' => {
                    self.skip_string()?;
                }
                b't' => self.skip_literal("true")?,
                b'f' => self.skip_literal("false")?,
                b'n' => self.skip_literal("null")?,
                _ => self.skip_number()?,
            }
            // After a value: the end of what is complete with it, or the next entry.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = open & 1 == 1;
                if self.has_next(if is_object { b'}' } else { b']' })? {
                    if is_object {
                        self.skip_key()?;
                    }
                    break;
                }
                open >>= 1;
                depth -= 1;
            }
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn skip_key(&mut self) -> Option<()> {
        self.skip_string()?;
        self.expect(b':')
    }

    fn skip_literal(&mut self, literal: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        rest.starts_with(literal.as_bytes()).then(|| self.at += literal.len())
    }

    /// Passes over a string; returns whether it has escapes.
    fn skip_string(&mut self) -> Option<bool> {
        self.expect(b'"')?;
        let mut has_escapes = false;
        loop {
            self.at += quote_or_backslash(self.text.as_bytes().get(self.at..)?)?;
            if self.next()? == b'"' {
                return Some(has_escapes);
            }
            has_escapes = true;
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    for _ in 0..4 {
                        self.next().filter(u8::is_ascii_hexdigit)?;
                    }
                }
                _ => return None,
            }
        }
    }

    fn skip_number(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        // No other digit follows a zero: what comes after a number is checked by the caller.
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.skip_digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Some(())
    }

    /// Passes over at least one digit.
    fn skip_digits(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        (digits > 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    /// Whether the scanner takes the whole text as one value.
    fn takes(text: &[u8]) -> bool {
        Scanner::new(text).is_some_and(|mut scanner| scanner.skip().is_some() && scanner.is_at_end())
    }

    #[test]
    fn compact_values_are_passed_over() {
        for text in [
            "{}",
            "[]",
            "null",
            "true",
            "false",
            "0",
            "-1",
            "1.5e-3",
            "1E+2",
            "\"\"",
            "\"ä\\\"\\u00e4\\n\"",
            "{}\n",
            r#"{"a":{"b":[1,{"c":null},[]],"d":{}},"e":"}"}"#,
        ] {
            assert!(takes(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn every_accepted_text_is_json() {
        let seeds = [
            r#"{"a":{"b":[1,{"c":null},[]],"d":{}},"e":"}"}"#,
            r#"[true,false,null,-0.5e+7,"\u00e4\\","x",{"y":[[]]}]"#,
        ];
        let bytes = b"{}[]\",:0-.eE+tfn\\u1a \n\x01\xff";
        for seed in seeds {
            for at in 0..seed.len() {
                for byte in bytes {
                    let mut replaced = seed.as_bytes().to_vec();
                    replaced[at] = *byte;
                    let mut inserted = seed.as_bytes().to_vec();
                    inserted.insert(at, *byte);
                    let removed = [&seed.as_bytes()[..at], &seed.as_bytes()[at + 1..]].concat();
                    for text in [replaced, inserted, removed] {
                        let is_json = serde_json::from_slice::<IgnoredAny>(&text).is_ok();
                        assert!(is_json || !takes(&text), "{}", String::from_utf8_lossy(&text));
                    }
                }
            }
        }
        for text in [
            "", "01", "-", "1.", "1e", ".5", "tru", "nul", "\"", "\"\\x\"", "{\"a\"}", "[1,]", "{,}", "[",
            "{}{}",
        ] {
            assert!(!takes(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn values_are_decoded_as_by_the_general_decoder() {
        for text in [
            "null",
            "-0",
            "-0.0",
            "0",
            "-7",
            "1e2",
            "1.5",
            "999999999999999999",
            "-999999999999999999",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "1e300",
            "\"\"",
            r#""a\"b\\cä\u00e4\ud834\udd1e""#,
            r#"{"b":{"a":[],"":{}},"a":[1,[true,false,null],"x"],"\u0063":"12345678\"12345678"}"#,
        ] {
            let mut scanner = Scanner::new(text.as_bytes()).unwrap();
            let scanned = scanner.value(8).unwrap();
            assert!(scanner.is_at_end());
            assert_eq!(scanned.to_string(), read_any(text, false).unwrap().to_string());
            assert_eq!(scanned, read_any(text, false).unwrap());
        }
        for text in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#, r#""\ud834""#, "[[[]]]", "1e400"] {
            assert_eq!(Scanner::new(text.as_bytes()).unwrap().value(2), None, "{text}");
        }
    }

    #[test]
    fn quotes_and_backslashes_are_found_anywhere() {
        for length in 0..40 {
            let mut text = vec![b'a'; length];
            assert_eq!(quote_or_backslash(&text), None);
            for place in 0..length {
                for (wanted, other) in [(b'"', b'\\'), (b'\\', b'"'), (b'"', b'#'), (b'\\', 0xdc)] {
                    text[place..].fill(other);
                    text[place] = wanted;
                    assert_eq!(quote_or_backslash(&text), Some(place));
                    text[place..].fill(b'a');
                }
            }
        }
    }

    #[test]
    fn fields_are_read_one_after_the_other() {
        let mut scanner = Scanner::new(b"{\"a\":[1,2],\"b\":{\"c\":\"d\"}}\n").unwrap();
        assert_eq!(scanner.open(), Some(true));
        assert_eq!(scanner.key(), Some("a"));
        assert_eq!(scanner.value_text(), Some("[1,2]"));
        assert_eq!(scanner.has_next(b'}'), Some(true));
        assert_eq!(scanner.key(), Some("b"));
        assert_eq!(scanner.value(8), Some(serde_json::json!({"c": "d"})));
        assert_eq!(scanner.has_next(b'}'), Some(false));
        assert!(scanner.is_at_end());
    }

    #[test]
    fn deep_values_and_escaped_names_are_left_to_the_decoder() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(takes(nested(65).as_bytes()));
        assert!(!takes(nested(66).as_bytes()));
        let mut scanner = Scanner::new(br#"{"\u0061":1}"#).unwrap();
        assert_eq!((scanner.open(), scanner.key()), (Some(true), None));
    }
}
