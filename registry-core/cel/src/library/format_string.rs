//! `string.format`.

use super::Call;
use crate::budget::{BYTES_PER_VISIT, CostBudget, check_length};
use crate::types::Type;
use crate::value::{Evaluated, EvaluationError, List, Value, fail};
use registry_meta::go_text;

/// Number of digits after the point if the clause does not say it.
const DEFAULT_PRECISION: usize = 6;
/// Maximum number of digits after the point.
const MAX_PRECISION: usize = 1_000;

/// A clause: its letter and its precision.
#[derive(Clone, Copy)]
struct Clause {
    letter: char,
    precision: usize,
}

/// A part of a format string.
enum Part<'s> {
    Text(&'s str),
    Clause(Clause),
}

pub(super) fn format<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::String(template), Value::List(args)] = call.args else {
        return call.no_such_overload();
    };
    format_list(template.as_str(), args, call.budget).map(Value::string)
}

fn format_list(
    template: &str,
    args: &List<'_>,
    budget: &CostBudget<'_>,
) -> Result<String, Box<EvaluationError>> {
    let mut out = String::new();
    let mut rest = template;
    let mut index = 0;
    while !rest.is_empty() {
        budget.visit(1)?;
        match next_part(&mut rest, index < args.len(), index)? {
            Part::Text(text) => out.push_str(text),
            Part::Clause(clause) => {
                let Some(arg) = args.get(index) else {
                    return fail(format!("index {index} out of range"));
                };
                match clause.format(&arg?, budget) {
                    Ok(text) => out.push_str(&text),
                    Err(error) => match *error {
                        EvaluationError::Failed(message) => {
                            return fail(format!("error during formatting: {message}"));
                        }
                        limit => return Err(Box::new(limit)),
                    },
                }
                index += 1;
            }
        }
        check_length(out.len())?;
    }
    Ok(out)
}

/// Takes the next part off a format string.
fn next_part<'s>(rest: &mut &'s str, has_arg: bool, index: usize) -> Result<Part<'s>, Box<EvaluationError>> {
    let template: &'s str = rest;
    if let Some(after) = template.strip_prefix("%%") {
        *rest = after;
        return Ok(Part::Text("%"));
    }
    if !template.starts_with('%') {
        let (text, after) = template.split_at(template.find('%').unwrap_or(template.len()));
        *rest = after;
        return Ok(Part::Text(text));
    }
    if !has_arg {
        return fail(format!("index {index} out of range"));
    }
    let after = template.get(1..).unwrap_or_default();
    if after.is_empty() {
        return fail("unexpected end of string");
    }
    let wrap = |message: String| format!("could not parse formatting clause: {message}");
    let (precision, after) = parse_precision(after)
        .or_else(|error| fail(wrap(format!("error while parsing precision: {error}"))))?;
    let Some(letter) = after.chars().next() else {
        return fail("unexpected end of string");
    };
    if !"sdfebxXo".contains(letter) {
        return fail(wrap(format!("unrecognized formatting clause \"{letter}\"")));
    }
    *rest = after.get(letter.len_utf8()..).unwrap_or_default();
    Ok(Part::Clause(Clause { letter, precision }))
}

fn parse_precision(text: &str) -> Result<(usize, &str), Box<EvaluationError>> {
    let Some(digits) = text.strip_prefix('.') else {
        return Ok((DEFAULT_PRECISION, text));
    };
    let Some(end) = digits.find(|character: char| !character.is_ascii_digit()) else {
        return fail("could not find end of precision specifier");
    };
    let (digits, after) = digits.split_at(end);
    match digits.parse::<usize>() {
        Ok(precision) if precision <= MAX_PRECISION => Ok((precision, after)),
        _ => fail(format!(
            "error while converting precision to integer: strconv.Atoi: parsing {digits:?}: invalid syntax"
        )),
    }
}

// === impl Clause ===

