//! Source text to tokens. A text that is not a token is reported as ANTLR reports it, and skipped.

use super::errors::{CompileError, Location};

/// Kinds of tokens. The numbers are those of the grammar: sets of expected tokens print in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TokenKind {
    Eof = 0,
    Equals = 1,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    LogicalAnd,
    LogicalOr,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Exclamation,
    QuestionMark,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float = 31,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// All tokens of a source, with an end token, and what could not be read.
pub(crate) struct Tokens {
    pub(crate) read: Vec<Token>,
    pub(crate) errors: Vec<CompileError>,
    /// Byte ranges that belong to no token.
    pub(crate) unread: Vec<(usize, usize)>,
}

struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
}

/// The content of the source at a place.
enum Step {
    Skip(usize),
    Token(TokenKind, usize),
    /// The end of the text that was read when no token could match any more, without its last character.
    Unreadable(usize),
}

// === impl TokenKind ===

impl TokenKind {
    /// The name of a token in messages.
    pub(crate) fn display(number: u32) -> &'static str {
        const NAMES: [&str; 38] = [
            "<EOF>",
            "'=='",
            "'!='",
            "'in'",
            "'<'",
            "'<='",
            "'>='",
            "'>'",
            "'&&'",
            "'||'",
            "'['",
            "']'",
            "'{'",
            "'}'",
            "'('",
            "')'",
            "'.'",
            "','",
            "'-'",
            "'!'",
            "'?'",
            "':'",
            "'+'",
            "'*'",
            "'/'",
            "'%'",
            "'true'",
            "'false'",
            "'null'",
            "WHITESPACE",
            "COMMENT",
            "NUM_FLOAT",
            "NUM_INT",
            "NUM_UINT",
            "STRING",
            "BYTES",
            "IDENTIFIER",
            "ESC_IDENTIFIER",
        ];
        NAMES.get(number as usize).copied().unwrap_or("<UNKNOWN>")
    }
}

/// Maximum number of texts that are reported to be no tokens.
const MAX_ERRORS: usize = 100;

/// Reads all tokens of a source of less than 4 GiB.
pub(crate) fn tokenize(source: &str) -> Tokens {
    let lexer = Lexer { source, bytes: source.as_bytes() };
    let mut found =
        Tokens { read: Vec::with_capacity(source.len() / 3 + 1), errors: Vec::new(), unread: Vec::new() };
    let mut at = 0;
    while at < source.len() {
        at = match lexer.step(at) {
            Step::Skip(end) => end,
            Step::Token(kind, end) => {
                found.read.push(Token { kind, start: at as u32, end: end as u32 });
                end
            }
            Step::Unreadable(stop) => {
                let end = lexer.after_character(stop);
                let text = source.get(at..end).unwrap_or_default();
                found.errors.push(CompileError {
                    location: Location::from_offset(source, at),
                    message: format!("Syntax error: token recognition error at: '{text}'"),
                });
                found.unread.push((at, end));
                if found.errors.len() >= MAX_ERRORS {
                    let message = format!("Syntax error: More than {MAX_ERRORS} syntax errors");
                    found.errors.push(CompileError { location: Location::from_offset(source, at), message });
                    break;
                }
                end
            }
        };
    }
    let end = source.len() as u32;
    found.read.push(Token { kind: TokenKind::Eof, start: end, end });
    found
}

fn operator(at: usize, first: u8, second: u8) -> Step {
    let long = match (first, second) {
        (b'=', b'=') => Some(TokenKind::Equals),
        (b'!', b'=') => Some(TokenKind::NotEquals),
        (b'<', b'=') => Some(TokenKind::LessEquals),
        (b'>', b'=') => Some(TokenKind::GreaterEquals),
        (b'&', b'&') => Some(TokenKind::LogicalAnd),
        (b'|', b'|') => Some(TokenKind::LogicalOr),
        _ => None,
    };
    if let Some(kind) = long {
        return Step::Token(kind, at + 2);
    }
    let short = match first {
        b'<' => TokenKind::Less,
        b'>' => TokenKind::Greater,
        b'[' => TokenKind::LeftBracket,
        b']' => TokenKind::RightBracket,
        b'{' => TokenKind::LeftBrace,
        b'}' => TokenKind::RightBrace,
        b'(' => TokenKind::LeftParen,
        b')' => TokenKind::RightParen,
        b'.' => TokenKind::Dot,
        b',' => TokenKind::Comma,
        b'-' => TokenKind::Minus,
        b'!' => TokenKind::Exclamation,
        b'?' => TokenKind::QuestionMark,
        b':' => TokenKind::Colon,
        b'+' => TokenKind::Plus,
        b'*' => TokenKind::Star,
        b'/' => TokenKind::Slash,
        b'%' => TokenKind::Percent,
        b'=' | b'&' | b'|' => return Step::Unreadable(at + 1),
        _ => return Step::Unreadable(at),
    };
    Step::Token(short, at + 1)
}

