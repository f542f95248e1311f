//! Validation of types, numbers and strings.

use serde_json::{Number, Value};

use super::super::formats::Format;
use super::super::kind::Kind;
use super::super::node::{Node, NumberRules};
use super::fault::Problem;
use super::number::{Num, as_float};
use super::place::Place;
use super::{Findings, rules};
use registry_meta::budget::Budget;

/// The largest whole number below which all whole numbers are floating point numbers.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// Relative error up to which a number counts as whole.
const EPSILON: f64 = 1e-9;

// === types ===

/// Returns the name of a value's type, and Go's name for its representation.
fn type_of(value: &Value) -> (Kind, &'static str) {
    match value {
        Value::Null => (Kind::Any, ""),
        Value::Bool(_) => (Kind::Boolean, ""),
        Value::Number(number) if number.is_i64() => (Kind::Integer, "int64"),
        Value::Number(_) => (Kind::Number, "float64"),
        Value::String(_) => (Kind::String, ""),
        Value::Array(_) => (Kind::Array, ""),
        Value::Object(_) => (Kind::Object, ""),
    }
}

/// Checks the type of a value that is not null. A format demands a type, too.
pub(super) fn check_type<'a>(
    node: &'a Node,
    value: &'a Value,
    place: &Place<'_>,
    findings: &mut Findings<'a>,
) {
    let format = rules(node).and_then(|rules| rules.format.as_deref());
    if node.kind == Kind::Any && format.is_none() {
        return;
    }
    findings.matches += 1;
    let (found, representation) = type_of(value);
    let is_whole = found == Kind::Number
        && node.kind.includes(Kind::Integer)
        && value.as_f64().is_some_and(is_json_integer);
    let is_number = found == Kind::Integer && node.kind.includes(Kind::Number);
    let is_right = node.kind.includes(found) || is_whole || is_number;
    let is_text_or_list = matches!(found, Kind::String | Kind::Array);
    let wants_number = node.kind.includes(Kind::Number) || node.kind.includes(Kind::Integer);
    match format {
        Some(format) if !is_text_or_list && !is_right => {
            findings.add(place, Problem::Type { wanted: &format.name, found: representation });
        }
        // The format is checked instead of the type; lists have none.
        Some(_) if !wants_number && is_text_or_list => findings.matches += 1,
        _ if !is_right => {
            findings.add(place, Problem::Type { wanted: node.kind.name(), found: found.name() });
        }
        _ => findings.matches += 1,
    }
}

/// Whether a number counts as an integer, which allows for rounding errors.
fn is_json_integer(number: f64) -> bool {
    if !(-MAX_EXACT..=MAX_EXACT).contains(&number) {
        return false;
    }
    let rounded = number.round();
    (number - rounded).abs() < EPSILON * rounded.abs() || number.fract() == 0.0
}

// === enums ===

/// Checks that a value is in the enum.
pub(super) fn check_accepted<'a>(
    node: &'a Node,
    value: &'a Value,
    place: &Place<'_>,
    findings: &mut Findings<'a>,
) {
    let Some(accepted) = rules(node).and_then(|rules| rules.accepted.as_deref()) else { return };
    let is_accepted = match value {
        // Null is none of the values, even if the enum lists it.
        Value::Null => false,
        Value::String(text) => accepted.has_text(text),
        Value::Number(number) => {
            let number = Num::from_number(number);
            accepted.values.iter().any(|candidate| converts_to(number, candidate))
        }
        other => accepted.values.contains(other),
    };
    if !is_accepted {
        findings.add(place, Problem::Accepted { values: &accepted.values, value });
    }
}

