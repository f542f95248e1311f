//! Selectors of shards, which are written in the syntax of expressions but not evaluated.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/sharding`.

use registry_meta::go_text::quote;
use registry_meta::sharding::{END_OF_HASHES, ShardKey, ShardRange, ShardSelector};

use crate::syntax::ast::{Ast, Expr, ExprId, Literal, operators};
use crate::syntax::macros::Macros;
use crate::syntax::parser::{self, Parsed};

/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 16;
/// The end of all hashes, which has one digit more.
const END: &str = "0x10000000000000000";
/// The macro that tests a field, which is a function here.
const HAS: &str = "has";
/// The function that describes a range.
const RANGE: &str = "shardRange";

/// A text does not select shards. Kubernetes' texts. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// It is empty.
    #[error("empty shard selector is not allowed; omit the parameter for unfiltered lists")]
    Empty,
    /// It is not an expression.
    #[error("CEL parse error: {0}")]
    Syntax(String),
    /// It calls something else.
    #[error("unsupported function {}; only shardRange() and || are allowed", quote(.0))]
    Function(String),
    /// It is not a call.
    #[error("unexpected expression kind {0}; expected shardRange() call or || operator")]
    Kind(u8),
    /// A range does not have three arguments.
    #[error("shardRange() requires exactly 3 arguments, got {0}")]
    Arguments(usize),
    /// The first argument is not a path.
    #[error(
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind {0}"
    )]
    NoPath(u8),
    /// The first argument is another field.
    #[error(
        "unsupported field path {}; supported: object.metadata.uid, object.metadata.namespace", quote(.0)
    )]
    Path(String),
    /// A bound is not a number.
    #[error("{name}{fault}")]
    Bound {
        /// The bound.
        name: &'static str,
        /// The reason, after the name.
        fault: String,
    },
    /// A range is empty.
    #[error("shard range start {start} must be less than end {end}")]
    EmptyRange {
        /// The start, as it is written.
        start: String,
        /// The end, as it is written.
        end: String,
    },
    /// Ranges are of different fields.
    #[error("all shard ranges must use the same field, got {} and {}", quote(.first.path()), quote(.other.path()))]
    Keys {
        /// The field of the first range.
        first: ShardKey,
        /// The other field.
        other: ShardKey,
    },
}

/// Reads a selector: `shardRange(object.metadata.uid, '0x…', '0x…')`, or several with `||` between them.
///
/// # Errors
/// Fails if it is none.
pub fn parse(text: &str) -> Result<ShardSelector, ShardError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ShardError::Empty);
    }
    let parsed = parser::parse(text, Macros::default()).map_err(|errors| {
        let first = errors.errors().first();
        ShardError::Syntax(first.map(|error| error.message.clone()).unwrap_or_default())
    })?;
    let Parsed { ast, root } = parsed;
    let mut ranges = Vec::new();
    // The operands that are still to be read, the leftmost last.
    let mut left = vec![root];
    while let Some(id) = left.pop() {
        match ast.get(id) {
            Expr::Call { function, args, .. } if &**function == operators::LOGICAL_OR => {
                left.extend(args.iter().rev());
            }
            Expr::Call { function, args, .. } if &**function == RANGE => ranges.push(range(&ast, args)?),
            Expr::Call { function, .. } => return Err(ShardError::Function(function.to_string())),
            Expr::Select { test_only: true, .. } => return Err(ShardError::Function(HAS.to_owned())),
            other => return Err(ShardError::Kind(kind(other))),
        }
    }
    let Some(((key, _), others)) = ranges.split_first() else { return Err(ShardError::Empty) };
    if let Some((other, _)) = others.iter().find(|(other, _)| other != key) {
        return Err(ShardError::Keys { first: *key, other: *other });
    }
    let (key, ranges) = (*key, ranges.iter().map(|(_, range)| *range).collect::<Vec<_>>());
    Ok(ShardSelector::new(key, &ranges))
}

