//! The treatment of a token that does not fit: the messages and the recovery of ANTLR's default error strategy.
//!
//! The parser keeps the sets of tokens that may follow each rule under way. With them it decides, as ANTLR does, whether
//! to drop one token, to pretend that one was there, or to skip to a token some rule under way can go on with.

use super::errors::{CompileError, Location};
use super::lexer::{Token, TokenKind, Tokens};

/// A set of token kinds, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenSet(u64);

/// The reason for which parsing ends early. The message is reported already, or in the error list of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A rule does not match: it is recovered from at the end of the rule.
    Unrecognized(Mismatch),
    /// A limit is exceeded: nothing more is parsed. The message has no position, or is reported already if empty.
    Limit(String),
}

/// The reason for which a rule does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The token is none of those expected.
    Input(TokenSet),
    /// No alternative of a rule starts with the tokens from this one.
    NoViableAlternative(usize),
}

/// Reads tokens, and recovers from those that do not fit.
pub(crate) struct TokenReader<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    unread: Vec<(usize, usize)>,
    at: usize,
    follow: Vec<TokenSet>,
    recovering: bool,
    last_error: Option<usize>,
    last_error_states: Vec<u32>,
    attempts: usize,
    pub(crate) errors: Vec<CompileError>,
}

/// Maximum number of recoveries in one expression.
const MAX_RECOVERIES: usize = 30;
/// Maximum number of tokens that are skipped in one recovery.
const MAX_SKIPPED_TOKENS: usize = 256;
/// Maximum number of syntax errors that are reported.
const MAX_SYNTAX_ERRORS: usize = 100;

// === impl TokenSet ===

impl TokenSet {
    const END_BIT: u64 = 1 << 63;
    /// The rule may end here.
    pub(crate) const END: Self = Self(Self::END_BIT);

    pub(crate) const fn from_kinds(kinds: &[TokenKind]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            #[allow(
                clippy::indexing_slicing,
                reason = "a constant function has no iterators; the index is below the length"
            )]
            let kind = kinds[index];
            bits |= 1 << kind as u8;
            index += 1;
        }
        Self(bits)
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn contains(self, kind: TokenKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    fn may_end(self) -> bool {
        self.0 & Self::END_BIT != 0
    }

    fn display(self) -> String {
        let names: Vec<_> = (0..40).filter(|bit| self.0 & (1 << bit) != 0).map(TokenKind::display).collect();
        match names.as_slice() {
            [name] => (*name).to_owned(),
            several => format!("{{{}}}", several.join(", ")),
        }
    }
}

// === impl TokenReader: reading ===

impl<'s> TokenReader<'s> {
    pub(crate) fn new(source: &'s str, read: Tokens) -> Self {
        Self {
            source,
            tokens: read.read,
            unread: read.unread,
            at: 0,
            follow: vec![TokenSet::from_kinds(&[TokenKind::Eof])],
            recovering: false,
            last_error: None,
            last_error_states: Vec::new(),
            attempts: 0,
            errors: read.errors,
        }
    }

    /// The token a number of places ahead; the end token when there are none.
    pub(crate) fn peek(&self, ahead: usize) -> Token {
        let end = self.source.len() as u32;
        let fallback = Token { kind: TokenKind::Eof, start: end, end };
        self.tokens.get(self.at + ahead).copied().unwrap_or(fallback)
    }

    pub(crate) fn kind(&self) -> TokenKind {
        self.peek(0).kind
    }

    pub(crate) fn text(&self, token: Token) -> &'s str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    fn consume(&mut self) {
        if self.kind() != TokenKind::Eof {
            self.at += 1;
        }
    }

    /// Enters a rule, after which the calling rule expects one of these tokens.
    pub(crate) fn enter(&mut self, follow: TokenSet) {
        self.follow.push(follow);
    }

    pub(crate) fn exit(&mut self) {
        self.follow.pop();
    }

    /// Takes a token of one kind. `next` is what may come after it.
    pub(crate) fn expect(&mut self, kind: TokenKind, next: TokenSet) -> Result<Token, Fault> {
        let token = self.peek(0);
        if token.kind == kind {
            self.end_error_condition();
            self.consume();
            return Ok(token);
        }
        self.check_attempts()?;
        let expected = TokenSet::from_kinds(&[kind]);
        if self.delete_single_token(expected)? {
            let token = self.peek(0);
            self.consume();
            return Ok(token);
        }
        if self.reachable(next).contains(token.kind) {
            if !self.recovering {
                self.recovering = true;
                let message = format!("missing {} at {}", expected.display(), self.display_token(token));
                self.report(token, &message)?;
            }
            return Ok(Token { kind, start: token.start, end: token.start });
        }
        Err(Fault::Unrecognized(Mismatch::Input(expected)))
    }

    /// Fails if the next token is none of those an alternative starts with, after trying to drop one token.
    pub(crate) fn sync(&mut self, expected: TokenSet) -> Result<(), Fault> {
        if self.recovering || expected.may_end() || expected.contains(self.kind()) {
            return Ok(());
        }
        if self.delete_single_token(expected)? {
            return Ok(());
        }
        Err(Fault::Unrecognized(Mismatch::Input(expected)))
    }

    /// The same at the end of a repetition that must go on: reports the token and skips.
    pub(crate) fn sync_repetition(&mut self, expected: TokenSet) -> Result<(), Fault> {
        if self.recovering || expected.contains(self.kind()) {
            return Ok(());
        }
        self.report_unwanted(expected)?;
        let mut stop = expected;
        for follow in &self.follow {
            stop = stop.with(*follow);
        }
        self.skip_until(stop, usize::MAX)
    }

    /// Fails because no alternative starts with the tokens from `start` places ahead up to the last one looked at.
    pub(crate) fn no_viable_alternative(looked_ahead: usize) -> Fault {
        Fault::Unrecognized(Mismatch::NoViableAlternative(looked_ahead))
    }

    /// All that may come, going up through the rules under way as long as they may end.
    fn reachable(&self, set: TokenSet) -> TokenSet {
        let mut all = set;
        for follow in self.follow.iter().rev() {
            if !all.may_end() {
                break;
            }
            all = all.without(TokenSet::END).with(*follow);
        }
        all
    }
}

