//! The types of values as error messages of evaluation name them.

use super::{EvaluationError, Value, fail};

impl Value<'_> {
    /// Whether the type has methods. Operators and functions that it does not have are then looked up among these, and
    /// the error of one that is not found does not name it.
    pub(crate) fn has_methods(&self) -> bool {
        matches!(self, Self::String(_) | Self::Duration(_) | Self::Timestamp(_))
    }

    /// Returns the name of the type of an argument. Objects are maps at run time.
    pub(crate) fn argument_type(&self) -> String {
        match self {
            Self::Map(_) => "map".to_owned(),
            other => other.type_of().name().to_owned(),
        }
    }

    /// Returns the name of the Go type that represents the value in cel-go.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Duration(_) => "types.Duration",
            Self::Timestamp(_) => "types.Timestamp",
            Self::List(_) => "*types.baseList",
            Self::Map(_) => "*types.baseMap",
            Self::Type(_) => "*types.Type",
            Self::Optional(_) => "*types.Optional",
            Self::Foreign(foreign) => foreign.go_type(),
        }
    }

    /// Returns the error of a comprehension over a value that has no elements.
    pub(crate) fn not_iterable<T>(&self, has_two_variables: bool) -> Result<T, Box<EvaluationError>> {
        let found = self.go_type();
        fail(if has_two_variables {
            format!("unsupported comprehension range type: {found}")
        } else {
            format!("got '{found}', expected iterable type")
        })
    }
}
