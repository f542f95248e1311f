//! The YAML decoder: converts a document to JSON as Kubernetes does.
//!
//! Scalars follow YAML 1.1 (`yes` is true, `017` is fifteen); keys are converted to strings, and timestamps remain
//! strings. A document is built from parser events without recursion; depth and alias expansion are limited.
//!
//! Kubernetes concept: `sigs.k8s.io/yaml`.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::{DecodeError, Decoded, Limits, json};
use crate::{FieldIssue, RepeatedKey};
use registry_meta::budget::memory::{self, LIST_BYTES, MAP_BYTES, VALUE_BYTES};

mod scalar;
mod tabs;

use tabs::TabbedInput;

/// Decodes a YAML body to JSON, and records duplicate fields with their lines. Documents after the first one are not read.
///
/// # Errors
/// Fails if the body is malformed, is not UTF-8, exceeds the depth or alias limit, or contains values that JSON cannot
/// represent (infinities, keys that are not scalars).
pub fn decode(bytes: &[u8], limits: &Limits<'_>) -> Result<Decoded, DecodeError> {
    // Apply clients send JSON with YAML's content type; the JSON decoder is ten times faster.
    if bytes.trim_ascii_start().starts_with(b"{") {
        match json::decode_unicode(bytes, limits) {
            Ok(decoded) if decoded.duplicates.is_empty() => return Ok(decoded),
            Err(error) if limits.is_exhausted() => return Err(error),
            _ => {}
        }
    }
    let first = documents(bytes, limits, 1)?.pop();
    Ok(first.unwrap_or_else(|| Builder::new(limits).decoded()))
}

/// Decodes all documents of a YAML text, as [`decode`] does. A document without content is `null`. The limit of alias expansions
/// is that of each document.
///
/// # Errors
/// As [`decode`].
pub fn decode_all(bytes: &[u8], limits: &Limits<'_>) -> Result<Vec<Decoded>, DecodeError> {
    documents(bytes, limits, usize::MAX)
}

/// Returns the documents of a text, at most a number of them.
fn documents(bytes: &[u8], limits: &Limits<'_>, at_most: usize) -> Result<Vec<Decoded>, DecodeError> {
    let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::Yaml("invalid UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains(is_forbidden) {
        return Err(DecodeError::Yaml("control characters are not allowed"));
    }
    let mut documents = Vec::new();
    let mut builder = Builder::new(limits);
    let mut parser = Parser::new(TabbedInput::new(text));
    while documents.len() < at_most
        && let Some(event) = parser.next_event()
    {
        let (event, span) =
            event.map_err(|error| DecodeError::YamlLine(error.marker().line(), error.info().to_owned()))?;
        if matches!(event, Event::DocumentEnd) {
            documents.push(std::mem::replace(&mut builder, Builder::new(limits)).decoded());
            continue;
        }
        builder.line = span.start.line();
        let line = span.start.line();
        builder.event(event).map_err(|problem| DecodeError::YamlLine(line, problem))?;
    }
    Ok(documents)
}

/// Characters that YAML does not allow; the parser treats some of them as the end of the text.
fn is_forbidden(letter: char) -> bool {
    match letter {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        other => other.is_control(),
    }
}

// === building ===

/// Builds a value from events.
struct Builder<'l> {
    limits: &'l Limits<'l>,
    open: Vec<Frame>,
    root: Value,
    /// The line of the current event.
    line: usize,
    repeated: Vec<RepeatedKey>,
    anchors: HashMap<usize, Anchored>,
    expansions_left: usize,
}

/// An open list or map.
struct Frame {
    content: Content,
    anchor: usize,
    /// The line where it starts.
    line: usize,
}

enum Content {
    List(Vec<Value>),
    Map { map: Map<String, Value>, key: Option<Key> },
}

enum Key {
    Field(String),
    /// `<<`: the value's fields are merged into the map.
    Merge,
}

/// The target of an alias.
struct Anchored {
    value: Value,
    size: Size,
}

/// The cost of copying a value, and its depth.
#[derive(Clone, Copy, Default)]
struct Size {
    cost: usize,
    depth: usize,
}

const NO_ANCHOR: usize = 0;

/// Maximum number of reported duplicate keys.
const MAX_REPEATED: usize = 100;

/// Maximum length of each, in characters.
const MAX_SHOWN_CHARS: usize = 1024;

/// Number of bytes of text that count as one value in the copy budget.
const BYTES_PER_COST: usize = 64;

type Problem = String;

impl<'l> Builder<'l> {
    fn new(limits: &'l Limits<'l>) -> Self {
        Self {
            limits,
            open: Vec::new(),
            root: Value::Null,
            line: 0,
            repeated: Vec::new(),
            anchors: HashMap::new(),
            expansions_left: limits.alias_expansions,
        }
    }

