//! The functions of Kubernetes' environment.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::budget::CostBudget;
use super::declarations;
use super::types::Type;
use super::value::{
    Entries, Evaluated, EvaluationError, Key, List, Map, Text, Value, fail, no_such_overload,
};
use registry_schema::Quantity;
use registry_schema::go_regexp::Pattern;

pub(crate) mod authorizer;
mod conversions;
mod escape;
mod format;
mod format_string;
pub(crate) mod lists;
mod net;
mod optional;
mod quantity;
pub(crate) mod regex;
mod semver;
mod sets;
mod standard;
mod strings;
mod timestamps;
mod url;

pub(crate) use format::NamedFormat;
pub(crate) use format_string::check_literal as check_format_literal;
pub(crate) use net::Cidr;
pub(crate) use semver::Version;
pub(crate) use url::Url;

/// A value of a type that only functions know.
#[derive(Clone, Debug)]
pub enum Foreign {
    #[doc(hidden)]
    Quantity(Quantity),
    #[doc(hidden)]
    Url(Box<Url>),
    #[doc(hidden)]
    Ip(IpAddr),
    #[doc(hidden)]
    Cidr(Cidr),
    #[doc(hidden)]
    Format(NamedFormat),
    #[doc(hidden)]
    Semver(Version),
    /// An authorizer or one of its checks.
    Authorizer(authorizer::AuthorizerValue),
}

/// A call of a function under way.
pub(crate) struct Call<'a, 'c> {
    pub(crate) function: &'static str,
    pub(crate) args: &'c [Value<'a>],
    /// The regular expression, if the argument is a constant.
    pub(crate) pattern: Option<&'c Pattern>,
    pub(crate) budget: &'c CostBudget<'c>,
}

/// A function that computes its result from arguments of any types.
pub(crate) type Native = for<'a, 'c> fn(&mut Call<'a, 'c>) -> Evaluated<'a>;

/// Finds the implementation of a function, with its name.
pub(crate) fn native(name: &str) -> Option<(&'static str, Native)> {
    let function = declarations::function(name)?.name;
    let native = standard::native(name)
        .or_else(|| conversions::native(name))
        .or_else(|| timestamps::native(name))
        .or_else(|| strings::native(name))
        .or_else(|| lists::native(name))
        .or_else(|| sets::native(name))
        .or_else(|| regex::native(name))
        .or_else(|| url::native(name))
        .or_else(|| quantity::native(name))
        .or_else(|| net::native(name))
        .or_else(|| format::native(name))
        .or_else(|| semver::native(name))
        .or_else(|| optional::native(name))
        .or_else(|| authorizer::native(name))
        .or_else(|| escape::native(name))?;
    Some((function, native))
}

// === impl Call ===

impl Call<'_, '_> {
    /// The error of arguments that the function does not take.
    pub(crate) fn no_such_overload<T>(&self) -> Result<T, Box<EvaluationError>> {
        let has_methods = self.args.first().is_some_and(Value::has_methods);
        match self.function {
            // Functions of the language itself are found by what the type of their first argument can do.
            "contains" | "endsWith" | "matches" | "startsWith" => no_such_overload(),
            "size" | "sort" if has_methods => no_such_overload(),
            "size" | "sort" => fail(format!("no such overload: {}", self.function)),
            function => {
                let types: Vec<_> = self.args.iter().map(Value::argument_type).collect();
                fail(format!("no such overload: {function}({})", types.join(", ")))
            }
        }
    }

    /// Charges for work that does not show in the cost of the call. A thousand units of it cost 1.
    pub(crate) fn work(&self, units: usize) -> Result<(), Box<EvaluationError>> {
        self.budget.work(units as u64)
    }
}

/// A list of texts.
pub(crate) fn list_of_texts<'a>(texts: impl IntoIterator<Item = String>) -> Value<'a> {
    Value::list(texts.into_iter().map(Value::string).collect())
}

/// Copies a value so that it borrows nothing.
pub(crate) fn to_static(value: &Value<'_>) -> Option<Value<'static>> {
    Some(match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(*value),
        Value::Int(number) => Value::Int(*number),
        Value::Uint(number) => Value::Uint(*number),
        Value::Double(number) => Value::Double(*number),
        Value::String(text) => Value::string(text.as_str()),
        Value::Bytes(bytes) => Value::Bytes(Arc::clone(bytes)),
        Value::Duration(nanoseconds) => Value::Duration(*nanoseconds),
        Value::Timestamp(time) => Value::Timestamp(*time),
        Value::Type(of) => Value::Type(Arc::clone(of)),
        Value::Foreign(foreign) => Value::Foreign(Arc::clone(foreign)),
        Value::Optional(None) => Value::Optional(None),
        Value::Optional(Some(value)) => Value::some(to_static(value)?),
        Value::List(List::Owned(items)) => Value::list(items.iter().map(to_static).collect::<Option<_>>()?),
        Value::Map(Map::Owned(entries)) => {
            let mut copied = Entries::new();
            for (key, (written, value)) in entries.iter() {
                copied.insert(static_key(key), (to_static(written)?, to_static(value)?));
            }
            Value::map(copied)
        }
        Value::List(List::Json(..) | List::Joined(..)) | Value::Map(_) => return None,
    })
}

fn static_key(key: &Key<'_>) -> Key<'static> {
    match key {
        Key::Bool(value) => Key::Bool(*value),
        Key::Number(number) => Key::Number(*number),
        Key::Fraction(bits) => Key::Fraction(*bits),
        Key::String(text) => Key::String(Text::Shared(Arc::from(text.as_str()))),
    }
}

// === impl Foreign ===

impl Foreign {
    /// The type of the value.
    pub(crate) fn type_of(&self) -> Type {
        let name = match self {
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Authorizer(value) => value.type_name(),
        };
        declarations::named_type(name).unwrap_or(Type::Dyn)
    }

    /// Whether values of the other's type can be compared with it.
    pub(crate) fn is_comparable_to(&self, other: &Self) -> bool {
        !matches!(self, Self::Authorizer(_)) && std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    pub(crate) fn cost_size(&self) -> u64 {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(cidr) => u64::from(cidr.prefix_length()).div_ceil(8),
            _ => 1,
        }
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(a), Self::Quantity(b)) => a.compare(b).is_eq(),
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a), Self::Cidr(b)) => a == b,
            (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a.compare(b).is_eq(),
            _ => false,
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(quantity) => write!(f, "{quantity}"),
            Self::Url(url) => write!(f, "{url}"),
            Self::Ip(address) => write!(f, "{address}"),
            Self::Cidr(cidr) => write!(f, "{cidr}"),
            Self::Format(format) => f.write_str(format.name()),
            Self::Semver(version) => write!(f, "{version}"),
            Self::Authorizer(value) => f.write_str(value.type_name()),
        }
    }
}
