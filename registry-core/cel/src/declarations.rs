//! The functions of an environment: names, overloads and the libraries that they belong to.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::syntax::ast::Name;
use super::types::{ObjectType, OpaqueType, Param, Type};

mod cost_class;
mod parse;

pub(crate) use cost_class::{CostClass, ListCost, NetworkCost, OperatorCost, TextCost};

/// The minor number of the release of Kubernetes whose libraries there are.
const MINOR_RELEASE: u32 = 36;

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) library: Library,
    pub(crate) is_member: bool,
    /// The types of the receiver, if there is one, and of the arguments.
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// Whether a type parameter occurs.
    pub(crate) is_generic: bool,
    pub(crate) cost: CostClass,
}

/// A function and its signatures.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
}

/// A group of functions that an environment has or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Library {
    /// Operators, conversions, strings, time: always there.
    Standard,
    /// `isSorted`, `sum`, `min`, `max`, `indexOf` of lists.
    KubernetesLists,
    /// `find` and `findAll`.
    Regex,
    /// `url` and its parts.
    Url,
    /// The authorizer and its checks.
    Authorizer,
    /// Field and label selectors of the authorizer's checks.
    AuthorizerSelectors,
    /// `quantity`.
    Quantity,
    /// Optional values and their syntax.
    Optional,
    /// cel-go's string functions.
    Strings,
    /// `sets.contains` and the like.
    Sets,
    /// `ip`.
    Ip,
    /// `cidr`.
    Cidr,
    /// Named formats.
    Format,
    /// Macros with two variables.
    Comprehensions,
    /// `semver`.
    Semver,
    /// cel-go's list functions: `slice`, `sort`, `flatten` and so on.
    Lists,
    /// `jsonpatch.escapeKey`, of mutating admission policies only.
    JsonPatch,
    /// `cel.bind`, of device classes only.
    Bindings,
}

/// The libraries of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Libraries(u32);

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(parse::functions);

/// Finds a function by its name.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

/// All functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.values()
}

// === impl Libraries ===

impl Libraries {
    /// The libraries of stored expressions: all that Kubernetes has.
    pub fn for_stored_expressions() -> Self {
        Self::for_release(MINOR_RELEASE)
    }

    /// The libraries that new expressions may use: those of the previous release, which must be able to read them too.
    pub fn for_new_expressions() -> Self {
        Self::for_release(MINOR_RELEASE - 1)
    }

    fn for_release(minor: u32) -> Self {
        let introduced = [
            (Library::Standard, 0),
            (Library::KubernetesLists, 0),
            (Library::Regex, 0),
            (Library::Url, 0),
            (Library::Strings, 0),
            (Library::Authorizer, 27),
            (Library::Quantity, 28),
            (Library::Optional, 28),
            (Library::Sets, 29),
            (Library::Ip, 30),
            (Library::Cidr, 30),
            (Library::Format, 31),
            (Library::AuthorizerSelectors, 31),
            (Library::Comprehensions, 32),
            (Library::Semver, 33),
            (Library::Lists, 34),
        ];
        let libraries = introduced.iter().filter(|(_, since)| *since <= minor);
        libraries.fold(Self(0), |all, (library, _)| all.with(*library))
    }

    /// Adds a library.
    #[must_use]
    pub fn with(self, library: Library) -> Self {
        Self(self.0 | 1 << library as u8)
    }

    /// Takes a library away.
    #[must_use]
    pub fn without(self, library: Library) -> Self {
        Self(self.0 & !(1 << library as u8))
    }

    /// Whether a library is there.
    pub fn contains(self, library: Library) -> bool {
        self.0 & (1 << library as u8) != 0
    }
}

/// The types that are known by name in every environment.
pub(crate) fn named_type(name: &str) -> Option<Type> {
    let simple = match name {
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null_type" => Type::Null,
        "duration" | "google.protobuf.Duration" => Type::Duration,
        "timestamp" | "google.protobuf.Timestamp" => Type::Timestamp,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "type" => Type::Type(None),
        "optional_type" => Type::optional(Type::Param(Param::Declared('V'))),
        "net.IP" | "net.CIDR" => {
            Type::Opaque(Arc::new(OpaqueType { name: Name::from(name), parameters: Vec::new() }))
        }
        _ if name.starts_with("kubernetes.") => Type::Object(Arc::new(ObjectType::without_fields(name))),
        _ => return None,
    };
    Some(simple)
}
