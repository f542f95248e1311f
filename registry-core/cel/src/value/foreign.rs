//! Values of types that only functions know.
//!
//! Each type knows how its texts are read, written and compared, for the functions of the library.

use std::fmt;
use std::net::IpAddr;

use registry_schema::Quantity;

use crate::declarations;
use crate::types::Type;

pub(crate) mod authorizer;
pub(crate) mod format;
pub(crate) mod net;
pub(crate) mod semver;
pub(crate) mod url;

use authorizer::AuthorizerValue;
use format::NamedFormat;
use net::Cidr;
use semver::Version;
use url::Url;

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
    Authorizer(AuthorizerValue),
}

// === impl Foreign ===

impl Foreign {
    /// The type of the value.
    pub(super) fn type_of(&self) -> Type {
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

    /// Returns the name of the Go type that represents the value in Kubernetes.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "cel.Quantity",
            Self::Url(_) => "cel.URL",
            Self::Ip(_) => "cel.IP",
            Self::Cidr(_) => "cel.CIDR",
            Self::Format(_) => "*cel.Format",
            Self::Semver(_) => "cel.Semver",
            Self::Authorizer(_) => "library.authorizerVal",
        }
    }

    /// Whether values of the other's type can be compared with it.
    pub(super) fn is_comparable_to(&self, other: &Self) -> bool {
        !matches!(self, Self::Authorizer(_)) && std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The size that costs are computed from.
    pub(super) fn cost_size(&self) -> u64 {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(cidr) => u64::from(cidr.prefix_length).div_ceil(8),
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
