//! Decides which usage a quota gives back.
//!
//! A quota is charged before the object is stored. Usage that is charged and has no object belongs to a write that failed,
//! or to one that is still under way on some server; a count cannot tell which. A quota that gave back the usage of a write
//! under way would let a later write exceed it. Each count therefore gives back
//!
//! - at once what the objects of the previous count used, and do not use any more: they were stored, so their writes have
//!   ended;
//! - the rest when the quota was not charged for [`UNDER_WAY`], so that all writes that were charged have ended;
//! - of a quota that is charged all the time, what was in excess at every count for [`UNDER_WAY_UNDER_LOAD`].
//!
//! A quota can still be exceeded if a server stops for longer than that between the two steps of a write. The controller of
//! Kubernetes gives back everything at each count.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::usage;
use crate::api::core::pod_spec::totals::{self, Amounts};

/// Maximum time for which a write is expected to be under way after it was charged.
const UNDER_WAY: Duration = Duration::from_secs(5);
/// The same for a quota that is charged meanwhile: the default timeout of a request.
const UNDER_WAY_UNDER_LOAD: Duration = Duration::from_mins(1);

/// The results of the previous counts of a quota.
#[derive(Clone, Debug, Default)]
pub struct QuotaHistory {
    /// The usage of each object, by uid.
    objects: Usages,
    excess: Option<Excess>,
}

/// The usage of objects by uid. Objects with the same usage share it.
pub(super) type Usages = HashMap<String, Arc<Amounts>>;

/// Usage that is charged and that no object has.
#[derive(Clone, Debug)]
struct Excess {
    /// The time of the first count that found an excess.
    since: Instant,
    /// The least excess that was found since.
    least: Amounts,
    /// The time from which on the quota was not charged.
    uncharged_since: Instant,
    /// The usage that the quota reports after the last count, if it is not charged.
    used: Amounts,
}

/// The result of a count.
#[derive(Default)]
pub(super) struct Counted {
    /// The sum of the usage of all objects.
    pub(super) sum: Amounts,
    /// The usage of each object.
    pub(super) objects: Usages,
}

/// The usage that a quota should report.
pub(super) struct Settled {
    pub(super) used: Amounts,
    /// The history for the next count, if the usage is written.
    pub(super) history: QuotaHistory,
    /// The time after which a further count can give back more.
    pub(super) again_after: Option<Duration>,
}

// === impl QuotaHistory ===

impl QuotaHistory {
    /// Returns the usage of an object, in shared form if the previous count found the same.
    pub(super) fn share(&self, uid: &str, usage: Amounts) -> Arc<Amounts> {
        match self.objects.get(uid) {
            Some(known) if **known == usage => known.clone(),
            _ => Arc::new(usage),
        }
    }

    /// Returns the usage that a quota should report which reports `reported`, after a count that began at `now`.
    pub(super) fn settle(&self, reported: &Amounts, counted: Counted, now: Instant) -> Settled {
        let mut used = self.without_released(reported, &counted);
        let mut excess = usage::added(&used, &counted.sum);
        let mut again_after = None;
        let mut pending = None;
        if !excess.is_empty() {
            let mut found = self.excess_at(reported, &excess, now);
            if now.duration_since(found.uncharged_since) >= UNDER_WAY {
                used.clone_from(&counted.sum);
                excess.clear();
            } else if now.duration_since(found.since) >= UNDER_WAY_UNDER_LOAD {
                used = minus(&used, &found.least);
                excess = usage::added(&used, &counted.sum);
                found.since = now;
                found.least.clone_from(&excess);
            }
            if !excess.is_empty() {
                let quiet = UNDER_WAY.saturating_sub(now.duration_since(found.uncharged_since));
                let loaded = UNDER_WAY_UNDER_LOAD.saturating_sub(now.duration_since(found.since));
                again_after = Some(quiet.min(loaded));
                found.used.clone_from(&used);
                pending = Some(found);
            }
        }
        let history = Self { objects: counted.objects, excess: pending };
        Settled { used, history, again_after }
    }

    /// Returns what a quota reports without what objects of the previous count do not use any more, and at least what was
    /// counted.
    fn without_released(&self, reported: &Amounts, counted: &Counted) -> Amounts {
        let mut released = Amounts::new();
        let none = Amounts::new();
        for (uid, before) in &self.objects {
            let after = counted.objects.get(uid);
            if after.is_some_and(|after| Arc::ptr_eq(before, after)) {
                continue;
            }
            totals::add(&mut released, &usage::added(before, after.map_or(&none, |after| &**after)));
        }
        let mut used = counted.sum.clone();
        for (name, amount) in &mut used {
            let Some(charged) = reported.get(name) else { continue };
            let left = released.get(name).map_or_else(|| charged.clone(), |released| charged.minus(released));
            if left.compare(amount).is_gt() {
                *amount = left;
            }
        }
        used
    }

