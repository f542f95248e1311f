//! The parser of paths, which accepts and rejects what Kubernetes' does, in its words.

use serde_json::Number;

use super::fault::Fault;
use super::{Filter, Node, Slice, quote};

/// Maximum nesting of filters and unions.
const MAX_DEPTH: usize = 32;

/// Parses a template: texts and actions in braces.
pub(super) fn template(text: &str) -> Result<Vec<Node>, Fault> {
    at_depth(text, 0)
}

fn at_depth(text: &str, depth: usize) -> Result<Vec<Node>, Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::TooDeep);
    }
    let mut parser = Parser { input: text, position: 0, start: 0, depth };
    let mut nodes = Vec::new();
    loop {
        let rest = parser.rest();
        let Some(length) = rest.find('{') else {
            if !rest.is_empty() {
                nodes.push(Node::Text(rest.to_owned()));
            }
            return Ok(nodes);
        };
        parser.position += length;
        if length > 0 {
            nodes.push(Node::Text(parser.take().to_owned()));
        }
        parser.position += 1;
        parser.take();
        nodes.push(Node::List(parser.action()?));
    }
}

/// Parses a part of a path as an action of its own, up to the end of that action.
fn part(text: &str, depth: usize) -> Result<Vec<Node>, Fault> {
    let mut nodes = at_depth(&format!("{{{text}}}"), depth + 1)?;
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    match nodes.swap_remove(0) {
        Node::List(nodes) => Ok(nodes),
        other => Ok(vec![other]),
    }
}

struct Parser<'a> {
    input: &'a str,
    /// Offset of the next character.
    position: usize,
    /// Offset of the first character that was not taken.
    start: usize,
    depth: usize,
}

// === impl Parser: characters ===

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.input.get(self.position..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.position += next.len_utf8();
        Some(next)
    }

    /// Returns the text since the last call.
    fn take(&mut self) -> &'a str {
        let taken = self.input.get(self.start..self.position).unwrap_or_default();
        self.start = self.position;
        taken
    }

    /// Returns whether the byte before the last one, a quote, is a backslash.
    fn is_escaped(&self) -> bool {
        let before = self.position.checked_sub(2);
        before.and_then(|at| self.input.as_bytes().get(at)) == Some(&b'\\')
    }
}

// === impl Parser: elements ===

