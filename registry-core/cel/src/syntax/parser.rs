//! The grammar, by recursive descent. Rules are named as in CEL's ANTLR grammar, as its error messages follow them.

use std::sync::Arc;

use super::ast::{Ast, Expr, ExprId, Literal, Name, operators};
use super::errors::{CompileError, CompileErrors, Location};
use super::lexer::{TokenKind, tokenize};
use super::macros::Macros;
use super::recovery::{Fault, TokenReader, TokenSet};

mod aggregates;
mod literals;
mod nodes;

/// Maximum length of an expression in code points.
pub(crate) const MAX_CODE_POINTS: usize = 100_000;
/// Maximum nesting of one grammar rule, and of selections, calls, indexes and operators together.
const MAX_DEPTH: u16 = 250;

/// Words of the language, which are escaped in field names, and cannot be names of variables.
pub const KEYWORDS: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

use TokenKind as T;

const LITERAL: TokenSet =
    TokenSet::from_kinds(&[T::True, T::False, T::Null, T::Float, T::Int, T::Uint, T::String, T::Bytes]);
const MEMBER: TokenSet = LITERAL.with(TokenSet::from_kinds(&[
    T::LeftBracket,
    T::LeftBrace,
    T::LeftParen,
    T::Dot,
    T::Minus,
    T::Identifier,
]));
/// The tokens that an expression starts with.
const EXPR: TokenSet = MEMBER.with(TokenSet::from_kinds(&[T::Exclamation]));
const RELATIONS: TokenSet = TokenSet::from_kinds(&[
    T::Less,
    T::LessEquals,
    T::GreaterEquals,
    T::Greater,
    T::Equals,
    T::NotEquals,
    T::In,
]);
const CALCULATIONS: TokenSet = TokenSet::from_kinds(&[T::Star, T::Slash, T::Percent, T::Plus, T::Minus]);
const IDENTIFIERS: TokenSet = TokenSet::from_kinds(&[T::Identifier, T::EscapedIdentifier]);
const AFTER_MEMBER: TokenSet = TokenSet::from_kinds(&[T::Dot, T::LeftBracket]).with(TokenSet::END);

/// Parses one expression.
pub(crate) struct Parser<'s> {
    source: &'s str,
    reader: TokenReader<'s>,
    ast: Ast,
    /// Nesting of selections, calls, indexes and operators, by expression.
    depths: Vec<u16>,
    macros: Macros,
    errors: Vec<CompileError>,
    expr_depth: u16,
    relation_depth: u16,
    calc_depth: u16,
}

/// A parsed expression.
pub(crate) struct Parsed {
    pub(crate) ast: Ast,
    pub(crate) root: ExprId,
}

type Parse = Result<ExprId, Fault>;

/// Parses an expression and expands its macros.
pub(crate) fn parse(source: &str, macros: Macros) -> Result<Parsed, CompileErrors> {
    let without_position =
        |message| CompileErrors::new(source, vec![CompileError { location: Location::NONE, message }]);
    // A text of fewer bytes has fewer code points.
    let code_points = if source.len() > MAX_CODE_POINTS { source.chars().count() } else { source.len() };
    if code_points > MAX_CODE_POINTS {
        return Err(without_position(format!(
            "expression code point size exceeds limit: size: {code_points}, limit {MAX_CODE_POINTS}"
        )));
    }
    let mut parser = Parser {
        source,
        reader: TokenReader::new(source, tokenize(source)),
        ast: Ast::default(),
        depths: Vec::new(),
        macros,
        errors: Vec::new(),
        expr_depth: 0,
        relation_depth: 0,
        calc_depth: 0,
    };
    let outcome = parser.start();
    let mut errors = std::mem::take(&mut parser.reader.errors);
    match outcome {
        Ok(root) => {
            errors.append(&mut parser.errors);
            if errors.is_empty() {
                Ok(Parsed { ast: parser.ast, root })
            } else {
                Err(CompileErrors::new(source, errors))
            }
        }
        Err(Fault::Limit(message)) => {
            if !message.is_empty() {
                errors.push(CompileError { location: Location::NONE, message });
            }
            Err(CompileErrors::new(source, errors))
        }
        Err(Fault::Unrecognized(_)) => Err(without_position("expression cannot be parsed".to_owned())),
    }
}