impl Clause {
    fn refuse(self, type_name: &str) -> String {
        let accepted = match self.letter {
            'd' => "decimal clause can only be used on integers",
            'f' => "fixed-point clause can only be used on doubles",
            'e' => "scientific clause can only be used on doubles",
            'b' => "only integers and bools can be formatted as binary",
            'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
            'o' => "octal clause can only be used on integers",
            _ => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps"
            }
        };
        format!("{accepted}, was given {type_name}")
    }

    fn format(self, value: &Value<'_>, budget: &CostBudget<'_>) -> Result<String, Box<EvaluationError>> {
        match (self.letter, value) {
            ('s', _) => {
                let mut out = String::new();
                self.format_any(value, &mut out, budget)?;
                Ok(out)
            }
            ('d', Value::Int(_) | Value::Uint(_)) => Ok(value.to_string()),
            ('f' | 'e', _) => match float(value) {
                Some(number) if !number.is_finite() => Ok(infinite(number)),
                Some(number) if self.letter == 'f' => Ok(format!("{number:.*}", self.precision)),
                Some(number) => Ok(scientific(number, self.precision)),
                None => fail(self.refuse(value.type_of().name())),
            },
            ('b', Value::Bool(value)) => Ok(u8::from(*value).to_string()),
            ('b' | 'o' | 'x' | 'X', Value::Int(number)) => {
                let sign = if *number < 0 { "-" } else { "" };
                Ok(format!("{sign}{}", self.radix(number.unsigned_abs())))
            }
            ('b' | 'o' | 'x' | 'X', Value::Uint(number)) => Ok(self.radix(*number)),
            ('x' | 'X', Value::String(text)) => Ok(self.hex(text.as_str().as_bytes())),
            ('x' | 'X', Value::Bytes(bytes)) => Ok(self.hex(bytes)),
            _ => fail(self.refuse(value.type_of().name())),
        }
    }

    fn radix(self, number: u64) -> String {
        match self.letter {
            'b' => format!("{number:b}"),
            'o' => format!("{number:o}"),
            'X' => format!("{number:X}"),
            _ => format!("{number:x}"),
        }
    }

    fn hex(self, bytes: &[u8]) -> String {
        let digit =
            |byte: &u8| if self.letter == 'X' { format!("{byte:02X}") } else { format!("{byte:02x}") };
        bytes.iter().map(digit).collect()
    }

    /// Appends a value. Parts that values share are written each time.
    fn format_any(
        self,
        value: &Value<'_>,
        out: &mut String,
        budget: &CostBudget<'_>,
    ) -> Result<(), Box<EvaluationError>> {
        budget.visit(1)?;
        match value {
            Value::List(list) => {
                out.push('[');
                for (index, element) in list.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    self.format_member(&element?, out, budget)?;
                }
                out.push(']');
            }
            Value::Map(map) => {
                let mut parts = Vec::new();
                for (key, value) in map.entries()? {
                    let mut part = String::new();
                    self.format_member(&key, &mut part, budget)?;
                    part.push(':');
                    self.format_member(&value, &mut part, budget)?;
                    parts.push(part);
                }
                parts.sort();
                out.push('{');
                out.push_str(&parts.join(", "));
                out.push('}');
            }
            Value::Optional(_) | Value::Foreign(_) => return fail(self.refuse(value.type_of().name())),
            other => out.push_str(&other.print(budget)?),
        }
        check_length(out.len())
    }

    /// Appends an element, a key or a value: texts are quoted.
    fn format_member(
        self,
        value: &Value<'_>,
        out: &mut String,
        budget: &CostBudget<'_>,
    ) -> Result<(), Box<EvaluationError>> {
        let text = match value {
            Value::String(text) => format!("{:?}", text.as_str()),
            Value::Bytes(bytes) => format!("b{:?}", String::from_utf8_lossy(bytes)),
            Value::Timestamp(_) => format!("timestamp(\"{value}\")"),
            Value::Duration(_) => format!("duration(\"{value}\")"),
            Value::Double(number) if !number.is_finite() => format!("{:?}", go_text::float(*number)),
            Value::Double(number) => format!("{number:.DEFAULT_PRECISION$}"),
            Value::Optional(_) | Value::Foreign(_) => {
                return fail(format!("no formatting function for {}", value.type_of().name()));
            }
            other => return self.format_any(other, out, budget),
        };
        budget.visit(1 + text.len() / BYTES_PER_VISIT)?;
        out.push_str(&text);
        check_length(out.len())
    }
}

fn float(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn infinite(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number > 0.0 { "∞".to_owned() } else { "-∞".to_owned() }
}

fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}×10{}", superscript(&format!("{sign}{:02}", exponent.abs())))
}

fn superscript(exponent: &str) -> String {
    let digit = |character| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    exponent.chars().filter(|character| *character != '+').map(digit).collect()
}

/// Checks a constant format string against the types of its arguments. An error names the argument it concerns.
pub(crate) fn check_literal(template: &str, types: &[Type]) -> Result<(), (Option<usize>, String)> {
    let mut rest = template;
    let mut index = 0;
    while !rest.is_empty() {
        let Part::Clause(clause) =
            next_part(&mut rest, index < types.len(), index).map_err(|error| (None, error.to_string()))?
        else {
            continue;
        };
        let found = types.get(index).unwrap_or(&Type::Dyn);
        let fits = match (clause.letter, found) {
            (_, Type::Dyn | Type::Any | Type::Param(_)) => true,
            ('d', _) => matches!(found, Type::Int | Type::Uint),
            ('f' | 'e', _) => matches!(found, Type::Double | Type::String),
            ('b', _) => matches!(found, Type::Int | Type::Uint | Type::Bool),
            ('x' | 'X', _) => matches!(found, Type::Int | Type::Uint | Type::String | Type::Bytes),
            ('o', _) => matches!(found, Type::Int | Type::Uint),
            _ => !matches!(found, Type::Opaque(_) | Type::Object(_)),
        };
        if !fits {
            return Err((Some(index), format!("error during formatting: {}", clause.refuse(found.name()))));
        }
        index += 1;
    }
    if index < types.len() {
        let message =
            format!("too many arguments supplied to string.format (expected {index}, got {})", types.len());
        return Err((None, message));
    }
    Ok(())
}
