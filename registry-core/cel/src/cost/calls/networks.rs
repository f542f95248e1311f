//! The costs of functions of networks.

use super::super::{CostEstimate, SizeEstimate};
use super::{Call, CallEstimate, Evaluated, cost, traversal, traversed};
use crate::declarations::NetworkCost;

// === impl NetworkCost ===

impl NetworkCost {
    /// The estimate of a call.
    pub(super) fn estimate(self, call: &Call<'_, '_>) -> CallEstimate {
        let address = SizeEstimate { min: 4, max: 16 };
        let mut own = traversal(address.add(address));
        if self.compares_lengths() {
            own = own.add(traversal(address)).add(CostEstimate::fixed(1));
        }
        if self.parses() {
            own = own.add(traversal(call.size(1)));
        }
        cost(own)
    }

    /// The cost when it is evaluated.
    pub(super) fn compute(self, call: Evaluated<'_, '_>) -> u64 {
        let address = call.size(0);
        let mut own = traversed(2 * address);
        if self.compares_lengths() {
            own += traversed(address) + 1;
        }
        if self.parses() {
            own += traversed(call.size(1));
        }
        own
    }

    /// Whether the second operand is a network.
    fn compares_lengths(self) -> bool {
        matches!(self, Self::Cidr | Self::CidrText)
    }

    /// Whether the second operand is a text.
    fn parses(self) -> bool {
        matches!(self, Self::IpText | Self::CidrText)
    }
}