// === impl TokenReader: recovery ===

impl TokenReader<'_> {
    fn end_error_condition(&mut self) {
        if self.recovering || self.last_error.is_some() {
            self.recovering = false;
            self.last_error = None;
            self.last_error_states.clear();
        }
    }

    fn delete_single_token(&mut self, expected: TokenSet) -> Result<bool, Fault> {
        if !self.reachable(expected).contains(self.peek(1).kind) || self.kind() == TokenKind::Eof {
            return Ok(false);
        }
        self.report_unwanted(expected)?;
        self.consume();
        self.end_error_condition();
        Ok(true)
    }

    fn report_unwanted(&mut self, expected: TokenSet) -> Result<(), Fault> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let token = self.peek(0);
        let expected = self.reachable(expected).without(TokenSet::END).display();
        let message = format!("extraneous input {} expecting {expected}", self.display_token(token));
        self.report(token, &message)
    }

    /// Reports why a rule does not match, and skips to a token that a rule under way can go on with.
    pub(crate) fn recover(&mut self, mismatch: &Mismatch, state: u32) -> Result<(), Fault> {
        if !self.recovering {
            self.recovering = true;
            let (token, message) = self.describe(mismatch);
            self.report(token, &message)?;
        }
        self.check_attempts()?;
        if self.last_error == Some(self.at) && self.last_error_states.contains(&state) {
            self.consume();
        }
        self.last_error = Some(self.at);
        self.last_error_states.push(state);
        let stop = self.follow.iter().fold(TokenSet(0), |all, follow| all.with(*follow));
        self.skip_until(stop, MAX_SKIPPED_TOKENS)
    }

    fn skip_until(&mut self, stop: TokenSet, limit: usize) -> Result<(), Fault> {
        let mut skipped = 0;
        while self.kind() != TokenKind::Eof && !stop.contains(self.kind()) {
            if skipped >= limit {
                return Err(Fault::Limit(format!("error recovery token lookahead limit exceeded: {limit}")));
            }
            self.consume();
            skipped += 1;
        }
        Ok(())
    }

    fn check_attempts(&mut self) -> Result<(), Fault> {
        self.attempts += 1;
        if self.attempts <= MAX_RECOVERIES {
            return Ok(());
        }
        let token = self.peek(0);
        self.report(token, &format!("error recovery attempt limit exceeded: {MAX_RECOVERIES}"))?;
        Err(Fault::Limit(String::new()))
    }

    fn describe(&self, mismatch: &Mismatch) -> (Token, String) {
        match mismatch {
            Mismatch::Input(expected) => {
                let token = self.peek(0);
                let expected = self.reachable(*expected).without(TokenSet::END).display();
                (token, format!("mismatched input {} expecting {expected}", self.display_token(token)))
            }
            Mismatch::NoViableAlternative(looked_ahead) => {
                let last = self.peek(*looked_ahead);
                (last, self.describe_no_viable(self.peek(0), last))
            }
        }
    }

    fn describe_no_viable(&self, first: Token, last: Token) -> String {
        if first.kind == TokenKind::Eof {
            return "no viable alternative at input '<EOF>'".to_owned();
        }
        let mut text = String::new();
        let mut from = first.start as usize;
        // The text ends where the last token ends; the end token has no text, and what was not read belongs to none.
        let end = if last.kind == TokenKind::Eof { self.last_text_end() } else { last.end as usize };
        for (start, stop) in &self.unread {
            if *start >= from && *start < end {
                text.push_str(self.source.get(from..*start).unwrap_or_default());
                from = *stop;
            }
        }
        text.push_str(self.source.get(from..end).unwrap_or_default());
        let mut characters = text.chars();
        let keyword = characters.next().map(|_| characters.as_str()).unwrap_or_default();
        if matches!(keyword, "true" | "false" | "null") {
            return format!("mismatched input '{keyword}' expecting IDENTIFIER");
        }
        format!("no viable alternative at input '{}'", escape_white_space(&text))
    }

    fn last_text_end(&self) -> usize {
        self.source.len()
    }

    fn display_token(&self, token: Token) -> String {
        match token.kind {
            TokenKind::Eof => "'<EOF>'".to_owned(),
            _ => format!("'{}'", escape_white_space(self.text(token))),
        }
    }

    fn report(&mut self, token: Token, message: &str) -> Result<(), Fault> {
        let location = Location::from_offset(self.source, token.start as usize);
        if self.errors.len() > MAX_SYNTAX_ERRORS {
            return Err(Fault::Limit(String::new()));
        }
        if self.errors.len() == MAX_SYNTAX_ERRORS {
            let message = format!("Syntax error: More than {MAX_SYNTAX_ERRORS} syntax errors");
            self.errors.push(CompileError { location, message });
            return Err(Fault::Limit(String::new()));
        }
        self.errors.push(CompileError { location, message: format!("Syntax error: {message}") });
        Ok(())
    }
}

fn escape_white_space(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}
