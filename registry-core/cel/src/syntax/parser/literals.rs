//! Primary expressions: names, calls, parentheses and literals.

use super::{
    AFTER_MEMBER, EXPR, Expr, ExprId, Fault, KEYWORDS, LITERAL, Literal, MEMBER, Name, Parse, Parser, T,
    TokenSet,
};
use crate::syntax::lexer::Token;
use crate::syntax::recovery::TokenReader;
use crate::syntax::unescape::unescape;

// === impl Parser: primary expressions ===

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parse {
        self.reader.sync(MEMBER)?;
        match self.reader.kind() {
            T::Dot if self.reader.peek(1).kind == T::Identifier => self.name(1),
            T::Dot => Err(TokenReader::no_viable_alternative(1)),
            T::Identifier => self.name(0),
            T::LeftParen => self.nested(),
            T::LeftBracket => self.list(),
            T::LeftBrace => self.map(),
            _ => self.rule(TokenSet::END, 20, Self::literal),
        }
    }

    fn nested(&mut self) -> Parse {
        self.reader.expect(T::LeftParen, EXPR)?;
        let inner = self.expr(TokenSet::from_kinds(&[T::RightParen]))?;
        self.reader.expect(T::RightParen, AFTER_MEMBER)?;
        Ok(inner)
    }

    /// A variable, a call or an object, whose name starts `ahead` tokens from here.
    fn name(&mut self, ahead: usize) -> Parse {
        if self.starts_message(ahead + 1) {
            return self.message();
        }
        let start = self.reader.peek(0).start;
        let mut name = String::new();
        if ahead == 1 {
            self.reader.expect(T::Dot, TokenSet::from_kinds(&[T::Identifier]))?;
            name.push('.');
        }
        let token = self.reader.expect(T::Identifier, AFTER_MEMBER)?;
        let text = self.reader.text(token);
        let is_call = self.reader.kind() == T::LeftParen;
        let call = if is_call { Some(self.arguments(AFTER_MEMBER)?) } else { None };
        if KEYWORDS.contains(&text) {
            self.error_at(start, format!("reserved identifier: {text}"));
            return Ok(self.add(start, Expr::Error));
        }
        name.push_str(text);
        match call {
            None => Ok(self.add(token.start, Expr::Ident(Name::from(name)))),
            Some((open, args)) => Ok(self.call_or_macro(open, Name::from(name), None, args)),
        }
    }

    /// Whether names joined by dots and an opening brace follow.
    fn starts_message(&self, mut ahead: usize) -> bool {
        while self.reader.peek(ahead).kind == T::Dot && self.reader.peek(ahead + 1).kind == T::Identifier {
            ahead += 2;
        }
        self.reader.peek(ahead).kind == T::LeftBrace
    }

    fn literal(&mut self) -> Parse {
        self.reader.sync(LITERAL.with(TokenSet::from_kinds(&[T::Minus])))?;
        let start = self.reader.peek(0).start;
        let negative = self.reader.kind() == T::Minus;
        if negative {
            if !matches!(self.reader.peek(1).kind, T::Int | T::Float) {
                return Err(TokenReader::no_viable_alternative(1));
            }
            self.reader.expect(T::Minus, TokenSet::from_kinds(&[T::Int, T::Float]))?;
        }
        let token = self.take_literal()?;
        let text = self.reader.text(token);
        // A literal is missing: this is an error already.
        if token.kind == T::Int && !text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(self.add(start, Expr::Error));
        }
        let value = match token.kind {
            T::True => Ok(Literal::Bool(true)),
            T::False => Ok(Literal::Bool(false)),
            T::Int => parse_int(text, negative).map(Literal::Int).ok_or("invalid int literal"),
            T::Uint => parse_uint(text).map(Literal::Uint).ok_or("invalid uint literal"),
            T::Float => parse_double(text, negative).map(Literal::Double).ok_or("invalid double literal"),
            T::String => unescape(text, false)
                .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "unable to unescape string"))
                .map(|text| Literal::String(Name::from(text))),
            T::Bytes => {
                unescape(text.get(1..).unwrap_or_default(), true).map(|bytes| Literal::Bytes(bytes.into()))
            }
            _ => Ok(Literal::Null),
        };
        Ok(self.add_literal(start, value))
    }

    fn take_literal(&mut self) -> Result<Token, Fault> {
        let kind = self.reader.kind();
        let kind = if LITERAL.contains(kind) { kind } else { T::Int };
        self.reader.expect(kind, TokenSet::END)
    }

    fn add_literal(&mut self, start: u32, value: Result<Literal, &'static str>) -> ExprId {
        match value {
            Ok(literal) => self.add(start, Expr::Literal(literal)),
            Err(message) => {
                self.error_at(start, message.to_owned());
                self.add(start, Expr::Error)
            }
        }
    }
}

fn parse_int(text: &str, negative: bool) -> Option<i64> {
    let sign = if negative { "-" } else { "" };
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16).ok(),
        None => format!("{sign}{text}").parse().ok(),
    }
}

fn parse_uint(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['u', 'U']);
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn parse_double(text: &str, negative: bool) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(if negative { -number } else { number })
}
