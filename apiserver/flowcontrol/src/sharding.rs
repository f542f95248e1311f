//! Shuffle sharding: each flow has a few queues of many, so that two flows rarely share all of theirs.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/util/shufflesharding`.

/// Maximum number of bits of a hash that a hand may use, so that all cards are about equally frequent.
const MAX_ENTROPY_BITS: f64 = 60.0;
/// Maximum number of queues.
const MAX_QUEUES: u32 = 1 << 26;

/// Deals a hand of queues for a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dealer {
    queues: u32,
    hand_size: u32,
}

// === impl Dealer ===

impl Dealer {
    /// Returns a dealer of hands of this size, or `None` if the numbers do not allow one.
    pub(super) fn new(queues: u32, hand_size: u32) -> Option<Self> {
        let is_possible = hand_size > 0 && hand_size <= queues && queues <= MAX_QUEUES;
        let entropy_bits = (f64::from(queues).log2() * f64::from(hand_size)).ceil();
        (is_possible && entropy_bits <= MAX_ENTROPY_BITS).then_some(Self { queues, hand_size })
    }

    /// Returns the number of cards in a hand.
    pub(super) fn hand_size(self) -> usize {
        self.hand_size as usize
    }

    /// Returns the number of queues.
    pub(super) fn queues(self) -> usize {
        self.queues as usize
    }

    /// Replaces `hand` by the queues of this hash: different ones, in the order in which they are dealt.
    pub(super) fn deal(self, mut hash: u64, hand: &mut Vec<u32>) {
        hand.clear();
        for dealt in 0..self.hand_size {
            let left = u64::from(self.queues - dealt);
            hand.push(u32::try_from(hash % left).unwrap_or(0));
            hash /= left;
        }
        // Each card is a position among those that were left. From the last card on, skip the cards dealt before it,
        // which are positions too: the latest first.
        for at in (0..hand.len()).rev() {
            let (before, rest) = hand.split_at_mut(at);
            let Some(card) = rest.first_mut() else { continue };
            for earlier in before.iter().rev() {
                *card += u32::from(*card >= *earlier);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_hand_of_a_small_deck_is_equally_frequent() {
        let dealer = Dealer::new(6, 3).unwrap();
        let mut hands = BTreeSet::new();
        let mut hand = Vec::new();
        for hash in 0..6 * 5 * 4 {
            dealer.deal(hash, &mut hand);
            assert_eq!(hand.iter().collect::<BTreeSet<_>>().len(), 3, "{hand:?} repeats a queue");
            assert!(hand.iter().all(|queue| *queue < 6), "{hand:?}");
            hands.insert(hand.clone());
        }
        assert_eq!(hands.len(), 6 * 5 * 4, "each of the ordered hands is dealt once");
    }

    #[test]
    fn sizes_that_kubernetes_refuses_have_no_dealer() {
        for (queues, hand_size) in [(0, 0), (4, 0), (4, 5), (1 << 27, 1), (128, 9), (64, 11)] {
            assert_eq!(Dealer::new(queues, hand_size), None, "{queues} queues, hands of {hand_size}");
        }
        assert!(
            Dealer::new(128, 6).is_some() && Dealer::new(1, 1).is_some() && Dealer::new(64, 10).is_some()
        );
    }

    #[test]
    fn few_flows_share_all_queues_of_another() {
        // The probability is about one in fourteen million: a flow that fills its hand disturbs almost nobody.
        let dealer = Dealer::new(128, 6).unwrap();
        let hand_of = |hash: u64| {
            let mut hand = Vec::new();
            dealer.deal(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15), &mut hand);
            hand.into_iter().collect::<BTreeSet<u32>>()
        };
        let flooding = hand_of(1);
        assert!((2..20_000).all(|flow| !hand_of(flow).is_subset(&flooding)));
    }
}