impl Parser<'_> {
    /// Parses an action after its opening brace.
    fn action(&mut self) -> Result<Vec<Node>, Fault> {
        let mut nodes = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with('}') {
                self.position += 1;
                self.take();
                return Ok(nodes);
            }
            if rest.starts_with("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if rest.starts_with("..") {
                self.recursive(&mut nodes)?;
                continue;
            }
            match self.next() {
                None | Some('\r' | '\n') => return Err(Fault::UnclosedAction),
                // `@` and `$` are the current object.
                Some(' ' | '@' | '$') => {
                    self.take();
                }
                Some('[') => self.brackets(&mut nodes)?,
                Some(mark @ ('"' | '\'')) => nodes.push(self.quoted(mark)?),
                Some('.') => nodes.push(self.field()),
                Some(first) if matches!(first, '+' | '-') || first.is_numeric() => nodes.push(self.number()?),
                Some(first) if is_alphanumeric(first) => nodes.push(self.word()),
                Some(other) => return Err(Fault::UnknownCharacter(character(other))),
            }
        }
    }

    fn recursive(&mut self, nodes: &mut Vec<Node>) -> Result<(), Fault> {
        if nodes.last() == Some(&Node::Recursive) {
            return Err(Fault::RepeatedDescent);
        }
        self.position += "..".len();
        self.take();
        nodes.push(Node::Recursive);
        if self.peek().is_some_and(is_alphanumeric) {
            nodes.push(self.field());
        }
        Ok(())
    }

    /// Parses a field up to the next terminator that is not escaped.
    fn field(&mut self) -> Node {
        self.take();
        while let Some(next) = self.peek() {
            if is_terminator(next) {
                break;
            }
            self.next();
            if next == '\\' {
                self.next();
            }
        }
        match self.take() {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn word(&mut self) -> Node {
        while self.peek().is_some_and(|next| !is_terminator(next)) {
            self.next();
        }
        match self.take() {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            other => Node::Identifier(other.to_owned()),
        }
    }

    /// Parses a number whose first character was read.
    fn number(&mut self) -> Result<Node, Fault> {
        while self.peek().is_some_and(|next| next == '.' || next.is_numeric()) {
            self.next();
        }
        let text = self.take();
        if let Ok(integer) = text.parse::<i64>() {
            return Ok(Node::Number(integer.into()));
        }
        match text.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => Ok(Node::Number(number)),
            None => Err(Fault::InvalidNumber(text.to_owned())),
        }
    }

    /// Parses a string whose opening quote was read.
    fn quoted(&mut self, mark: char) -> Result<Node, Fault> {
        loop {
            match self.next() {
                None | Some('\n') => return Err(Fault::UnterminatedText),
                Some(next) if next == mark && !self.is_escaped() => break,
                Some(_) => {}
            }
        }
        let text = self.take();
        match quote::unquote(text) {
            Some(text) => Ok(Node::Text(text)),
            None => Err(Fault::InvalidText(text.to_owned())),
        }
    }

    /// Parses an index, a slice, a key or a union whose opening bracket was read.
    fn brackets(&mut self, nodes: &mut Vec<Node>) -> Result<(), Fault> {
        loop {
            match self.next() {
                None | Some('\n') => return Err(Fault::UnterminatedArray),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = self.take();
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
        let inner = if inner == "*" { ":" } else { inner };
        if inner.contains(',') {
            let member = |text: &str| part(&format!("[{}]", text.trim_matches(' ')), self.depth);
            nodes.push(Node::Union(inner.split(',').map(member).collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = inner.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            nodes.append(&mut part(&format!(".{key}"), self.depth)?);
            return Ok(());
        }
        nodes.push(Node::Slice(slice(inner)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<Node, Fault> {
        self.position += "[?(".len();
        self.take();
        let mut opening = None;
        let mut is_closed = false;
        loop {
            match self.next() {
                None | Some('\n') => return Err(Fault::UnterminatedFilter),
                Some(mark @ ('"' | '\'')) => match opening {
                    None => opening = Some(mark),
                    Some(opening) if mark == opening && !self.is_escaped() => is_closed = true,
                    Some(_) => {}
                },
                Some(')') if opening.is_some() == is_closed => break,
                Some(_) => {}
            }
        }
        if self.next() != Some(']') {
            return Err(Fault::UnclosedFilter);
        }
        let text = self.take();
        let text = text.strip_suffix(")]").unwrap_or(text);
        let Some((left, operator, right)) = comparison(text) else {
            return Ok(Node::Filter(Filter { left: part(text, self.depth)?, comparison: None }));
        };
        let left = part(left, self.depth)?;
        let right = part(right, self.depth)?;
        Ok(Node::Filter(Filter { left, comparison: Some((operator.to_owned(), right)) }))
    }
}

/// Splits a condition into the text before the first operator, the operator, and the text after it.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |next: char| matches!(next, '!' | '<' | '>' | '=');
    let (left, rest) = text.split_at_checked(text.find(is_operator)?)?;
    if left.is_empty() {
        return None;
    }
    let length = rest.find(|next| !is_operator(next)).unwrap_or(rest.len() - 1);
    let (operator, right) = rest.split_at_checked(length)?;
    (!operator.is_empty()).then_some((left, operator, right))
}

/// Parses `start:end:step`, of which every part can be absent.
fn slice(text: &str) -> Result<Slice, Fault> {
    let parts: Vec<&str> = text.split(':').collect();
    let digits =
        |part: &&str| part.strip_prefix('-').unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(digits) {
        return Err(Fault::InvalidIndex(text.to_owned()));
    }
    let number = |part: Option<&&str>| match part {
        None | Some(&"") => Ok(None),
        Some(part) => match part.parse::<i64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Fault::IndexOutOfRange((*part).to_owned())),
        },
    };
    let start = number(parts.first())?;
    if parts.len() == 1 {
        let end = start.unwrap_or_default().wrapping_add(1);
        return Ok(Slice { start, end: Some(end), is_index: true, step: None });
    }
    Ok(Slice { start, end: number(parts.get(1))?, is_index: false, step: number(parts.get(2))? })
}

fn is_alphanumeric(next: char) -> bool {
    next == '_' || next.is_alphanumeric()
}

/// Whether a field or word ends before this character.
fn is_terminator(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

/// Formats a character as `%#U`.
fn character(found: char) -> String {
    let code = u32::from(found);
    let shown = if found.is_control() { String::new() } else { format!(" '{found}'") };
    format!("U+{code:04X}{shown}")
}
