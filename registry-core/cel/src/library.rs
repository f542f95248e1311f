//! The functions of Kubernetes' environment.

use super::budget::CostBudget;
use super::declarations;
use super::value::{Evaluated, EvaluationError, Foreign, Value, fail, no_such_overload};
use registry_schema::go_regexp::Pattern;

mod authorizer;
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

pub(crate) use format_string::check_literal as check_format_literal;

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

impl<'c> Call<'_, 'c> {
    /// The argument at a place, if it is of a type that only functions know.
    fn foreign(&self, place: usize) -> Option<&'c Foreign> {
        match self.args.get(place)? {
            Value::Foreign(foreign) => Some(foreign.as_ref()),
            _ => None,
        }
    }

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