    fn decoded(self) -> Decoded {
        let has_any = !self.repeated.is_empty();
        let duplicates = has_any.then_some(FieldIssue::RepeatedKeys(self.repeated)).into_iter().collect();
        Decoded { value: self.root, duplicates, has_floats: false }
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), Problem> {
        match event {
            Event::SequenceStart(anchor, _) => self.begin(Content::List(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.begin(Content::Map { map: Map::new(), key: None }, anchor),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref()),
            Event::Alias(anchor) => self.alias(anchor),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, content: Content, anchor: usize) -> Result<(), Problem> {
        if self.awaits_key() {
            return Err("invalid map key: it is not a scalar".to_owned());
        }
        if self.open.len() >= self.limits.depth {
            return Err("exceeded max depth".to_owned());
        }
        self.take(match content {
            Content::List(_) => LIST_BYTES,
            Content::Map { .. } => MAP_BYTES,
        })?;
        self.open.push(Frame { content, anchor, line: self.line });
        Ok(())
    }

    fn take(&self, bytes: usize) -> Result<(), Problem> {
        self.limits.take_next(bytes).map_err(|exhausted| exhausted.to_string())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let value = match frame.content {
            Content::List(list) => Value::Array(list),
            Content::Map { map, .. } => Value::Object(map),
        };
        self.remember(frame.anchor, &value)?;
        self.complete(value, frame.line)
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), Problem> {
        let plain = style == ScalarStyle::Plain;
        if plain && tag.is_none() && text == "<<" && self.awaits_key() {
            self.set_key(Key::Merge);
            return Ok(());
        }
        if self.awaits_key() {
            let key = scalar::resolve(text, plain, tag)?;
            if anchor != NO_ANCHOR {
                self.remember(anchor, &key.to_json()?)?;
            }
            self.set_key(Key::Field(key.into_key()?));
            return Ok(());
        }
        let value = scalar::resolve(text, plain, tag)?.to_json()?;
        self.remember(anchor, &value)?;
        self.complete(value, self.line)
    }

    fn alias(&mut self, anchor: usize) -> Result<(), Problem> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err("anchor value contains itself".to_owned());
        };
        if self.open.len() + anchored.size.depth > self.limits.depth {
            return Err("exceeded max depth".to_owned());
        }
        self.expansions_left = spend(self.expansions_left, anchored.size.cost)?;
        self.take(memory::value_bytes(&anchored.value))?;
        let value = anchored.value.clone();
        if self.awaits_key() {
            let key = match value {
                Value::Array(_) | Value::Object(_) | Value::Null => {
                    return Err("invalid map key: it is not a scalar".to_owned());
                }
                Value::String(text) => text,
                other => other.to_string(),
            };
            self.set_key(Key::Field(key));
            return Ok(());
        }
        self.complete(value, self.line)
    }

    /// Keeps a copy for aliases. Copies count against the same budget as expansions: nested anchors would otherwise
    /// multiply the document.
    fn remember(&mut self, anchor: usize, value: &Value) -> Result<(), Problem> {
        if anchor != NO_ANCHOR {
            let size = size_of(value);
            self.expansions_left = spend(self.expansions_left, size.cost)?;
            self.take(memory::value_bytes(value))?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), size });
        }
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Frame { content: Content::Map { key: None, .. }, .. }))
    }

    fn set_key(&mut self, new: Key) {
        if let Some(Frame { content: Content::Map { key, .. }, .. }) = self.open.last_mut() {
            *key = Some(new);
        }
    }

    /// Adds a finished value, which started at this line, to its container.
    fn complete(&mut self, value: Value, line: usize) -> Result<(), Problem> {
        self.take(VALUE_BYTES)?;
        let Some(frame) = self.open.last_mut() else {
            self.root = value;
            return Ok(());
        };
        match &mut frame.content {
            Content::List(list) => list.push(value),
            Content::Map { map, key } => match key.take() {
                Some(Key::Merge) => merge(map, value)?,
                Some(Key::Field(name)) => {
                    if map.contains_key(&name) && self.repeated.len() < MAX_REPEATED {
                        self.repeated
                            .push(RepeatedKey { line, key: name.chars().take(MAX_SHOWN_CHARS).collect() });
                    }
                    map.insert(name, value);
                }
                None => return Err("a value without a key".to_owned()),
            },
        }
        Ok(())
    }
}

/// Merges `<<: *defaults`, or a list of such, in which the first takes precedence.
fn merge(map: &mut Map<String, Value>, from: Value) -> Result<(), Problem> {
    const PROBLEM: &str = "map merge requires map or sequence of maps as the value";
    match from {
        Value::Object(fields) => map.extend(fields),
        Value::Array(list) => {
            for item in list.into_iter().rev() {
                let Value::Object(fields) = item else { return Err(PROBLEM.to_owned()) };
                map.extend(fields);
            }
        }
        _ => return Err(PROBLEM.to_owned()),
    }
    Ok(())
}

fn spend(left: usize, cost: usize) -> Result<usize, Problem> {
    left.checked_sub(cost).ok_or_else(|| "document contains excessive aliasing".to_owned())
}

/// The recursion is bounded by the depth limit.
fn size_of(value: &Value) -> Size {
    let text_cost = |bytes: usize| 1 + bytes / BYTES_PER_COST;
    let around = |sizes: &mut dyn Iterator<Item = Size>| {
        sizes.fold(Size { cost: 1, depth: 1 }, |all, part| Size {
            cost: all.cost + part.cost,
            depth: all.depth.max(part.depth + 1),
        })
    };
    match value {
        Value::String(text) => Size { cost: text_cost(text.len()), depth: 0 },
        Value::Array(list) => around(&mut list.iter().map(size_of)),
        Value::Object(map) => around(&mut map.iter().map(|(key, value)| {
            let size = size_of(value);
            Size { cost: size.cost + text_cost(key.len()), ..size }
        })),
        _ => Size { cost: 1, depth: 0 },
    }
}

#[cfg(test)]
mod tests;