/// Reads the arguments of a range.
fn range(ast: &Ast, arguments: &[ExprId]) -> Result<(ShardKey, ShardRange), ShardError> {
    let [key, start, end] = arguments else { return Err(ShardError::Arguments(arguments.len())) };
    let path = path(ast, *key)?;
    let key = ShardKey::ALL.into_iter().find(|key| key.path() == path).ok_or(ShardError::Path(path))?;
    let (start, start_text) = bound(ast.get(*start), "hexStart")?;
    let (end, end_text) = bound(ast.get(*end), "hexEnd")?;
    if start >= end {
        return Err(ShardError::EmptyRange { start: start_text.to_owned(), end: end_text.to_owned() });
    }
    Ok((key, ShardRange { start, end }))
}

/// Returns the path that selections of fields make.
fn path(ast: &Ast, mut id: ExprId) -> Result<String, ShardError> {
    let mut fields = Vec::new();
    loop {
        match ast.get(id) {
            Expr::Select { operand, field, test_only: false } => {
                fields.push(&**field);
                id = *operand;
            }
            Expr::Ident(name) => {
                fields.push(name);
                fields.reverse();
                return Ok(fields.join("."));
            }
            other => return Err(ShardError::NoPath(kind(other))),
        }
    }
}

/// Reads a bound of a range; returns also its text.
fn bound<'a>(argument: &'a Expr, name: &'static str) -> Result<(u128, &'a str), ShardError> {
    let fault = |fault: String| Err(ShardError::Bound { name, fault });
    let text: &str = match argument {
        Expr::Literal(Literal::String(text)) => text,
        Expr::Literal(other) => {
            return fault(format!(" must be a string literal, got {}", go_type(other)));
        }
        other => {
            let kind = kind(other);
            return fault(format!(" must be a string literal (e.g. '0xff'), got expression kind {kind}"));
        }
    };
    let Some(digits) = text.strip_prefix("0x") else {
        return fault(format!(" must have '0x' prefix, got {}", quote(text)));
    };
    if digits.is_empty() {
        return fault(": hex value is required after '0x'".to_owned());
    }
    if digits.len() > DIGITS + 1 {
        let (count, digits) = (digits.len(), quote(digits));
        return fault(format!(": hex value too long ({count} chars, max 17): {digits}"));
    }
    if let Some(other) = digits.chars().find(|digit| !matches!(digit, '0'..='9' | 'a'..='f')) {
        let other = quote(&other.to_string());
        return fault(format!(": invalid hex character {other} in {}", quote(text)));
    }
    match digits.len() {
        DIGITS => Ok((u128::from_str_radix(digits, 16).unwrap_or(END_OF_HASHES), text)),
        _ if text == END => Ok((END_OF_HASHES, text)),
        length if length > DIGITS => {
            fault(format!(": 17-digit hex value must be '{END}' (2^64), got {}", quote(text)))
        }
        _ => {
            let padded = quote(&format!("0x{digits:0>DIGITS$}"));
            fault(format!(
                " must be a 0x-prefixed 16-digit hex value, got {} (did you mean {padded}?)",
                quote(text)
            ))
        }
    }
}

/// Returns the number of cel-go's `ExprKind`, as Go prints it.
const fn kind(expression: &Expr) -> u8 {
    match expression {
        Expr::Error => 0,
        Expr::Call { .. } | Expr::Select { test_only: true, .. } => 1,
        Expr::Comprehension(_) => 2,
        Expr::Ident(_) => 3,
        Expr::List { .. } => 4,
        Expr::Literal(_) => 5,
        Expr::Map { .. } => 6,
        Expr::Select { .. } => 7,
        Expr::Struct { .. } => 8,
    }
}