    /// Returns the excess of this count, with what the counts before found.
    fn excess_at(&self, reported: &Amounts, excess: &Amounts, now: Instant) -> Excess {
        let first =
            || Excess { since: now, least: excess.clone(), uncharged_since: now, used: Amounts::new() };
        let mut found = self.excess.clone().unwrap_or_else(first);
        let is_charged = found.used.iter().any(|(name, amount)| {
            reported.get(name).is_none_or(|reported| !reported.compare(amount).is_eq())
        });
        if is_charged {
            found.uncharged_since = now;
        }
        found.least.retain(|name, _| excess.contains_key(name));
        for (name, least) in &mut found.least {
            if let Some(amount) = excess.get(name).filter(|amount| amount.compare(least).is_lt()) {
                least.clone_from(amount);
            }
        }
        found
    }
}

/// Subtracts amounts from others.
fn minus(from: &Amounts, less: &Amounts) -> Amounts {
    let mut left = from.clone();
    for (name, amount) in &mut left {
        if let Some(less) = less.get(name) {
            *amount = amount.minus(less);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use registry_core::schema::Quantity;

    use super::*;

    const NAME: &str = "count/configmaps";

    /// A quota of ConfigMaps and its controller.
    struct Counts {
        start: Instant,
        history: QuotaHistory,
        reported: u64,
    }

    impl Counts {
        /// A quota whose objects were counted.
        fn after(objects: &[&str]) -> Self {
            let reported = u64::try_from(objects.len()).unwrap();
            let mut counts = Self { start: Instant::now(), history: QuotaHistory::default(), reported };
            counts.count(0, objects);
            counts
        }

        fn charge(&mut self, number: u64) {
            self.reported += number;
        }

        /// Counts after some seconds. Returns the usage, and the seconds until the next count.
        fn count(&mut self, seconds: u64, objects: &[&str]) -> (u64, Option<u64>) {
            let usage = Arc::new(amounts(1));
            let objects: Usages = objects.iter().map(|uid| ((*uid).to_owned(), usage.clone())).collect();
            let sum = amounts(u64::try_from(objects.len()).unwrap());
            let now = self.start + Duration::from_secs(seconds);
            let settled = self.history.settle(&amounts(self.reported), Counted { sum, objects }, now);
            self.history = settled.history;
            self.reported = settled.used[NAME].to_string().parse().unwrap();
            (self.reported, settled.again_after.map(|after| after.as_secs()))
        }
    }

    fn amounts(number: u64) -> Amounts {
        Amounts::from([(NAME.to_owned(), Quantity::whole(number))])
    }

    #[test]
    fn objects_that_are_gone_are_given_back_at_once() {
        let mut counts = Counts::after(&["a", "b"]);
        assert_eq!(counts.count(1, &["b"]), (1, None));
        assert_eq!(counts.count(2, &[]), (0, None));
    }

    #[test]
    fn a_write_under_way_stays_charged_while_objects_are_deleted() {
        let mut counts = Counts::after(&["a", "b"]);
        counts.charge(1);
        assert_eq!(counts.count(1, &["b"]), (2, Some(5)));
        assert_eq!(counts.count(2, &[]), (1, Some(4)));
        assert_eq!(counts.count(3, &["slow"]), (1, None));
    }

    #[test]
    fn a_failed_write_is_given_back_when_no_write_can_be_under_way() {
        let mut counts = Counts::after(&["a"]);
        counts.charge(1);
        assert_eq!(counts.count(1, &["a"]), (2, Some(5)));
        assert_eq!(counts.count(6, &["a"]), (1, None));
    }

    #[test]
    fn a_charge_starts_the_wait_again() {
        let mut counts = Counts::after(&[]);
        counts.charge(1);
        assert_eq!(counts.count(1, &[]), (1, Some(5)));
        counts.charge(1);
        assert_eq!(counts.count(5, &[]), (2, Some(5)));
        assert_eq!(counts.count(9, &["b"]), (2, Some(1)));
        assert_eq!(counts.count(10, &["b"]), (1, None));
    }

    #[test]
    fn a_quota_that_is_charged_all_the_time_gives_back_what_was_always_in_excess() {
        let mut counts = Counts::after(&[]);
        counts.charge(2);
        let names: Vec<String> = (0..).map(|number| number.to_string()).take(70).collect();
        let mut objects: Vec<&str> = Vec::new();
        for second in 1..61 {
            counts.charge(1);
            let (used, _) = counts.count(second, &objects);
            assert_eq!(used, second + 2);
            objects.push(&names[usize::try_from(second).unwrap()]);
        }
        // The write of this second is under way, so that three are in excess. The least was that of the first count.
        counts.charge(1);
        let (used, _) = counts.count(61, &objects);
        assert_eq!(used, 60);
    }

    #[test]
    fn an_object_that_uses_less_gives_it_back_at_once() {
        let used = |number| HashMap::from([("a".to_owned(), Arc::new(amounts(number)))]);
        let now = Instant::now();
        let history = QuotaHistory { objects: used(3), excess: None };
        let settled = history.settle(&amounts(4), Counted { sum: amounts(1), objects: used(1) }, now);
        assert_eq!(settled.used, amounts(2));
        assert_eq!(settled.again_after, Some(UNDER_WAY));
    }

    #[test]
    fn usage_that_was_not_charged_is_counted() {
        assert_eq!(Counts { reported: 0, ..Counts::after(&[]) }.count(1, &["a", "b"]), (2, None));
    }
}
