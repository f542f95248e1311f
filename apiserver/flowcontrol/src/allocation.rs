//! The division of a server's seats between priority levels, so that a level with little demand lends to others.
//!
//! Each level has a target and bounds. All levels get the same multiple of their target, as far as their bounds allow
//! it, such that the sum is as wanted.
//!
//! Kubernetes concept: `computeConcurrencyAllocation` in `k8s.io/apiserver/pkg/util/flowcontrol`.

/// The least target that counts, so that no level divides by zero.
const MIN_TARGET: f64 = 0.001;
/// Two sums that differ by less are equal.
const EPSILON: f64 = 0.000_000_1;

/// One level's part of the problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Item {
    /// The number of seats that the level would like to have.
    pub(super) target: f64,
    /// The minimum number of its seats; not above the target.
    pub(super) lower: f64,
    /// The maximum number of its seats.
    pub(super) upper: f64,
}

/// The solution.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Allocation {
    /// The seats of each item, in the items' order.
    pub(super) seats: Vec<f64>,
    /// The multiple of its target that an item gets.
    pub(super) fair_fraction: f64,
}

// === impl Item ===

impl Item {
    fn target(&self) -> f64 {
        self.target.max(MIN_TARGET)
    }

    /// Returns what the item gets at this multiple of its target.
    fn at(&self, fraction: f64) -> f64 {
        (fraction * self.target()).min(self.upper).max(self.lower)
    }

    /// Returns the multiples of the target between which the seats of the item change.
    fn range(&self) -> (f64, f64) {
        (self.lower / self.target(), self.upper / self.target())
    }
}

/// Divides a number of seats, or returns `None` if the bounds do not allow it.
pub(super) fn allocate(sum: f64, items: &[Item]) -> Option<Allocation> {
    let is_possible =
        |item: &Item| 0.0 <= item.lower && item.lower <= item.target() && item.lower <= item.upper;
    let lowest: f64 = items.iter().map(|item| item.lower).sum();
    let highest: f64 = items.iter().map(|item| item.upper).sum();
    if !items.iter().all(is_possible) || lowest - sum > EPSILON || sum - highest > EPSILON {
        return None;
    }
    let fair_fraction = fraction(sum, items, lowest);
    Some(Allocation { seats: items.iter().map(|item| item.at(fair_fraction)).collect(), fair_fraction })
}

/// Returns the multiple at which the items get the sum. What they get grows with it, and changes its slope only where an
/// item reaches a bound: from one such place to the next it is a line.
fn fraction(sum: f64, items: &[Item], lowest: f64) -> f64 {
    let mut turns: Vec<(f64, f64)> = Vec::with_capacity(items.len() * 2);
    for item in items {
        let (from, to) = item.range();
        turns.push((from, item.target()));
        turns.push((to, -item.target()));
    }
    turns.sort_by(|turn, other| turn.0.total_cmp(&other.0));
    let mut at = turns.first().map_or(0.0, |turn| turn.0);
    let mut reached = lowest;
    let mut slope = 0.0;
    for (turn, change) in turns {
        let gained = (turn - at) * slope;
        if slope > 0.0 && reached + gained >= sum {
            return at + (sum - reached) / slope;
        }
        reached += gained;
        at = turn;
        slope += change;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(target: f64, lower: f64, upper: f64) -> Item {
        Item { target, lower, upper }
    }

    #[test]
    fn without_bounds_all_get_the_same_multiple() {
        let solved = allocate(30.0, &[item(5.0, 0.0, 100.0), item(10.0, 0.0, 100.0)]).unwrap();
        assert_eq!((solved.seats, solved.fair_fraction), (vec![10.0, 20.0], 2.0));
    }

    #[test]
    fn a_level_at_its_bound_leaves_the_rest_to_the_others() {
        let solved = allocate(30.0, &[item(5.0, 0.0, 7.0), item(10.0, 0.0, 100.0)]).unwrap();
        assert_eq!(solved.seats, [7.0, 23.0]);
        let solved = allocate(30.0, &[item(20.0, 18.0, 50.0), item(40.0, 0.0, 100.0)]).unwrap();
        assert_eq!(solved.seats, [18.0, 12.0], "an idle level keeps what it does not lend");
    }

    #[test]
    fn bounds_that_contradict_the_sum_have_no_solution() {
        assert_eq!(allocate(5.0, &[item(6.0, 6.0, 10.0)]), None);
        assert_eq!(allocate(11.0, &[item(6.0, 6.0, 10.0)]), None);
        assert_eq!(allocate(6.0, &[item(5.0, 6.0, 10.0)]), None, "the target is below its bound");
        assert_eq!(allocate(6.0, &[item(6.0, 6.0, 10.0)]).unwrap().seats, [6.0]);
    }

    proptest! {
        #[test]
        fn the_sum_is_met_within_the_bounds(
            levels in prop::collection::vec((0.0..50.0_f64, 0.0..50.0_f64, 0.0..100.0_f64), 1..12),
            share in 0.0..1.0_f64,
        ) {
            let items: Vec<Item> = levels
                .into_iter()
                .map(|(lower, above, room)| item(lower + above, lower, lower + room))
                .collect();
            let lowest: f64 = items.iter().map(|item| item.lower).sum();
            let highest: f64 = items.iter().map(|item| item.upper).sum();
            let sum = lowest + (highest - lowest) * share;
            let solved = allocate(sum, &items).expect("the sum is possible");
            prop_assert!((solved.seats.iter().sum::<f64>() - sum).abs() < 0.001);
            for (item, seats) in items.iter().zip(&solved.seats) {
                prop_assert!((item.lower..=item.upper).contains(seats));
                prop_assert!((item.at(solved.fair_fraction) - seats).abs() < 0.001);
            }
        }
    }
}
