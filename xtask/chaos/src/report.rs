//! The report of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::cluster::Store;
use crate::faults::Injector;
use crate::round::Outcome;
use crate::upkeep::Work;

/// Number of reasons of failed requests that are shown.
const SHOWN: usize = 8;

/// The sum of the rounds over a store.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rounds: u64,
    total: Outcome,
}

// === impl Report ===

impl Report {
    /// Adds a round, and prints it.
    pub(crate) fn add(&mut self, store: Store, rounds: u64, outcome: Outcome, duration: Duration) {
        self.rounds += 1;
        println!(
            "{} round {}/{rounds}: {} operations, {} unknown, {} faults, {} events of {} watches, {} in {:.1} s",
            store.name(),
            self.rounds,
            outcome.operations,
            outcome.unknown,
            outcome.faults,
            outcome.events,
            outcome.watches,
            verdict(outcome.violations.len()),
            duration.as_secs_f64(),
        );
        for violation in &outcome.violations {
            println!("  violation: {violation}");
        }
        for reason in &outcome.in_part {
            println!("  checked in part: {reason}");
        }
        let total = &mut self.total;
        total.in_part.extend(outcome.in_part);
        total.operations += outcome.operations;
        total.unknown += outcome.unknown;
        total.faults += outcome.faults;
        total.events += outcome.events;
        total.watches += outcome.watches;
        total.relists += outcome.relists;
        total.expired += outcome.expired;
        total.refused += outcome.refused;
        total.revoked = total.revoked.max(outcome.revoked);
        for (change, count) in outcome.changes {
            *total.changes.entry(change).or_default() += count;
        }
        total.violations.extend(outcome.violations);
        for (reason, count) in outcome.failed {
            *total.failed.entry(reason).or_default() += count;
        }
    }

    /// Returns the number of violations.
    pub(crate) fn violations(&self) -> usize {
        self.total.violations.len()
    }

    /// Returns the changes that were never made while there were faults.
    pub(crate) fn missing(&self, store: Store) -> impl Iterator<Item = &'static str> {
        let all = Work::all_for(store).filter(|work| work.needed_rounds() <= self.rounds);
        all.map(Work::name).filter(|name| !self.total.changes.contains_key(name))
    }

    /// Returns the text of the whole.
    pub(crate) fn text(
        &self,
        store: Store,
        servers: usize,
        injector: &Injector,
        duration: Duration,
    ) -> String {
        let total = &self.total;
        let mut text = format!(
            "\n{}, {servers} {}, {} rounds in {:.0} s\n",
            store.name(),
            if servers == 1 { "server" } else { "servers" },
            self.rounds,
            duration.as_secs_f64()
        );
        let lines = [
            ("operations", total.operations),
            ("unknown outcomes", total.unknown),
            ("watches", total.watches),
            ("watch events", total.events),
            ("lists after lost history", total.relists),
            ("objects expired", total.expired),
            ("writes refused for good", total.refused),
            ("checked in part", total.in_part.len()),
            ("faults", total.faults),
        ];
        for (name, number) in lines {
            // Writing to a text does not fail.
            let _ = writeln!(text, "  {name:<28} {number:>8}");
        }
        for (fault, count) in &injector.injected {
            let _ = writeln!(text, "    {:<26} {count:>8}", fault.name());
        }
        for (change, count) in &total.changes {
            let _ = writeln!(text, "    {change:<26} {count:>8}");
        }
        let _ =
            writeln!(text, "  {:<28} {:>8.3}", "longest revocation, seconds", total.revoked.as_secs_f64());
        for fault in injector.missing() {
            let _ = writeln!(text, "    {:<26} never injected", fault.name());
        }
        for (fault, reason) in &injector.left_out {
            let _ = writeln!(text, "    {:<26} left out: {reason}", fault.name());
        }
        let failed: u64 = total.failed.values().sum();
        let _ = writeln!(text, "  {:<28} {failed:>8}", "requests without effect");
        for (reason, count) in most(&total.failed) {
            let _ = writeln!(text, "    {count:>6} {reason}");
        }
        let _ = writeln!(text, "  verdict: {}", verdict(self.violations()));
        text
    }
}

fn verdict(violations: usize) -> String {
    if violations == 0 { "ok".to_owned() } else { format!("{violations} VIOLATIONS") }
}

/// Returns the most frequent reasons, without their numbers.
fn most(failed: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for (reason, count) in failed {
        let reason: String =
            reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(120).collect();
        *kinds.entry(reason).or_default() += count;
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds.truncate(SHOWN);
    kinds
}
