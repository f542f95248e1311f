//! The address range of services.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Maximum number of addresses that are allocated from a large range.
const MAX_ADDRESSES: u128 = 1 << 20;

/// The address range of services (`--service-cluster-ip-range`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub(super) fn family(self) -> &'static str {
        let [own, _] = self.families();
        own
    }

    /// Returns both families, the family of the range first.
    pub(super) fn families(self) -> [&'static str; 2] {
        if self.base.is_ipv4() { ["IPv4", "IPv6"] } else { ["IPv6", "IPv4"] }
    }

    /// Whether a service may have the address: neither the network address nor the broadcast address.
    pub(super) fn gives(self, address: IpAddr) -> bool {
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
    pub(super) fn candidates(self, start: u32) -> impl Iterator<Item = IpAddr> {
        let reserved = self.reserved();
        let count = self.last_offset().min(MAX_ADDRESSES) - reserved;
        let upper = (0..count).map(move |step| 1 + reserved + (u128::from(start) + step) % count.max(1));
        upper.chain(1..=reserved).map(move |offset| self.address(offset))
    }

    /// Returns the size of the lower part, which is meant for requested addresses: a sixteenth, within bounds.
    fn reserved(self) -> u128 {
        const FEWEST: u128 = 16;
        const MOST: u128 = 256;
        let size = self.last_offset() + 2;
        if size <= FEWEST { 0 } else { (size / 16).clamp(FEWEST, MOST) }
    }

    fn last_offset(self) -> u128 {
        let bits = if self.base.is_ipv4() { 32 } else { 128 };
        // The parser requires at least two host bits; more than 64 are not used.
        (1_u128 << (bits - u32::from(self.prefix_bits)).min(64)) - 2
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

impl FromStr for ServiceRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("\"{text}\" is no range of addresses such as 10.0.0.0/24");
        let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let prefix_bits: u8 = bits.parse().map_err(|_| invalid())?;
        let base = match address {
            IpAddr::V4(v4) if (1..=30).contains(&prefix_bits) => {
                IpAddr::V4((u32::from(v4) & !(u32::MAX >> prefix_bits)).into())
            }
            IpAddr::V6(v6) if (1..=126).contains(&prefix_bits) => {
                IpAddr::V6((u128::from(v6) & !(u128::MAX >> prefix_bits)).into())
            }
            _ => return Err(format!("\"{text}\" leaves no room for services")),
        };
        Ok(Self { base, prefix_bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_gives_its_hosts_and_reserves_the_first() {
        let range: ServiceRange = "10.0.0.0/24".parse().expect("a range");
        let all: Vec<IpAddr> = range.candidates(1_000_000).collect();
        assert_eq!(all.len(), 254);
        assert!(all.iter().all(|address| range.gives(*address)));
        assert!(
            all[..238].iter().all(|address| *address >= "10.0.0.17".parse::<IpAddr>().expect("an address"))
        );
        for outside in ["10.0.0.0", "10.0.0.255", "10.0.1.1", "fd00::1"] {
            assert!(!range.gives(outside.parse().expect("an address")), "{outside}");
        }
        let six: ServiceRange = "fd00::/112".parse().expect("a range");
        assert!(six.gives("fd00::1".parse().expect("an address")) && six.candidates(7).count() > 60_000);
        assert_eq!(range.to_string(), "10.0.0.0/24");
    }
}