/// Returns the type that a literal has in Go.
const fn go_type(literal: &Literal) -> &'static str {
    match literal {
        Literal::Null => "structpb.NullValue",
        Literal::Bool(_) => "bool",
        Literal::Int(_) => "int64",
        Literal::Uint(_) => "uint64",
        Literal::Double(_) => "float64",
        Literal::String(_) => "string",
        Literal::Bytes(_) => "[]uint8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: &str = "'0x0000000000000000', '0x8000000000000000'";
    const HIGH: &str = "'0x8000000000000000', '0x10000000000000000'";

    #[test]
    fn selectors_are_shown_in_one_form() {
        let uid = format!("shardRange(object.metadata.uid, {LOW})");
        let both = format!("{uid} || shardRange(object.metadata.uid, {HIGH})");
        let namespace = format!("shardRange(object.metadata.namespace, {HIGH})");
        for (given, shown) in [
            (uid.clone(), &uid),
            (format!("  {}\n", uid.replace(", ", ",")), &uid),
            (format!("({both})"), &both),
            (both.replace('\'', "\""), &both),
            (namespace.clone(), &namespace),
        ] {
            assert_eq!(&**parse(&given).expect(&given).text(), shown, "{given}");
        }
        let many = vec![uid; 500].join(" || ");
        assert_eq!(&**parse(&many).expect("500 ranges").text(), many);
    }

    #[test]
    fn other_texts_are_refused_as_in_kubernetes() {
        let full = "'0x0000000000000000', '0x10000000000000000'";
        for (given, reason) in [
            (" ".to_owned(), "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
            ("shardRange(".to_owned(), "CEL parse error: Syntax error: "),
            ("true".to_owned(), "unexpected expression kind 5; expected shardRange() call or || operator"),
            ("object.metadata.uid".to_owned(), "unexpected expression kind 7; expected"),
            (
                format!("other({full})"),
                "unsupported function \"other\"; only shardRange() and || are allowed",
            ),
            ("shardRange(a, b) && true".to_owned(), "unsupported function \"_&&_\"; only"),
            ("has(object.metadata.uid)".to_owned(), "unsupported function \"has\""),
            ("shardRange(object.metadata.uid)".to_owned(), "requires exactly 3 arguments, got 1"),
            (format!("shardRange('uid', {full})"), "shardRange() first argument: expected field path"),
            (
                format!("shardRange(object.metadata.name, {full})"),
                "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace",
            ),
            (
                "shardRange(object.metadata.uid, 0, 8)".to_owned(),
                "hexStart must be a string literal, got int64",
            ),
            (
                "shardRange(object.metadata.uid, x(), '')".to_owned(),
                "hexStart must be a string literal (e.g. '0xff'), got expression kind 1",
            ),
            (
                "shardRange(object.metadata.uid, '00', '')".to_owned(),
                "hexStart must have '0x' prefix, got \"00\"",
            ),
            (
                "shardRange(object.metadata.uid, '0x', '')".to_owned(),
                "hexStart: hex value is required after '0x'",
            ),
            (
                "shardRange(object.metadata.uid, '0x000000000000000000', '')".to_owned(),
                "hexStart: hex value too long (18 chars, max 17): \"000000000000000000\"",
            ),
            (
                "shardRange(object.metadata.uid, '0x0G', '')".to_owned(),
                "hexStart: invalid hex character \"G\" in \"0x0G\"",
            ),
            (
                "shardRange(object.metadata.uid, '0x0000000000000000', '0xff')".to_owned(),
                "hexEnd must be a 0x-prefixed 16-digit hex value, got \"0xff\" (did you mean \"0x00000000000000ff\"?)",
            ),
            (
                "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000001')".to_owned(),
                "hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got",
            ),
            (
                "shardRange(object.metadata.uid, '0x0000000000000001', '0x0000000000000001')".to_owned(),
                "shard range start 0x0000000000000001 must be less than end 0x0000000000000001",
            ),
            (
                format!(
                    "shardRange(object.metadata.uid, {LOW}) || shardRange(object.metadata.namespace, {HIGH})"
                ),
                "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"",
            ),
        ] {
            let error = parse(&given).expect_err(&given).to_string();
            assert!(error.contains(reason), "{given}: {error}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"shardRange(a,b,c)||".repeat(100_000)).is_err());
    }
}