// === impl Parser: rules ===

impl Parser<'_> {
    fn start(&mut self) -> Parse {
        let root = self.expr(TokenSet::from_kinds(&[T::Eof]))?;
        if let Err(fault) = self.reader.expect(T::Eof, TokenSet::END) {
            self.recover(fault, 1)?;
        }
        if self.depth(root) > MAX_DEPTH && self.reader.errors.is_empty() {
            return Err(Fault::Limit("max recursion depth exceeded".to_owned()));
        }
        Ok(root)
    }

    /// Ends a rule that does not match, with an expression that stands for what could not be parsed.
    fn recover(&mut self, fault: Fault, state: u32) -> Parse {
        match fault {
            Fault::Unrecognized(mismatch) => {
                let offset = self.reader.peek(0).start;
                self.reader.recover(&mismatch, state)?;
                Ok(self.add(offset, Expr::Error))
            }
            limit @ Fault::Limit(_) => Err(limit),
        }
    }

    /// Runs a rule, and recovers if it does not match.
    fn rule(&mut self, follow: TokenSet, state: u32, body: impl FnOnce(&mut Self) -> Parse) -> Parse {
        self.reader.enter(follow);
        let outcome = match body(self) {
            Err(fault) => self.recover(fault, state),
            parsed => parsed,
        };
        self.reader.exit();
        outcome
    }

    fn expr(&mut self, follow: TokenSet) -> Parse {
        self.expr_depth += 1;
        check_depth(self.expr_depth)?;
        let outcome = self.rule(follow, 2, Self::conditional);
        self.expr_depth -= 1;
        outcome
    }

    fn conditional(&mut self) -> Parse {
        let after = TokenSet::from_kinds(&[T::QuestionMark]).with(TokenSet::END);
        let condition = self.rule(after, 3, Self::conditional_or)?;
        if self.reader.kind() != T::QuestionMark {
            return Ok(condition);
        }
        let operator = self.reader.expect(T::QuestionMark, EXPR)?;
        let if_true = self.rule(TokenSet::from_kinds(&[T::Colon]), 4, Self::conditional_or)?;
        self.reader.expect(T::Colon, EXPR)?;
        let if_false = self.expr(TokenSet::END)?;
        Ok(self.call(operator.start, operators::CONDITIONAL, vec![condition, if_true, if_false]))
    }

    fn conditional_or(&mut self) -> Parse {
        self.logic(T::LogicalOr, operators::LOGICAL_OR, Self::conditional_and)
    }

    fn conditional_and(&mut self) -> Parse {
        self.logic(T::LogicalAnd, operators::LOGICAL_AND, Self::relation)
    }

    /// Terms joined by one logical operator, as a balanced tree.
    fn logic(&mut self, operator: TokenKind, function: &'static str, term: fn(&mut Self) -> Parse) -> Parse {
        let after = TokenSet::from_kinds(&[operator]).with(TokenSet::END);
        let first = self.rule(after, 5, term)?;
        if self.reader.kind() != operator {
            return Ok(first);
        }
        let mut terms = vec![first];
        let mut offsets = Vec::new();
        while self.reader.kind() == operator {
            offsets.push(self.reader.expect(operator, EXPR)?.start);
            terms.push(self.rule(after, 5, term)?);
        }
        let name: Name = Arc::from(function);
        Ok(self.balance(&name, &terms, &offsets))
    }

    fn balance(&mut self, function: &Name, terms: &[ExprId], offsets: &[u32]) -> ExprId {
        let middle = offsets.len() / 2;
        let (Some((left, [offset, right @ ..])), Some((left_terms, right_terms))) =
            (offsets.split_at_checked(middle), terms.split_at_checked(middle + 1))
        else {
            return terms.first().copied().unwrap_or(ExprId(0));
        };
        let left = self.balance(function, left_terms, left);
        let right = self.balance(function, right_terms, right);
        self.add(
            *offset,
            Expr::Call { function: Arc::clone(function), target: None, args: vec![left, right] },
        )
    }

    fn relation(&mut self) -> Parse {
        self.relation_depth += 1;
        check_depth(self.relation_depth)?;
        let after = RELATIONS.with(TokenSet::END);
        let mut left = self.rule(after, 6, |parser| parser.calc(0))?;
        while RELATIONS.contains(self.reader.kind()) {
            let operator = self.reader.peek(0);
            self.reader.expect(operator.kind, EXPR)?;
            let right = self.rule(after, 7, Self::relation_operand)?;
            left = self.call(operator.start, operator_name(operator.kind), vec![left, right]);
        }
        self.relation_depth -= 1;
        Ok(left)
    }

    /// Parses the right operand of a relation: it binds closer than another relation.
    fn relation_operand(&mut self) -> Parse {
        self.relation_depth += 1;
        check_depth(self.relation_depth)?;
        let operand = self.rule(RELATIONS.with(TokenSet::END), 6, |parser| parser.calc(0));
        self.relation_depth -= 1;
        operand
    }

    /// Parses sums and products. `precedence` is 0 for everything, 2 for an operand of `+`, 3 for an operand of `*`.
    fn calc(&mut self, precedence: u8) -> Parse {
        self.calc_depth += 1;
        check_depth(self.calc_depth)?;
        let after = CALCULATIONS.with(TokenSet::END);
        let mut left = self.rule(after, 8, Self::unary)?;
        loop {
            let operator = self.reader.peek(0);
            let binding = match operator.kind {
                T::Star | T::Slash | T::Percent => 2,
                T::Plus | T::Minus => 1,
                _ => 0,
            };
            if binding == 0 || binding < precedence {
                break;
            }
            self.reader.expect(operator.kind, EXPR)?;
            let right = self.rule(after, 9, |parser| parser.calc(binding + 1))?;
            left = self.call(operator.start, operator_name(operator.kind), vec![left, right]);
        }
        self.calc_depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Parse {
        self.reader.sync(EXPR)?;
        let operator = self.reader.peek(0);
        let next = self.reader.peek(1).kind;
        match operator.kind {
            T::Exclamation => self.negations(T::Exclamation, operators::LOGICAL_NOT),
            T::Minus if matches!(next, T::Int | T::Float) => self.rule(TokenSet::END, 10, Self::member),
            T::Minus if MEMBER.contains(next) => self.negations(T::Minus, operators::NEGATE),
            T::Minus => Err(TokenReader::no_viable_alternative(1)),
            _ => self.rule(TokenSet::END, 10, Self::member),
        }
    }

    /// One operator several times: an even number of them cancels out.
    fn negations(&mut self, operator: TokenKind, function: &'static str) -> Parse {
        let offset = self.reader.peek(0).start;
        let mut count = 0_u32;
        while self.reader.kind() == operator {
            self.reader.expect(operator, MEMBER)?;
            count += 1;
            self.reader.sync_repetition(MEMBER.with(TokenSet::from_kinds(&[operator])))?;
        }
        let operand = self.rule(TokenSet::END, 10, Self::member)?;
        if count.is_multiple_of(2) {
            return Ok(operand);
        }
        Ok(self.call(offset, function, vec![operand]))
    }

    fn member(&mut self) -> Parse {
        let mut operand = self.rule(AFTER_MEMBER, 11, Self::primary)?;
        loop {
            operand = match (self.reader.kind(), self.reader.peek(1).kind) {
                (T::LeftBracket, _) => self.index(operand)?,
                (T::Dot, T::Identifier) if self.reader.peek(2).kind == T::LeftParen => {
                    self.member_call(operand)?
                }
                (T::Dot, T::QuestionMark | T::EscapedIdentifier | T::Identifier) => self.select(operand)?,
                (T::Dot, _) => return Err(TokenReader::no_viable_alternative(1)),
                _ => return Ok(operand),
            };
        }
    }

    fn index(&mut self, operand: ExprId) -> Parse {
        let optional = TokenSet::from_kinds(&[T::QuestionMark]);
        let open = self.reader.expect(T::LeftBracket, EXPR.with(optional))?;
        self.reader.sync(EXPR.with(optional))?;
        let is_optional = self.reader.kind() == T::QuestionMark;
        if is_optional {
            self.reader.expect(T::QuestionMark, EXPR)?;
        }
        let index = self.expr(TokenSet::from_kinds(&[T::RightBracket]))?;
        self.reader.expect(T::RightBracket, AFTER_MEMBER)?;
        let function = if is_optional { operators::OPTIONAL_INDEX } else { operators::INDEX };
        Ok(self.call(open.start, function, vec![operand, index]))
    }

    fn select(&mut self, operand: ExprId) -> Parse {
        let dot = self.reader.expect(T::Dot, IDENTIFIERS)?;
        let is_optional = self.reader.kind() == T::QuestionMark;
        if is_optional {
            self.reader.expect(T::QuestionMark, IDENTIFIERS)?;
        }
        let offset = self.reader.peek(0).start;
        let Some(field) = self.escape_ident(AFTER_MEMBER)? else {
            return Ok(self.add(dot.start, Expr::Error));
        };
        if is_optional {
            let field = self.add(offset, Expr::Literal(Literal::String(field)));
            let function = Arc::from(operators::OPTIONAL_SELECT);
            return Ok(self.add(dot.start, Expr::Call { function, target: None, args: vec![operand, field] }));
        }
        Ok(self.add(dot.start, Expr::Select { operand, field, test_only: false }))
    }

    /// A field name; `None` after an error.
    fn escape_ident(&mut self, follow: TokenSet) -> Result<Option<Name>, Fault> {
        self.reader.enter(follow);
        let token = self.reader.sync(IDENTIFIERS).and_then(|()| {
            let kind = match self.reader.kind() {
                T::EscapedIdentifier => T::EscapedIdentifier,
                _ => T::Identifier,
            };
            self.reader.expect(kind, TokenSet::END)
        });
        let (name, quoted_at) = match token {
            Ok(token) => {
                let quoted_at = (token.kind == T::EscapedIdentifier).then_some(token.start);
                (Some(Name::from(self.reader.text(token).trim_matches('`'))), quoted_at)
            }
            Err(fault) => {
                self.recover(fault, 12)?;
                (None, None)
            }
        };
        self.reader.exit();
        // Kubernetes does not enable quoted field names.
        if let Some(start) = quoted_at {
            self.error_at(start, "unsupported syntax: '`'".to_owned());
        }
        Ok(name)
    }

    fn member_call(&mut self, target: ExprId) -> Parse {
        self.reader.expect(T::Dot, IDENTIFIERS)?;
        let name = self.reader.expect(T::Identifier, TokenSet::from_kinds(&[T::LeftParen]))?;
        let (open, args) = self.arguments(AFTER_MEMBER)?;
        let function = Name::from(self.reader.text(name));
        Ok(self.call_or_macro(open, function, Some(target), args))
    }

    /// The arguments of a call with their parentheses, and where these open.
    fn arguments(&mut self, next: TokenSet) -> Result<(u32, Vec<ExprId>), Fault> {
        let close = TokenSet::from_kinds(&[T::RightParen]);
        let open = self.reader.expect(T::LeftParen, EXPR.with(close))?;
        self.reader.sync(EXPR.with(close))?;
        let mut args = Vec::new();
        if EXPR.contains(self.reader.kind()) {
            self.reader.enter(close);
            let after = TokenSet::from_kinds(&[T::Comma]).with(TokenSet::END);
            args.push(self.expr(after)?);
            while self.reader.kind() == T::Comma {
                self.reader.expect(T::Comma, EXPR)?;
                args.push(self.expr(after)?);
            }
            self.reader.exit();
        }
        self.reader.expect(T::RightParen, next)?;
        Ok((open.start, args))
    }
}

fn check_depth(depth: u16) -> Result<(), Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::Limit(format!("expression recursion limit exceeded: {MAX_DEPTH}")));
    }
    Ok(())
}

fn operator_name(kind: TokenKind) -> &'static str {
    match kind {
        T::Less => "_<_",
        T::LessEquals => "_<=_",
        T::GreaterEquals => "_>=_",
        T::Greater => "_>_",
        T::Equals => operators::EQUALS,
        T::NotEquals => operators::NOT_EQUALS,
        T::In => "@in",
        T::Star => "_*_",
        T::Slash => "_/_",
        T::Percent => "_%_",
        T::Plus => operators::ADD,
        _ => "_-_",
    }
}

#[cfg(test)]
mod tests;
