//! The grammar of label selectors in query parameters.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = [ "!" ] KEY | KEY ( "in" | "notin" ) "(" [ VALUE ] { "," [ VALUE ] } ")"
//!             | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ]
//! ```
//! `in` and `notin` are keywords only in operator position. The messages are Kubernetes'.

use crate::selector::SelectorError;
use crate::validation::{FieldPath, names};

use super::{LabelRequirement, OperatorKeyword, invalid};

/// A token. After the end, the lexer keeps returning the end token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

struct Parser<'a> {
    rest: &'a str,
    next: Token<'a>,
}

pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, SelectorError> {
    let mut parser = Parser { rest: text, next: Token::End };
    parser.advance();
    let mut requirements = Vec::new();
    loop {
        match parser.next {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {}
            Token::Symbol(_) => {
                return refuse(parser.next, ", expected: !, identifier, or 'end of string'");
            }
        }
        let requirement = parser.requirement();
        requirements.push(requirement.map_err(|error| SelectorError::Requirement(error.into()))?);
        match parser.advance() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => match parser.next {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return refuse(other, ", expected: identifier after ','"),
            },
            other => return refuse(other, ", expected: ',' or 'end of string'"),
        }
    }
}

// === impl Parser ===

impl<'a> Parser<'a> {
    /// Returns the next token and advances.
    fn advance(&mut self) -> Token<'a> {
        let (token, rest) = next_token(self.rest);
        self.rest = rest;
        std::mem::replace(&mut self.next, token)
    }

    fn at_end_of_requirement(&self) -> bool {
        matches!(self.next, Token::End | Token::Symbol(","))
    }

    fn requirement(&mut self) -> Result<LabelRequirement, SelectorError> {
        let mut token = self.advance();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.advance();
        }
        let Token::Word(key) = token else { return refuse(token, ", expected: identifier") };
        if let Some(error) = invalid(FieldPath::root(), key, &names::qualified_name(key)) {
            return Err(SelectorError::Label(error.into()));
        }
        if negated {
            return LabelRequirement::new(key, OperatorKeyword::DoesNotExist, Vec::new());
        }
        if self.at_end_of_requirement() {
            return LabelRequirement::new(key, OperatorKeyword::Exists, Vec::new());
        }
        let operation = match self.advance() {
            Token::Word("in") => OperatorKeyword::In,
            Token::Word("notin") => OperatorKeyword::NotIn,
            Token::Symbol("=" | "==") => return self.exact(key, OperatorKeyword::In),
            Token::Symbol("!=") => return self.exact(key, OperatorKeyword::NotIn),
            Token::Symbol(">") => return self.exact(key, OperatorKeyword::GreaterThan),
            Token::Symbol("<") => return self.exact(key, OperatorKeyword::LessThan),
            other => return refuse(other, ", expected: in, notin, =, ==, !=, gt, lt"),
        };
        let values = self.value_set()?;
        LabelRequirement::new(key, operation, values)
    }

    fn exact(&mut self, key: &str, operation: OperatorKeyword) -> Result<LabelRequirement, SelectorError> {
        let value = if self.at_end_of_requirement() {
            ""
        } else {
            match self.advance() {
                Token::Word(value) => value,
                other => return refuse(other, ", expected: identifier"),
            }
        };
        LabelRequirement::new(key, operation, vec![value.to_owned()])
    }

    /// Parses the values in parentheses; nothing between two separators is the empty value.
    fn value_set(&mut self) -> Result<Vec<String>, SelectorError> {
        match self.advance() {
            Token::Symbol("(") => {}
            other => return refuse(other, " expected: '('"),
        }
        let mut values = Vec::new();
        if !matches!(self.next, Token::Word(_) | Token::Symbol("," | ")")) {
            return refuse(self.next, ", expected: ',', ')' or identifier");
        }
        loop {
            let value = match self.next {
                Token::Word(value) => {
                    self.advance();
                    value
                }
                _ => "",
            };
            values.push(value.to_owned());
            match self.advance() {
                Token::Symbol(")") => return Ok(values),
                Token::Symbol(",") => match self.next {
                    Token::Word(_) | Token::Symbol("," | ")") => {}
                    other => return refuse(other, ", expected: ',', or identifier"),
                },
                other => return refuse(other, ", expected: ',' or ')'"),
            }
        }
    }
}

// === tokens ===

fn next_token(text: &str) -> (Token<'_>, &str) {
    let text = text.trim_start_matches(is_space);
    let Some(first) = text.chars().next() else { return (Token::End, text) };
    if is_symbol(first) {
        let length = if text.starts_with("==") || text.starts_with("!=") { 2 } else { 1 };
        let (symbol, rest) = text.split_at(length);
        return (Token::Symbol(symbol), rest);
    }
    let end = text.find(|letter| is_symbol(letter) || is_space(letter)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (Token::Word(word), rest)
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(letter: char) -> bool {
    matches!(letter, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn refuse<T>(found: Token<'_>, expected: &'static str) -> Result<T, SelectorError> {
    let found = match found {
        Token::Word(text) | Token::Symbol(text) => text,
        Token::End => "",
    };
    Err(SelectorError::Unexpected { found: found.to_owned(), expected })
}
