//! Values of flags that are more than a number or a path.

use std::net::IpAddr;
use std::str::FromStr;

/// One entry of `--watch-cache-sizes`: `pods#1000`, `deployments.apps#0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource: plural, lower case.
    pub resource: String,
    /// How many events its cache keeps; 0 turns the cache off.
    pub events: usize,
}

/// The range that service addresses are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRange {
    /// The range's base address, host bits cleared.
    pub base: IpAddr,
    /// How many leading bits all its addresses share.
    pub prefix_bits: u8,
}

impl FromStr for CacheSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, events) = text
            .split_once('#')
            .ok_or_else(|| format!("\"{text}\" has no #: write resource[.group]#size, as in pods#1000"))?;
        let events = events.parse().map_err(|_| format!("\"{events}\" is no number of events"))?;
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        if resource.is_empty() {
            return Err(format!("\"{text}\" names no resource"));
        }
        Ok(Self { group: group.to_owned(), resource: resource.to_owned(), events })
    }
}

impl ServiceRange {
    /// The first address after the base: the API server's own inside the cluster.
    pub fn first_address(&self) -> IpAddr {
        match self.base {
            IpAddr::V4(base) => IpAddr::V4((u32::from(base) | 1).into()),
            IpAddr::V6(base) => IpAddr::V6((u128::from(base) | 1).into()),
        }
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
            IpAddr::V4(v4) if prefix_bits <= 30 => {
                IpAddr::V4((u32::from(v4) & !(u32::MAX >> prefix_bits)).into())
            }
            IpAddr::V6(v6) if prefix_bits <= 126 => {
                IpAddr::V6((u128::from(v6) & !(u128::MAX >> prefix_bits)).into())
            }
            _ => return Err(format!("\"{text}\" leaves no room for services")),
        };
        Ok(Self { base, prefix_bits })
    }
}