// === impl Lexer ===

impl Lexer<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn after_character(&self, at: usize) -> usize {
        let rest = self.source.get(at..).unwrap_or_default();
        at + rest.chars().next().map_or(0, char::len_utf8)
    }

    fn skip_while(&self, mut at: usize, accept: impl Fn(u8) -> bool) -> usize {
        while self.bytes.get(at).is_some_and(|byte| accept(*byte)) {
            at += 1;
        }
        at
    }

    fn step(&self, at: usize) -> Step {
        let first = self.byte(at);
        let second = self.byte(at + 1);
        match first {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c => {
                Step::Skip(self.skip_while(at, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0c)))
            }
            b'/' if second == b'/' => Step::Skip(self.skip_while(at, |byte| byte != b'\n')),
            b'"' | b'\'' => self.string(at, at, TokenKind::String),
            b'r' | b'R' if matches!(second, b'"' | b'\'') => self.string(at, at, TokenKind::String),
            b'b' | b'B' if matches!(second, b'"' | b'\'') => self.string(at, at + 1, TokenKind::Bytes),
            b'b' | b'B' if matches!(second, b'r' | b'R') && matches!(self.byte(at + 2), b'"' | b'\'') => {
                self.string(at, at + 1, TokenKind::Bytes)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(at),
            b'0'..=b'9' => self.number(at),
            b'.' if second.is_ascii_digit() => Step::Token(TokenKind::Float, self.fraction(at)),
            b'`' => self.escaped_identifier(at),
            _ => operator(at, first, second),
        }
    }

    fn word(&self, at: usize) -> Step {
        let end = self.skip_while(at, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let kind = match self.bytes.get(at..end) {
            Some(b"in") => TokenKind::In,
            Some(b"true") => TokenKind::True,
            Some(b"false") => TokenKind::False,
            Some(b"null") => TokenKind::Null,
            _ => TokenKind::Identifier,
        };
        Step::Token(kind, end)
    }

    fn escaped_identifier(&self, at: usize) -> Step {
        let end = self.skip_while(at + 1, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b' ')
        });
        if end > at + 1 && self.byte(end) == b'`' {
            return Step::Token(TokenKind::EscapedIdentifier, end + 1);
        }
        Step::Unreadable(end)
    }

    fn number(&self, at: usize) -> Step {
        if self.byte(at) == b'0' && self.byte(at + 1) == b'x' {
            let end = self.skip_while(at + 2, |byte| byte.is_ascii_hexdigit());
            if end > at + 2 {
                return self.integer(end);
            }
        }
        let end = self.skip_while(at, |byte| byte.is_ascii_digit());
        let fraction = match self.byte(end) {
            b'.' if self.byte(end + 1).is_ascii_digit() => self.fraction(end),
            _ => self.exponent(end),
        };
        if fraction > end { Step::Token(TokenKind::Float, fraction) } else { self.integer(end) }
    }

    fn integer(&self, end: usize) -> Step {
        if matches!(self.byte(end), b'u' | b'U') {
            return Step::Token(TokenKind::Uint, end + 1);
        }
        Step::Token(TokenKind::Int, end)
    }

    /// The end of `.digits`, with an exponent if there is one.
    fn fraction(&self, dot: usize) -> usize {
        self.exponent(self.skip_while(dot + 1, |byte| byte.is_ascii_digit()))
    }

    fn exponent(&self, at: usize) -> usize {
        if !matches!(self.byte(at), b'e' | b'E') {
            return at;
        }
        let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
        let digits = at + 1 + sign;
        let end = self.skip_while(digits, |byte| byte.is_ascii_digit());
        if end > digits { end } else { at }
    }

    /// Reads a string whose quotes or raw prefix start at `open`. `start` is the start of the token.
    fn string(&self, start: usize, open: usize, kind: TokenKind) -> Step {
        let raw = usize::from(matches!(self.byte(open), b'r' | b'R'));
        let quotes = open + raw;
        let quote = self.byte(quotes);
        if self.byte(quotes + 1) == quote && self.byte(quotes + 2) == quote {
            if let Ok(end) = self.long_string(quotes + 3, quote, raw == 1) {
                return Step::Token(kind, end);
            }
            // As no closing quotes follow, the first two are an empty string.
            return Step::Token(kind, quotes + 2);
        }
        match self.short_string(quotes + 1, quote, raw == 1) {
            Ok(end) => Step::Token(kind, end),
            // A prefix without its string is a name.
            Err(_) if quotes > start => Step::Token(TokenKind::Identifier, quotes),
            Err(stop) => Step::Unreadable(stop),
        }
    }

    fn short_string(&self, mut at: usize, quote: u8, raw: bool) -> Result<usize, usize> {
        loop {
            match self.bytes.get(at) {
                None | Some(b'\n' | b'\r') => return Err(at),
                Some(byte) if *byte == quote => return Ok(at + 1),
                Some(b'\\') if !raw => at = self.escape(at)?,
                Some(_) => at += 1,
            }
        }
    }

    fn long_string(&self, mut at: usize, quote: u8, raw: bool) -> Result<usize, usize> {
        loop {
            match self.bytes.get(at) {
                None => return Err(at),
                Some(byte) if *byte == quote && self.byte(at + 1) == quote && self.byte(at + 2) == quote => {
                    return Ok(at + 3);
                }
                Some(b'\\') if !raw => at = self.escape(at)?,
                Some(_) => at += 1,
            }
        }
    }

    /// The end of an escape sequence, or where it goes wrong.
    fn escape(&self, at: usize) -> Result<usize, usize> {
        let digits = |count: usize, accept: fn(&u8) -> bool| {
            (at + 2..at + 2 + count)
                .find(|index| !self.bytes.get(*index).is_some_and(accept))
                .map_or(Ok(at + 2 + count), Err)
        };
        match self.byte(at + 1) {
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Ok(at + 2),
            b'x' | b'X' => digits(2, u8::is_ascii_hexdigit),
            b'u' => digits(4, u8::is_ascii_hexdigit),
            b'U' => digits(8, u8::is_ascii_hexdigit),
            b'0'..=b'3' => digits(2, |byte| matches!(byte, b'0'..=b'7')),
            _ => Err(at + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind> {
        tokenize(source).read.iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_take_the_longest_form() {
        use TokenKind::{Dot, Eof, Float, Identifier, Int, Uint};
        assert_eq!(
            kinds("1 1u 0x1F 0x1fu 1.5 .5 1e3 1.5e-3"),
            [Int, Uint, Int, Uint, Float, Float, Float, Float, Eof]
        );
        assert_eq!(kinds("1.a 0x 1e"), [Int, Dot, Identifier, Int, Identifier, Int, Identifier, Eof]);
    }

    #[test]
    fn an_unreadable_text_is_reported_with_the_character_that_ended_it() {
        let messages =
            |source| tokenize(source).errors.into_iter().map(|error| error.message).collect::<Vec<_>>();
        assert_eq!(messages("a | b"), ["Syntax error: token recognition error at: '| '"]);
        assert_eq!(messages("'abc"), ["Syntax error: token recognition error at: ''abc'"]);
        assert_eq!(
            messages(r#""\xFh""#).first().map(String::as_str),
            Some("Syntax error: token recognition error at: '\"\\xFh'")
        );
    }

    #[test]
    fn strings_of_every_form_are_one_token() {
        for source in [r#""a\"b""#, "'a'", "'''a'b\nc'''", r#"r"a\b""#, "b'x'", "br'\\d'", r#""""x""""#] {
            assert_eq!(tokenize(source).read.len(), 2, "{source}");
        }
    }
}