/// Whether a number, converted to the type of another value, equals it. Go converts integers to characters.
fn converts_to(number: Num, wanted: &Value) -> bool {
    match (number, wanted) {
        (_, Value::Number(wanted)) => match (number, Num::from_number(wanted)) {
            (Num::Int(number), Num::Int(wanted)) => number == wanted,
            (number, Num::Float(wanted)) => number.as_float().total_cmp(&wanted).is_eq(),
            (Num::Float(number), Num::Int(wanted)) => truncated(number) == wanted,
        },
        (Num::Int(number), Value::String(wanted)) => {
            let letter = u32::try_from(number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            wanted.chars().eq([letter])
        }
        _ => false,
    }
}

/// Converts as Go does on amd64: what does not fit becomes the least integer.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit is handled before")]
fn truncated(number: f64) -> i64 {
    if number >= as_float(i64::MIN) && number < -as_float(i64::MIN) { number as i64 } else { i64::MIN }
}

// === strings ===

/// Checks the length, pattern and format of a string. At most one fault is found of the first two.
pub(super) fn check_text<'a>(
    node: &'a Node,
    text: &'a str,
    place: &Place<'_>,
    budget: &Budget,
    findings: &mut Findings<'a>,
) {
    findings.matches += 1;
    let Some(rules) = rules(node) else { return };
    if let Some(rules) = &rules.text {
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let matches = || {
            rules.pattern.as_ref().map(|pattern| {
                let outcome = match &pattern.parsed {
                    Ok(pattern) => pattern.is_match(text, budget).map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                (&pattern.text, outcome)
            })
        };
        if let Some(most) = rules.most.filter(|most| length() > *most) {
            findings.add(place, Problem::TooLong { most });
        } else if let Some(least) = rules.least.filter(|least| length() < *least) {
            findings.add(place, Problem::TooShort { least, text });
        } else if let Some((pattern, outcome)) = matches()
            && outcome != Ok(true)
        {
            findings.add(place, Problem::Pattern { pattern, error: outcome.err(), text });
        }
    }
    if let Some(rule) = rules.format.as_deref().filter(|rule| rule.format.is_text()) {
        findings.matches += 1;
        if !rule.format.accepts(text) {
            findings.add(place, Problem::Type { wanted: &rule.name, found: text });
        }
    }
}

// === numbers ===

/// The type and format of a number, which limit its range.
#[derive(Clone, Copy)]
struct NumberType<'a> {
    kind: Kind,
    format: Option<(Format, &'a str)>,
}

/// Checks the range of a number.
pub(super) fn check_number<'a>(
    node: &'a Node,
    number: &Number,
    place: &Place<'_>,
    findings: &mut Findings<'a>,
) {
    let value = Num::from_number(number);
    let rules = rules(node);
    let format = rules.and_then(|rules| rules.format.as_deref()).filter(|rule| !rule.format.is_text());
    let ty = NumberType { kind: node.kind, format: format.map(|rule| (rule.format, &*rule.name)) };
    findings.matches += 2;
    ty.check("Checked", value, place, findings);
    if let Some(rules) = rules.and_then(|rules| rules.number.as_deref()) {
        check_ranges(rules, ty, value, place, findings);
    }
}

fn check_ranges<'a>(
    rules: &NumberRules,
    ty: NumberType<'a>,
    value: Num,
    place: &Place<'_>,
    findings: &mut Findings<'a>,
) {
    if let Some(factor) = rules.multiple_of {
        let (value, factor) = ty.comparable("MultipleOf", value, factor, place, findings);
        check_multiple(value, factor, place, findings);
    }
    if let Some(least) = rules.minimum {
        let (value, bound) = ty.comparable("Minimum boundary", value, least, place, findings);
        if is_less(value, bound) || (rules.excludes_minimum && value == bound) {
            let relation = if rules.excludes_minimum { "greater than" } else { "greater than or equal to" };
            findings.add(place, Problem::Range { relation, bound, value });
        }
    }
    if let Some(most) = rules.maximum {
        let (value, bound) = ty.comparable("Maximum boundary", value, most, place, findings);
        if is_less(bound, value) || (rules.excludes_maximum && value == bound) {
            let relation = if rules.excludes_maximum { "less than" } else { "less than or equal to" };
            findings.add(place, Problem::Range { relation, bound, value });
        }
    }
}

fn is_less(left: Num, right: Num) -> bool {
    match (left, right) {
        (Num::Int(left), Num::Int(right)) => left < right,
        (left, right) => left.as_float() < right.as_float(),
    }
}

fn check_multiple(value: Num, factor: Num, place: &Place<'_>, findings: &mut Findings<'_>) {
    if factor.as_float() <= 0.0 {
        findings.add(place, Problem::BadFactor(factor));
        return;
    }
    let is_multiple = match (value, factor) {
        (Num::Int(value), Num::Int(factor)) => value.checked_rem(factor) == Some(0),
        (value, factor) => {
            let (value, factor) = (value.as_float(), factor.as_float());
            is_json_integer(if factor < 1.0 { 1.0 / factor * value } else { value / factor })
        }
    };
    if !is_multiple {
        findings.add(place, Problem::MultipleOf { factor, value });
    }
}

// === impl NumberType ===

impl<'a> NumberType<'a> {
    /// Checks that a number fits the type; returns whether it does.
    fn check(self, name: &'static str, value: Num, place: &Place<'_>, findings: &mut Findings<'a>) -> bool {
        let fits = match (self.kind, self.format) {
            (Kind::Integer, Some((Format::Int32, _))) => value.fits_integer(32),
            (Kind::Integer, _) => value.fits_integer(64),
            (Kind::Number, Some((Format::Float, _))) => fits_float32(value.as_float()),
            _ => true,
        };
        if !fits {
            let format = self.format.map(|(_, name)| name);
            findings.add(place, Problem::Unfit { name, kind: self.kind.name(), format });
        }
        fits
    }

    /// Returns the value and a rule's number as they are compared: as integers if the value is one and the other fits
    /// the type, which then loses its fraction.
    fn comparable(
        self,
        name: &'static str,
        value: Num,
        rule: f64,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) -> (Num, Num) {
        let fits = self.check(name, Num::Float(rule), place, findings);
        match value {
            Num::Int(_) if fits => (value, Num::Int(truncated(rule))),
            _ => (Num::Float(value.as_float()), Num::Float(rule)),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "this finds out whether it becomes infinite")]
fn fits_float32(number: f64) -> bool {
    (number as f32).is_finite()
}
