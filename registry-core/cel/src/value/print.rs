//! The text of values.

use std::fmt::{self, Write};

use super::{EvaluationError, Value};
use crate::budget::{BYTES_PER_VISIT, CostBudget, check_length};
use registry_meta::go_text;

/// Maximum length of a value in a message, in bytes. The rest is left out.
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Writes a value, as long as it is let.
struct Printer<'p, F> {
    out: String,
    /// Is told the length of the text so far, after each part.
    may_go_on: &'p mut F,
}

// === impl Printer ===

impl<F: FnMut(usize) -> bool> Printer<'_, F> {
    /// Writes a value, or its beginning. Returns whether all of it was written.
    fn value(&mut self, value: &Value<'_>) -> bool {
        match value {
            Value::List(list) => {
                self.out.push('[');
                for (index, element) in list.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    let goes_on = match element {
                        Ok(element) => self.value(&element),
                        Err(error) => self.scalar(&error),
                    };
                    if !goes_on {
                        return false;
                    }
                }
                self.out.push(']');
                (self.may_go_on)(self.out.len())
            }
            Value::Map(map) => {
                self.out.push('{');
                for (index, key) in map.keys().into_iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    let mut goes_on = self.value(&key);
                    if let (true, Some(Ok(value))) = (goes_on, map.get(&key)) {
                        self.out.push_str(": ");
                        goes_on = self.value(&value);
                    }
                    if !goes_on {
                        return false;
                    }
                }
                self.out.push('}');
                (self.may_go_on)(self.out.len())
            }
            Value::Optional(Some(value)) => {
                self.out.push_str("optional(");
                let goes_on = self.value(value);
                self.out.push(')');
                goes_on
            }
            Value::Optional(None) => self.scalar(&"optional.none()"),
            Value::Null => self.scalar(&"null"),
            Value::Bool(value) => self.scalar(value),
            Value::Int(number) => self.scalar(number),
            Value::Uint(number) => self.scalar(number),
            Value::Double(number) => self.scalar(&go_text::float(*number)),
            Value::String(text) => self.scalar(text),
            Value::Bytes(bytes) => self.scalar(&String::from_utf8_lossy(bytes)),
            Value::Duration(nanoseconds) => self.scalar(&super::time::format_duration(*nanoseconds)),
            Value::Timestamp(time) => self.scalar(time),
            Value::Type(of) => self.scalar(&of.name()),
            Value::Foreign(foreign) => self.scalar(foreign),
        }
    }

    fn scalar(&mut self, value: &dyn fmt::Display) -> bool {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
        (self.may_go_on)(self.out.len())
    }
}

// === impl Value: printing ===

impl Value<'_> {
    /// Prints the value.
    ///
    /// # Errors
    /// Fails if the text is too long, or if the budget is exhausted.
    pub(crate) fn print(&self, budget: &CostBudget<'_>) -> Result<String, Box<EvaluationError>> {
        let mut outcome = Ok(());
        let mut before = 0;
        let mut may_go_on = |length: usize| {
            let parts = 1 + (length - before) / BYTES_PER_VISIT;
            before = length;
            outcome = budget.visit(parts).and_then(|()| check_length(length));
            outcome.is_ok()
        };
        let mut printer = Printer { out: String::new(), may_go_on: &mut may_go_on };
        printer.value(self);
        let out = printer.out;
        outcome.map(|()| out)
    }
}

/// For messages: a very long value is cut off.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Value::String(text) = self {
            return f.write_str(text.as_str());
        }
        let mut parts = 0;
        let mut may_go_on = |length: usize| {
            parts += 1;
            length.max(parts) <= MAX_SHOWN_BYTES
        };
        let mut printer = Printer { out: String::new(), may_go_on: &mut may_go_on };
        let is_whole = printer.value(self);
        f.write_str(&printer.out)?;
        f.write_str(if is_whole { "" } else { "..." })
    }
}
