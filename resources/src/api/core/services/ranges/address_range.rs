//! A range of service addresses.
//!
//! Kubernetes concept: `ipallocator.Allocator`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Minimum length of the prefix of a range of IPv6 addresses.
const SHORTEST_IPV6_PREFIX: u8 = 64;

/// A range of service addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServiceRange {
    /// The range's base address, host bits cleared.
    pub base: IpAddr,
    /// Length of the network prefix, in bits.
    pub prefix_bits: u8,
}

// === impl ServiceRange ===

impl ServiceRange {
    /// Returns the first address after the base: the address of the API server inside the cluster.
    pub fn first_address(&self) -> IpAddr {
        self.address(1)
    }

    /// Returns the family of the range.
    pub(in crate::api::core::services) fn family(self) -> &'static str {
        family_of(self.base)
    }

    /// Returns the number of addresses, the unusable ones included.
    pub(in crate::api::core::services) fn size(self) -> u128 {
        // The prefix of IPv6 ranges has at least 64 bits.
        1_u128.checked_shl(self.host_bits()).unwrap_or(u128::MAX)
    }

    /// Whether a service may have the address: neither the network address nor, for IPv4, the broadcast address.
    pub(in crate::api::core::services) fn is_allocatable(self, address: IpAddr) -> bool {
        let offset = match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                u128::from(u32::from(address)).checked_sub(u128::from(u32::from(base)))
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => u128::from(address).checked_sub(u128::from(base)),
            _ => None,
        };
        offset.is_some_and(|offset| (1..=self.last_offset()).contains(&offset))
    }

    /// Returns the addresses to try for a service without a requested address: the upper part of the range from a
    /// random start, then the lower part, which is meant for requested addresses.
    pub(in crate::api::core::services) fn candidates(self, start: u64) -> impl Iterator<Item = IpAddr> {
        let reserved = self.reserved();
        let count = self.last_offset() - reserved;
        let upper = (0..count).map(move |step| 1 + reserved + (u128::from(start) + step) % count.max(1));
        upper.chain(1..=reserved).map(move |offset| self.address(offset))
    }

    /// Returns the size of the lower part, which is meant for requested addresses: a sixteenth, within bounds.
    fn reserved(self) -> u128 {
        const FEWEST: u128 = 16;
        const MOST: u128 = 256;
        let size = self.size();
        if size <= FEWEST { 0 } else { (size / 16).clamp(FEWEST, MOST) }
    }

    /// Returns the offset of the last usable address; 0 if there is none.
    fn last_offset(self) -> u128 {
        let unusable = if self.base.is_ipv4() { 2 } else { 1 };
        self.size().saturating_sub(unusable)
    }

    fn host_bits(self) -> u32 {
        let bits = if self.base.is_ipv4() { 32 } else { 128 };
        bits - u32::from(self.prefix_bits)
    }

    fn address(self, offset: u128) -> IpAddr {
        match self.base {
            IpAddr::V4(base) => {
                let offset = u32::try_from(offset).unwrap_or_default();
                IpAddr::V4(u32::from(base).wrapping_add(offset).into())
            }
            IpAddr::V6(base) => IpAddr::V6(u128::from(base).wrapping_add(offset).into()),
        }
    }
}

impl fmt::Display for ServiceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix_bits)
    }
}

/// Error of a text that is not a range of addresses for services.
#[derive(Debug, thiserror::Error)]
pub enum RangeError {
    /// It has another form.
    #[error("\"{0}\" is not a range of addresses: use one such as 10.0.0.0/24")]
    Malformed(String),
    /// It has too many IPv6 addresses: the prefix has this number of bits.
    #[error("shortest allowed prefix length for service CIDR is {SHORTEST_IPV6_PREFIX}, got {0}")]
    PrefixTooShort(u8),
}

impl FromStr for ServiceRange {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let invalid = || RangeError::Malformed(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let prefix_bits: u8 = bits.parse().ok().filter(|_| is_number).ok_or_else(invalid)?;
        let base = match address {
            IpAddr::V4(v4) if prefix_bits <= 32 => {
                let hosts = u32::MAX.checked_shr(prefix_bits.into()).unwrap_or_default();
                IpAddr::V4((u32::from(v4) & !hosts).into())
            }
            IpAddr::V6(_) if prefix_bits < SHORTEST_IPV6_PREFIX => {
                return Err(RangeError::PrefixTooShort(prefix_bits));
            }
            IpAddr::V6(v6) if prefix_bits <= 128 => {
                let hosts = u128::MAX.checked_shr(prefix_bits.into()).unwrap_or_default();
                IpAddr::V6((u128::from(v6) & !hosts).into())
            }
            _ => return Err(invalid()),
        };
        Ok(Self { base, prefix_bits })
    }
}

/// Returns the family of an address.
pub(crate) fn family_of(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> ServiceRange {
        text.parse().expect("a range")
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_hosts_of_a_range_are_allocatable_and_the_first_are_reserved() {
        let small = range("10.0.0.0/24");
        let all: Vec<IpAddr> = small.candidates(1_000_000).collect();
        assert_eq!(all.len(), 254);
        assert!(all.iter().all(|address| small.is_allocatable(*address)));
        assert!(all[..238].iter().all(|candidate| *candidate >= address("10.0.0.17")));
        for outside in ["10.0.0.0", "10.0.0.255", "10.0.1.1", "fd00::1"] {
            assert!(!small.is_allocatable(address(outside)), "{outside}");
        }
        let six = range("fd00::/112");
        assert!(six.is_allocatable(address("fd00::1")) && six.candidates(7).count() == 65_535);
        assert!(six.is_allocatable(address("fd00::ffff")) && !six.is_allocatable(address("fd00::1:0")));
        assert_eq!(small.to_string(), "10.0.0.0/24");
    }

    #[test]
    fn large_and_tiny_ranges_are_used_whole() {
        let large = range("2001:db8::/64");
        assert!(large.is_allocatable(address("2001:db8::ffff:ffff:ffff:ffff")));
        assert!(
            !large.is_allocatable(address("2001:db8::")) && !large.is_allocatable(address("2001:db8:0:1::"))
        );
        let far = large.candidates(u64::MAX).next().expect("a candidate");
        assert!(large.is_allocatable(far), "{far}");
        for (text, count) in
            [("10.0.0.0/32", 0), ("10.0.0.0/31", 0), ("10.0.0.0/30", 2), ("fd00::/128", 0), ("fd00::/127", 1)]
        {
            assert_eq!(range(text).candidates(3).count(), count, "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_range_are_refused() {
        for text in
            ["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/+8", "fd00::/129", "10.0.0/8", "x/8"]
        {
            assert!(text.parse::<ServiceRange>().is_err(), "{text}");
        }
        let refused = "fd00::/63".parse::<ServiceRange>().expect_err("too large");
        assert_eq!(refused.to_string(), "shortest allowed prefix length for service CIDR is 64, got 63");
    }
}
