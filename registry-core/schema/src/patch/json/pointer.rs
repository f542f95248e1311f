//! JSON pointers, [RFC 6901](https://www.rfc-editor.org/rfc/rfc6901).

use std::fmt;

use serde_json::Value;

use crate::patch::IndexError;

/// A path into a value.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    text: String,
    /// The unescaped segments; empty for the whole document and for a text that does not start with a slash.
    steps: Vec<String>,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Self {
        // Text before the first slash is ignored, as in Kubernetes' library.
        let steps = text.split('/').skip(1).map(unescape).collect();
        Self { text: text.to_owned(), steps }
    }

    /// Whether this is the empty path, which leads to the whole document.
    pub(super) fn is_whole(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the depth of the target.
    pub(super) fn depth(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn steps(&self) -> &[String] {
        &self.steps
    }

    /// Returns the segments of the target's container.
    pub(super) fn parents(&self) -> &[String] {
        self.steps.split_last().map_or(&[], |(_, parents)| parents)
    }

    /// Returns the container of the target and the last segment; `None` if there is no such container.
    pub(super) fn parent_mut<'v, 'p>(&'p self, value: &'v mut Value) -> Option<(&'v mut Value, &'p str)> {
        let (last, parents) = self.steps.split_last()?;
        let mut parent = value;
        for step in parents {
            parent = child_mut(parent, step).ok()??;
        }
        matches!(parent, Value::Object(_) | Value::Array(_)).then_some((parent, last))
    }
}

/// Returns the value at a key or index; `None` if an object does not have the key.
pub(super) fn child_mut<'v>(parent: &'v mut Value, key: &str) -> Result<Option<&'v mut Value>, IndexError> {
    match parent {
        Value::Object(map) => Ok(map.get_mut(key)),
        Value::Array(list) => {
            let index = index(key, list.len())?;
            Ok(list.get_mut(index))
        }
        _ => Ok(None),
    }
}

/// Parses an index below `length`; negative ones count from the end.
pub(super) fn index(key: &str, length: usize) -> Result<usize, IndexError> {
    let number: i64 = key.parse().map_err(|_| IndexError::Malformed(key.to_owned()))?;
    let from_end = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let index = if number < 0 { length.checked_sub(from_end) } else { Some(from_end) };
    index.filter(|index| *index < length).ok_or(IndexError::OutOfRange(number))
}

/// Formats the pointer as it was written.
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
