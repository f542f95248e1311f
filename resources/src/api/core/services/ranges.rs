//! The ranges of service addresses that a server is started with: one of a family, or one of each.
//!
//! Kubernetes concept: `validateClusterIPFlags` and `getServiceIPAndRanges` of `cmd/kube-apiserver`.

mod address_range;
mod node_port_range;

use std::fmt;
use std::str::FromStr;

pub(crate) use address_range::family_of;
pub use address_range::{RangeError, ServiceRange};
pub(super) use node_port_range::NodePort;
pub use node_port_range::{NodePortRange, PortRangeError};

/// Minimum number of addresses of the primary range.
const FEWEST_ADDRESSES: u128 = 8;

/// The ranges of service addresses (`--service-cluster-ip-range`). The primary one decides the family of services that
/// choose none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRanges {
    primary: ServiceRange,
    secondary: Option<ServiceRange>,
}

// === impl ServiceRanges ===

impl ServiceRanges {
    /// Returns the primary range.
    pub fn primary(&self) -> ServiceRange {
        self.primary
    }

    /// Returns the ranges, the primary one first.
    pub fn all(&self) -> impl Iterator<Item = ServiceRange> {
        std::iter::once(self.primary).chain(self.secondary)
    }

    /// Returns the family of the primary range.
    pub fn family(&self) -> &'static str {
        self.primary.family()
    }

    /// Whether there is a range of this family.
    pub(super) fn has_family(&self, family: &str) -> bool {
        self.all().any(|range| range.family() == family)
    }

    /// Whether there is a range of each family.
    pub(super) fn are_dual(&self) -> bool {
        self.secondary.is_some()
    }
}

impl From<ServiceRange> for ServiceRanges {
    fn from(primary: ServiceRange) -> Self {
        Self { primary, secondary: None }
    }
}

impl fmt::Display for ServiceRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.primary)?;
        self.secondary.map_or(Ok(()), |secondary| write!(f, ",{secondary}"))
    }
}

/// Error of a text that is neither one range of addresses for services nor two.
#[derive(Debug, thiserror::Error)]
pub enum RangesError {
    /// There are more than two.
    #[error("--service-cluster-ip-range must not contain more than two entries")]
    TooMany,
    /// The first is malformed.
    #[error("service-cluster-ip-range[0] is not a valid cidr: {0}")]
    Primary(#[source] RangeError),
    /// The second is malformed.
    #[error("service-cluster-ip-range[1] is not an ip net: {0}")]
    Secondary(#[source] RangeError),
    /// The first has too few addresses.
    #[error("the service cluster IP range must be at least {FEWEST_ADDRESSES} IP addresses")]
    TooSmall,
    /// Both are of one family.
    #[error("--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family")]
    SameFamily,
}

impl FromStr for ServiceRanges {
    type Err = RangesError;

    fn from_str(text: &str) -> Result<Self, RangesError> {
        let parts: Vec<&str> = text.split(',').collect();
        let (first, second) = match parts.as_slice() {
            [first] => (*first, None),
            [first, second] => (*first, Some(*second)),
            _ => return Err(RangesError::TooMany),
        };
        let primary: ServiceRange = first.parse().map_err(RangesError::Primary)?;
        if primary.size() < FEWEST_ADDRESSES {
            return Err(RangesError::TooSmall);
        }
        let secondary: Option<ServiceRange> =
            second.map(str::parse).transpose().map_err(RangesError::Secondary)?;
        if secondary.is_some_and(|secondary| secondary.family() == primary.family()) {
            return Err(RangesError::SameFamily);
        }
        Ok(Self { primary, secondary })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_or_one_of_each_family_is_accepted() {
        for (text, family, are_dual) in [
            ("10.0.0.0/24", "IPv4", false),
            ("fd00::/64", "IPv6", false),
            ("10.0.0.0/16,fd00::/112", "IPv4", true),
            ("fd00::/112,10.0.0.0/16", "IPv6", true),
        ] {
            let ranges: ServiceRanges = text.parse().expect(text);
            assert_eq!((ranges.family(), ranges.are_dual()), (family, are_dual), "{text}");
            assert_eq!(ranges.to_string(), text);
        }
    }

    #[test]
    fn other_ranges_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "[0] is not a valid cidr"),
            ("zork", "[0] is not a valid cidr"),
            ("10.0.0.0/16,", "[1] is not an ip net"),
            ("10.0.0.0/16,zork", "[1] is not an ip net"),
            (",10.0.0.0/16", "[0] is not a valid cidr"),
            ("10.0.0.0/16,10.0.0.0/16", "must be of different IP family"),
            ("10.0.0.0/8,10.1.0.0/16", "must be of different IP family"),
            ("fd00::/112,fd01::/112", "must be of different IP family"),
            ("10.0.0.0/16,fd00::/112,10.1.0.0/16", "must not contain more than two entries"),
            ("10.0.0.0/30", "must be at least 8 IP addresses"),
            ("fd00::/16", "shortest allowed prefix length"),
            ("10.0.0.0/16,fd00::/16", "shortest allowed prefix length"),
        ] {
            let refused = text.parse::<ServiceRanges>().expect_err(text);
            assert!(refused.to_string().contains(reason), "{text}: {refused}");
        }
        let many = vec!["fd00::/112"; 33].join(",");
        assert!(many.parse::<ServiceRanges>().is_err());
    }
}
