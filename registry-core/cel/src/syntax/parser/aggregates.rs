//! Lists, maps and objects.

use super::{AFTER_MEMBER, EXPR, Expr, ExprId, Fault, IDENTIFIERS, Name, Parse, Parser, T, TokenSet};
use crate::syntax::ast::{MapEntry, StructField};
use crate::syntax::lexer::TokenKind;

const COMMA: TokenSet = TokenSet::from_kinds(&[T::Comma]);
const COMMA_OR_END: TokenSet = COMMA.with(TokenSet::END);
const OPTIONAL: TokenSet = TokenSet::from_kinds(&[T::QuestionMark]);
const OPTIONAL_EXPR: TokenSet = EXPR.with(OPTIONAL);

// === impl Parser: aggregates ===

impl Parser<'_> {
    pub(super) fn list(&mut self) -> Parse {
        let close = TokenSet::from_kinds(&[T::RightBracket]);
        let open = self.reader.expect(T::LeftBracket, OPTIONAL_EXPR.with(COMMA).with(close))?;
        self.reader.sync(OPTIONAL_EXPR.with(COMMA).with(close))?;
        let mut elements = Vec::new();
        let mut optional = Vec::new();
        if OPTIONAL_EXPR.contains(self.reader.kind()) {
            self.reader.enter(COMMA.with(close));
            loop {
                let (element, is_optional) = self.optional_expr(COMMA_OR_END)?;
                if is_optional {
                    optional.push(elements.len() as u32);
                }
                elements.push(element);
                if !self.goes_on(OPTIONAL_EXPR) {
                    break;
                }
                self.reader.expect(T::Comma, OPTIONAL_EXPR)?;
            }
            self.reader.exit();
        }
        self.end_of_aggregate(T::RightBracket)?;
        Ok(self.add(open.start, Expr::List { elements, optional }))
    }

    pub(super) fn map(&mut self) -> Parse {
        let close = TokenSet::from_kinds(&[T::RightBrace]);
        let open = self.reader.expect(T::LeftBrace, OPTIONAL_EXPR.with(COMMA).with(close))?;
        self.reader.sync(OPTIONAL_EXPR.with(COMMA).with(close))?;
        let mut entries = Vec::new();
        if OPTIONAL_EXPR.contains(self.reader.kind()) {
            self.reader.enter(COMMA.with(close));
            if let Err(fault) = self.map_entries(&mut entries) {
                self.recover(fault, 30)?;
            }
            self.reader.exit();
        }
        self.end_of_aggregate(T::RightBrace)?;
        Ok(self.add(open.start, Expr::Map { entries }))
    }

    fn map_entries(&mut self, entries: &mut Vec<MapEntry>) -> Result<(), Fault> {
        loop {
            let (key, optional) = self.optional_expr(TokenSet::from_kinds(&[T::Colon]))?;
            self.reader.expect(T::Colon, EXPR)?;
            let value = self.expr(COMMA_OR_END)?;
            entries.push(MapEntry { key, value, optional });
            if !self.goes_on(OPTIONAL_EXPR) {
                return Ok(());
            }
            self.reader.expect(T::Comma, OPTIONAL_EXPR)?;
        }
    }

    /// An object: a type name and its fields in braces.
    pub(super) fn message(&mut self) -> Parse {
        let mut name = String::new();
        if self.reader.kind() == T::Dot {
            self.reader.expect(T::Dot, IDENTIFIERS)?;
            name.push('.');
        }
        loop {
            let token = self.reader.expect(T::Identifier, IDENTIFIERS)?;
            name.push_str(self.reader.text(token));
            if self.reader.kind() != T::Dot {
                break;
            }
            self.reader.expect(T::Dot, IDENTIFIERS)?;
            name.push('.');
        }
        let close = TokenSet::from_kinds(&[T::RightBrace]);
        let fields_start = IDENTIFIERS.with(OPTIONAL);
        let open = self.reader.expect(T::LeftBrace, fields_start.with(COMMA).with(close))?;
        self.reader.sync(fields_start.with(COMMA).with(close))?;
        let mut fields = Vec::new();
        if fields_start.contains(self.reader.kind()) {
            self.reader.enter(COMMA.with(close));
            if let Err(fault) = self.fields(&mut fields) {
                self.recover(fault, 31)?;
            }
            self.reader.exit();
        }
        self.end_of_aggregate(T::RightBrace)?;
        Ok(self.add(open.start, Expr::Struct { type_name: Name::from(name), fields }))
    }

    fn fields(&mut self, fields: &mut Vec<StructField>) -> Result<(), Fault> {
        loop {
            self.reader.sync(IDENTIFIERS.with(OPTIONAL))?;
            let optional = self.reader.kind() == T::QuestionMark;
            if optional {
                self.reader.expect(T::QuestionMark, IDENTIFIERS)?;
            }
            let name = self.escape_ident(TokenSet::from_kinds(&[T::Colon]))?;
            let offset = self.reader.expect(T::Colon, EXPR)?.start;
            let value = self.expr(COMMA_OR_END)?;
            if let Some(name) = name {
                fields.push(StructField { offset, name, value, optional });
            }
            if !self.goes_on(IDENTIFIERS.with(OPTIONAL)) {
                return Ok(());
            }
            self.reader.expect(T::Comma, IDENTIFIERS.with(OPTIONAL))?;
        }
    }

    /// Whether a comma and another part follow. A comma before the end belongs to the end.
    fn goes_on(&self, start: TokenSet) -> bool {
        self.reader.kind() == T::Comma && start.contains(self.reader.peek(1).kind)
    }

    /// An optional comma, and the closing bracket.
    fn end_of_aggregate(&mut self, close: TokenKind) -> Result<(), Fault> {
        let end = TokenSet::from_kinds(&[close]);
        self.reader.sync(COMMA.with(end))?;
        if self.reader.kind() == T::Comma {
            self.reader.expect(T::Comma, end)?;
        }
        self.reader.expect(close, AFTER_MEMBER)?;
        Ok(())
    }

    fn optional_expr(&mut self, follow: TokenSet) -> Result<(ExprId, bool), Fault> {
        let mut is_optional = false;
        let parsed = self.rule(follow, 32, |parser| {
            parser.reader.sync(OPTIONAL_EXPR)?;
            is_optional = parser.reader.kind() == T::QuestionMark;
            if is_optional {
                parser.reader.expect(T::QuestionMark, EXPR)?;
            }
            parser.expr(TokenSet::END)
        })?;
        Ok((parsed, is_optional))
    }
}
