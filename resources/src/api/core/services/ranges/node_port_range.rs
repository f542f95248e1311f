//! The range of node ports.
//!
//! Kubernetes concept: `PortRange` of `k8s.io/apimachinery/pkg/util/net`, and `portallocator`.

use std::fmt;
use std::str::FromStr;

/// A node port. One number is one port for all protocols.
pub(in crate::api::core::services) type NodePort = i64;

/// The range of node ports (`--service-node-port-range`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePortRange {
    first: u16,
    last: u16,
}

// === impl NodePortRange ===

impl NodePortRange {
    /// Whether a service may have the port.
    pub(in crate::api::core::services) fn contains(self, port: NodePort) -> bool {
        (i64::from(self.first)..=i64::from(self.last)).contains(&port)
    }

    /// Returns the ports to try for a service without a requested one: the upper part of the range from a random start,
    /// then the lower part, which is meant for requested ports.
    pub(in crate::api::core::services) fn candidates(self, start: u64) -> impl Iterator<Item = NodePort> {
        let reserved = self.reserved();
        let count = self.size() - reserved;
        let upper = (0..count).map(move |step| reserved + (start % count.max(1) + step) % count.max(1));
        let first = i64::from(self.first);
        upper.chain(0..reserved).map(move |offset| first + i64::try_from(offset).unwrap_or_default())
    }

    fn size(self) -> u64 {
        u64::from(self.last.saturating_sub(self.first)) + 1
    }

    /// Returns the size of the lower part, which is meant for requested ports.
    fn reserved(self) -> u64 {
        const FEWEST: u64 = 16;
        const MOST: u64 = 128;
        let size = self.size();
        if size <= FEWEST { 0 } else { (size / 32).clamp(FEWEST, MOST) }
    }
}

impl Default for NodePortRange {
    fn default() -> Self {
        Self { first: 30_000, last: 32_767 }
    }
}

impl fmt::Display for NodePortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Error of a text that is no range of ports.
#[derive(Debug, thiserror::Error)]
pub enum PortRangeError {
    /// It has another form.
    #[error("unable to parse port range: {0:?} is not a range such as 30000-32767")]
    Malformed(String),
    /// It ends before it begins.
    #[error("end port cannot be less than start port: {0}")]
    Reversed(String),
    /// It contains numbers that no port has.
    #[error("the port range cannot be greater than 65535: {0}")]
    TooLarge(String),
    /// It contains the port 0.
    #[error("the port range cannot contain port 0: {0}")]
    Zero(String),
}

impl FromStr for NodePortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<Self, PortRangeError> {
        let text = text.trim();
        let port = |part: &str| -> Result<u32, PortRangeError> {
            part.parse().map_err(|_| PortRangeError::Malformed(text.to_owned()))
        };
        let (first, last) = if let Some((first, last)) = text.split_once('-') {
            (port(first)?, port(last)?)
        } else if let Some((first, count)) = text.split_once('+') {
            let first = port(first)?;
            (first, first.saturating_add(port(count)?))
        } else {
            (port(text)?, port(text)?)
        };
        if last < first {
            return Err(PortRangeError::Reversed(text.to_owned()));
        }
        let narrow = |port: u32| u16::try_from(port).map_err(|_| PortRangeError::TooLarge(text.to_owned()));
        let (first, last) = (narrow(first)?, narrow(last)?);
        if first == 0 {
            return Err(PortRangeError::Zero(text.to_owned()));
        }
        Ok(Self { first, last })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ranges_are_read_in_the_forms_of_kubernetes() {
        for (text, shown) in [
            ("30000-32767", "30000-32767"),
            ("20000+9", "20000-20009"),
            (" 80 ", "80-80"),
            ("1-65535", "1-65535"),
        ] {
            let range: NodePortRange = text.parse().expect(text);
            assert_eq!(range.to_string(), shown);
        }
        for text in
            ["", "x", "30000-", "-1", "10-9", "1-65536", "65535+1", "0-10", "1-2-3", "4294967295+4294967295"]
        {
            assert!(text.parse::<NodePortRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_port_of_a_range_is_tried_and_the_lower_part_comes_last() {
        let usual = NodePortRange::default();
        let all: Vec<NodePort> = usual.candidates(u64::MAX).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 2_768);
        assert!(
            all[..2_682].iter().all(|port| *port >= 30_086) && all.iter().all(|port| usual.contains(*port))
        );
        let single: NodePortRange = "80".parse().expect("a range");
        assert_eq!(single.candidates(7).collect::<Vec<_>>(), [80]);
        assert!(!single.contains(81) && !single.contains(79));
    }
}
